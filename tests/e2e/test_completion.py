"""Completion: from what the manifest lists without any code, else by the module's `complete`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import MODERN, Client, Daemon, modern

DAYS = ["monday", "Tuesday", "wednesday", "thursday", "thursday"]
PROMPT = {
    "name": "plan",
    "arguments": [{"name": "day", "enum": DAYS}, {"name": "task"}, {"name": "many", "enum": []}],
}
TEMPLATE = {
    "uriTemplate": "note://{day}/{part}",
    "name": "notes",
    "variables": {"day": {"enum": DAYS}},
}
BODY = """
def get_prompt(name, arguments): return "p"
def read_resource(uri): return "r"
def complete(ref, argument, context):
    if argument["value"] == "many":
        return [f"value {n}" for n in range(150)]
    if argument["value"] == "fail":
        raise ValueError("nothing comes to mind")
    given = ",".join(f"{k}={v}" for k, v in sorted(argument["arguments"].items()))
    return [ref["type"], ref.get("name") or ref["uri"], argument["name"], argument["value"], given]
"""


@pytest.fixture
def planned(daemon: Daemon) -> Daemon:
    daemon.module("one", BODY, prompts=[PROMPT], resourceTemplates=[TEMPLATE])
    return daemon


def request(ref: dict[str, str], name: str, value: str, **known: str) -> dict[str, Any]:
    context = {"context": {"arguments": known}} if known else {}
    return {"ref": ref, "argument": {"name": name, "value": value}, **context}


async def values(client: Client, ref: dict[str, str], name: str, value: str, **known: str) -> list[str]:
    result = await client.result("completion/complete", request(ref, name, value, **known))
    found: list[str] = result["completion"]["values"]
    return found


OF_PROMPT = {"type": "ref/prompt", "name": "plan"}
OF_TEMPLATE = {"type": "ref/resource", "uri": "note://{day}/{part}"}


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-06-18", "2025-11-25"])
async def test_an_enumeration_is_completed_by_its_beginning(
    planned: Daemon, connect: Connect, revision: str
) -> None:
    client = await connect(revision=None)
    declared = (await client.handshake(revision))["capabilities"]
    assert ("completions" in declared) == (revision >= "2025-03-26")
    for ref in (OF_PROMPT, OF_TEMPLATE):
        assert await values(client, ref, "day", "t") == ["Tuesday", "thursday"]
        assert await values(client, ref, "day", "TH") == ["thursday"]
        assert await values(client, ref, "day", "") == ["monday", "Tuesday", "wednesday", "thursday"]
        assert await values(client, ref, "day", "x") == []


async def test_enumerations_are_completed_without_any_code(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", "def get_prompt(:\n", prompts=[PROMPT], resourceTemplates=[TEMPLATE])
    client = await connect()
    assert await values(client, OF_PROMPT, "day", "m") == ["monday"]
    assert await values(client, OF_TEMPLATE, "day", "m") == ["monday"]
    for _ in range(2):
        error = await client.error("completion/complete", request(OF_PROMPT, "task", "m"))
        assert error["code"] == -32603
        assert "mcpptool.py:1" in error["message"]


async def test_code_completes_what_is_not_enumerated(planned: Daemon, connect: Connect) -> None:
    client = await connect()
    assert await values(client, OF_PROMPT, "task", "t", day="monday") == [
        "ref/prompt",
        "plan",
        "task",
        "t",
        "day=monday",
    ]
    assert await values(client, OF_TEMPLATE, "part", "t") == [
        "ref/resource",
        "note://{day}/{part}",
        "part",
        "t",
        "",
    ]
    result = await client.result("completion/complete", request(OF_PROMPT, "task", "many"))
    assert len(result["completion"]["values"]) == 100
    assert (result["completion"]["total"], result["completion"]["hasMore"]) == (150, True)
    error = await client.error("completion/complete", request(OF_PROMPT, "task", "fail"))
    assert error["code"] == -32603
    assert "nothing comes to mind" in error["message"]


async def test_a_module_without_complete_has_nothing_to_offer(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", "def get_prompt(name): return 'p'\n", prompts=[{"name": "plan"}])
    client = await connect()
    assert await values(client, OF_PROMPT, "task", "t") == []


async def test_the_modern_era_completes_too(planned: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    client.revision = MODERN
    result = await client.result("completion/complete", modern(**request(OF_PROMPT, "day", "w")))
    assert result["completion"]["values"] == ["wednesday"]
    assert result["resultType"] == "complete"


@pytest.mark.parametrize(
    "ref",
    [
        {"type": "ref/prompt", "name": "plam"},
        {"type": "ref/resource", "uri": "note://{other}"},
        {"type": "ref/tool", "name": "plan"},
        {"type": "ref/prompt"},
    ],
    ids=str,
)
async def test_a_reference_to_nothing_is_an_error(
    planned: Daemon, connect: Connect, ref: dict[str, str]
) -> None:
    client = await connect()
    assert (await client.error("completion/complete", request(ref, "day", "t")))["code"] == -32602


async def test_the_code_is_told_its_own_name_of_a_prompt_that_is_listed_under_another(
    planned: Daemon, connect: Connect
) -> None:
    planned.module("two", BODY, prompts=[{"name": "plan", "arguments": [{"name": "task"}]}])
    client = await connect()
    ref = {"type": "ref/prompt", "name": "two__plan"}
    assert (await values(client, ref, "task", "t"))[1] == "plan"
