"""More of what people report of the wire than one instance of each (CASES B9, H, I4, J11, N6), in every revision."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mcppd.core.eras import LEGACY, MODERN
from tests.harness import LIMIT, Client, Daemon, modern, texts

BODY = """
import threading, time

def execute(tool_name, arguments, context):
    if tool_name == "slow":
        time.sleep(60)
    if tool_name == "late":
        later = threading.Timer(0.05, context["report_progress"], (2,))
        later.start()
        context["report_progress"](1)
    return {"success": True, "result": {"got": arguments}}

def get_prompt(name, arguments, context):
    return name

def read_resource(uri, variables, context):
    return uri if uri == "case://one" else None
"""
META = {
    "own.example/deep": {"a": [1, None, "ä"]},
    "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
}
REVISIONS = [*LEGACY, *MODERN]
NOTIFICATIONS = [
    *("initialized", "cancelled", "progress", "message", "roots/list_changed", "tools/list_changed"),
    *("prompts/list_changed", "resources/list_changed", "resources/updated", "elicitation/complete"),
]


@pytest.fixture(scope="module")
def daemon(standing: Daemon) -> Daemon:
    standing.module(
        "cases",
        BODY,
        "quick",
        "slow",
        "late",
        {
            "name": "rich",
            "inputSchema": {"type": "object"},
            "_meta": META,
            "annotations": {"readOnlyHint": True},
        },
        scope="global",
        workers=1,
        prompts=[{"name": "greet", "_meta": META}],
        resources=[{"uri": "case://one", "name": "one", "_meta": META}],
        resourceTemplates=[{"uriTemplate": "case://{id}", "name": "any"}],
    )
    return standing


@pytest.fixture(params=REVISIONS)
async def client(request: pytest.FixtureRequest, daemon: Daemon) -> AsyncIterator[Client]:
    """A client of a revision, which was settled by a handshake where there is one."""
    client = await Client.on_socket(daemon.socket)
    if request.param in MODERN:
        client.revision = request.param
    else:
        await client.handshake(request.param)
    await client.result("tools/list", params(client))  # the module is served, whichever test is the first
    client.notifications.clear()
    yield client
    await client.close()


def params(client: Client, **members: Any) -> dict[str, Any]:
    """Params as the client's revision has them."""
    return modern(**members) if client.revision in MODERN else members


async def code(client: Client, method: str, **members: Any) -> int:
    """The code of the error that a request gets."""
    number: int = (await client.error(method, params(client, **members)))["code"]
    return number


@pytest.mark.slow
async def test_what_is_not_there_has_its_code(client: Client) -> None:
    assert await code(client, "no/such") == -32601
    assert await code(client, "tools/call", name="no_such") == -32602
    assert await code(client, "tools/call", name="quick", arguments=[]) == -32602
    assert await code(client, "prompts/get", name="no_such") == -32602
    missing = await client.error("resources/read", params(client, uri="case://two"))
    assert (missing["code"], missing["data"]["uri"]) == (
        -32602 if client.revision in MODERN else -32002,
        "case://two",
    )
    for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        assert await code(client, method, cursor="no such") == -32602


async def test_a_notification_with_an_id_is_an_unknown_method_and_without_one_is_never_answered(
    client: Client,
) -> None:
    for name in NOTIFICATIONS:
        assert await code(client, f"notifications/{name}") == -32601, name
    for name in [*NOTIFICATIONS, "no/such"]:
        client.notify(f"notifications/{name}", {"progressToken": 1, "requestId": 77, "level": 5})
    assert texts(await client.result("tools/call", params(client, name="quick"))) == '{"got":{}}'
    assert client.notifications == []


async def test_tokens_come_back_as_they_were_and_none_after_the_answer(client: Client) -> None:
    for token in (0, "", "1", -(2**70), "\ud83d"):
        client.notifications.clear()
        meta: dict[str, Any] = {"progressToken": token}
        answer = await client.result("tools/call", params(client, name="late", _meta=meta))
        assert texts(answer) == '{"got":{}}'
        [told] = client.notifications
        assert told["params"]["progressToken"] == token
    client.notifications.clear()
    await client.result("tools/call", params(client, name="late"))
    odd: Any
    for odd in (1.5, None, True, [1], {}):
        await client.result("tools/call", params(client, name="late", _meta={"progressToken": odd}))
    assert client.notifications == []


async def test_nothing_of_a_call_comes_after_it_was_cancelled(client: Client) -> None:
    client.ask("tools/call", params(client, name="slow", _meta={"progressToken": "t"}), ident="gone")
    client.notify("notifications/cancelled", {"requestId": "gone"})
    client.notify("notifications/cancelled", {"requestId": "gone"})
    client.notify("notifications/cancelled", {"requestId": ["gone"]})
    answer = await client.result("tools/call", params(client, name="quick"))  # the only worker is free for it
    assert texts(answer) == '{"got":{}}'
    assert client.notifications == []


async def test_members_that_nobody_knows_are_taken_and_given_whole(client: Client) -> None:
    listed = await client.result("tools/list", params(client, _meta=META, odd=1))
    shown = {tool["name"]: tool for tool in listed["tools"]}["rich"]
    assert shown.get("_meta") == (META if client.revision >= "2025-06-18" else None)  # type: ignore[operator]
    answer = await client.result(
        "tools/call", params(client, name="quick", arguments={"_meta": META, "a": 1}, _meta=META, odd={})
    )
    assert json.loads(texts(answer)) == {"got": {"_meta": META, "a": 1}}


@pytest.mark.slow
async def test_nonsense_without_end_is_answered_and_stops_nobody(daemon: Daemon) -> None:
    quiet = await Client.on_socket(daemon.socket)
    reader, writer = await asyncio.open_unix_connection(daemon.socket)
    writer.write(b"\n" * 3_000_000 + b"{}\n" * 20_000 + b"[" + b"{}," * 3_000_000 + b"{}]\n")
    for _ in range(10):
        assert await quiet.result("ping") == {}
    async with asyncio.timeout(LIMIT):
        codes = [json.loads(await reader.readline())["error"]["code"] for _ in range(20_001)]
    assert codes == [-32600] * 20_000 + [-32700]
    writer.close()
    await quiet.close()
