"""Cancellation of what isn't a tool call: no answer comes, the worker is free, and the others go on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, until

BODY = """
import os, time
def _stay(context):
    directory = context["workspace_dir"]
    open(os.path.join(directory, "begun"), "w").close()
    while not context["cancelled"]():
        time.sleep(0.01)
    open(os.path.join(directory, "told"), "w").close()
def get_prompt(name, arguments, context):
    if name == "stays":
        _stay(context)
    return "fine"
def read_resource(uri, variables, context):
    _stay(context)
def complete(ref, argument, context):
    _stay(context)
"""
LISTING = BODY + "def list_resources(context):\n    _stay(context)\n"
REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("prompts/get", {"name": "stays"}),
    ("resources/read", {"uri": "a:b"}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "stays"}, "argument": {"name": "x", "value": ""}},
    ),
]


@pytest.mark.parametrize(("method", "params"), REQUESTS, ids=[method for method, _ in REQUESTS])
async def test_a_cancelled_request_gets_no_answer_and_its_code_is_told(
    daemon: Daemon, connect: Connect, method: str, params: dict[str, Any]
) -> None:
    prompts = [{"name": "stays", "arguments": [{"name": "x"}]}, {"name": "works"}]
    daemon.module("one", BODY, prompts=prompts, resources=[{"uri": "a:b", "name": "b"}])
    daemon.registry.write_text("modules:\n  - path: tools/*\n    workers: 1\n")
    place = daemon.home / "place"
    place.mkdir()
    client = await connect(cwd=place)
    running = client.ask(method, params, ident="long")
    await until((place / "begun").exists)
    client.notify("notifications/cancelled", {"requestId": "long"})
    await until((place / "told").exists)
    result = await client.result("prompts/get", {"name": "works"})
    assert result["messages"][0]["content"]["text"] == "fine"
    assert not running.done()
    client.notify("notifications/cancelled", {"requestId": "long"})  # of nothing any more
    assert await client.result("ping") == {}


async def test_a_cancelled_list_asks_no_module_any_longer(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", LISTING)
    place = daemon.home / "place"
    place.mkdir()
    client = await connect(cwd=place)
    running = client.ask("resources/list", ident="long")
    await until((place / "begun").exists)
    client.notify("notifications/cancelled", {"requestId": "long"})
    await until((place / "told").exists)
    assert not running.done()
    assert await client.result("ping") == {}
