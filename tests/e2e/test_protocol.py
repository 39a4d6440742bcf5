"""The wire itself: every line that is due an answer gets one, nothing ends the connection."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import MODERN, Client, Daemon, modern, texts

ECHO = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': arguments}\n"


@pytest.fixture
def echo(daemon: Daemon) -> Daemon:
    daemon.module("echo", ECHO, "echo")
    return daemon


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_legacy_revision_lists_and_calls(echo: Daemon, connect: Connect, revision: str) -> None:
    client = await connect(revision=None)
    result = await client.handshake(revision)
    assert result["protocolVersion"] == revision
    assert result["capabilities"]["tools"]["listChanged"] is True
    assert sorted(await client.tools()) == ["echo", "help"]
    assert json.loads(await client.text("echo", {"a": 1})) == {"a": 1}


@pytest.mark.parametrize("asked", ["2026-07-28", "2030-01-01", "1.0"])
async def test_a_handshake_for_anything_else_gets_the_newest_legacy_revision(
    echo: Daemon, connect: Connect, asked: str
) -> None:
    client = await connect(revision=None)
    assert (await client.handshake(asked))["protocolVersion"] == "2025-11-25"


async def test_the_modern_era_needs_no_handshake(echo: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    client.revision = MODERN
    discovered = await client.result("server/discover", modern())
    assert discovered["supportedVersions"] == [MODERN]
    listed = await client.result("tools/list", modern())
    assert (listed["resultType"], listed["ttlMs"], listed["cacheScope"]) == ("complete", 0, "private")
    assert [tool["name"] for tool in listed["tools"]] == ["echo", "help"]
    called = await client.result("tools/call", modern(name="echo", arguments={"a": 1}))
    assert json.loads(texts(called)) == {"a": 1}
    assert (await client.error("ping", modern()))["code"] == -32601


async def test_a_modern_listen_is_acknowledged_then_told_of_changes(echo: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    client.revision = MODERN
    client.ask("subscriptions/listen", modern(notifications={"toolsListChanged": True}), ident="listen:0")
    [acknowledged] = await client.notified("notifications/subscriptions/acknowledged")
    tag = "io.modelcontextprotocol/subscriptionId"
    assert acknowledged["params"]["_meta"][tag] == "listen:0"
    echo.manifest("echo", "echo", "more")
    [changed] = await client.notified("notifications/tools/list_changed")
    assert changed["params"]["_meta"][tag] == "listen:0"


async def test_both_eras_share_one_connection(echo: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    assert "supportedVersions" in await client.result("server/discover", modern())
    await client.handshake()
    client.revision = None  # from here on both
    assert "resultType" not in await client.result("tools/list")
    assert "resultType" in await client.result("tools/list", modern())


async def test_lists_and_calls_before_any_handshake_are_answered(echo: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    assert sorted(await client.tools()) == ["echo", "help"]
    assert json.loads(await client.text("echo", {"a": 1})) == {"a": 1}
    echo.manifest("echo", "echo", "more")
    assert sorted(await client.tools()) == ["echo", "help", "more"]
    assert client.count("notifications/tools/list_changed") == 0


@pytest.mark.parametrize(
    "ident", [1, "1", "", 0, -1, "a b", 12345678901234567890123456789, "\ud83d"], ids=ascii
)
async def test_ids_come_back_as_they_were(echo: Daemon, connect: Connect, ident: Any) -> None:
    client = await connect()
    assert (await client.ask("ping", ident=ident))["id"] == ident


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{\n", -32700),
        (b"nonsense\n", -32700),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}\n', -32600),
        (b"[]\n", -32600),
        (b'[{"jsonrpc":"2.0","id":7,"method":"ping"}]\n', -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"no/such"}\n', -32601),
        (b'{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}\n', -32601),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":[]}}\n', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":7}}\n', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"no_such"}}\n', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"no such"}}\n', -32602),
        (b'{"jsonrpc":"2.0","id":7,"method":"server/discover"}\n', -32602),
        (b"\xff\xfe\n", -32700),
    ],
    ids=ascii,
)
async def test_what_is_wrong_is_answered_with_its_code(
    echo: Daemon, connect: Connect, line: bytes, code: int
) -> None:
    client = await connect()
    client.revision = None
    client.send(line)
    [wrong] = await client.notified("unasked")
    assert wrong["message"]["error"]["code"] == code
    assert (await client.result("ping")) == {}


async def test_blank_lines_marks_and_unknown_notifications_are_ignored(
    echo: Daemon, connect: Connect
) -> None:
    client = await connect()
    client.send(
        b'\n\r\n  \n\xef\xbb\xbf{"jsonrpc":"2.0","method":"no/such"}\r\n{"jsonrpc":"2.0","id":99,"result":{}}\n'
    )
    assert await client.result("ping") == {}
    assert client.notifications == []


@pytest.mark.parametrize(
    "arguments", [{}, {"arguments": None}, {"arguments": {}}], ids=["missing", "null", "empty"]
)
async def test_no_arguments_are_an_empty_object(
    echo: Daemon, connect: Connect, arguments: dict[str, Any]
) -> None:
    client = await connect()
    assert texts(await client.result("tools/call", {"name": "echo", **arguments})) == "{}"


async def test_a_batch_is_answered_as_one_array_in_its_revision(echo: Daemon, connect: Connect) -> None:
    client = await connect(revision="2025-03-26")
    batch: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": "a", "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/whatever"},
        {
            "jsonrpc": "2.0",
            "id": "b",
            "method": "tools/call",
            "params": {"name": "echo", "arguments": {"x": 1}},
        },
        {"jsonrpc": "2.0", "id": "c", "method": "no/such"},
    ]
    futures = {}
    for each in batch:
        if "id" in each:
            futures[each["id"]] = client.expect(each["id"])
    client.send(batch)
    assert (await futures["a"])["result"] == {}
    assert texts((await futures["b"])["result"]) == '{"x":1}'
    assert (await futures["c"])["error"]["code"] == -32601


async def test_shutdown_is_answered_and_exit_closes_this_connection_only(
    echo: Daemon, connect: Connect
) -> None:
    client, other = await connect(), await connect()
    assert await client.result("shutdown") == {}
    assert await client.result("ping") == {}
    client.notify("exit")
    await client.ended.wait()
    assert await other.result("ping") == {}
    assert sorted(await other.tools()) == ["echo", "help"]


async def test_a_line_beyond_the_limit_is_refused_and_the_next_one_served(
    echo: Daemon, connect: Connect
) -> None:
    client = await connect()
    client.revision = None
    client.send(b"x" * (64 * 2**20 + 10) + b"\n")
    assert await client.result("ping") == {}
    [wrong] = [each for each in client.notifications if each["method"] == "unasked"]
    assert wrong["message"]["error"]["code"] == -32700


async def test_one_bad_tool_is_left_out_and_the_others_stay(daemon: Daemon, connect: Connect) -> None:
    good = {"name": "good", "description": "good", "inputSchema": {"type": "object"}}
    bad = [
        {"name": "bad_type", "description": "b", "inputSchema": {"type": "objekt"}},
        {"name": "bad_ref", "description": "b", "inputSchema": {"type": "object", "$ref": "http://127.0.0.1:1/x"}},
        {"name": "bad_root", "description": "b", "inputSchema": ["no"]},
        {"name": "bad_pattern", "description": "b", "inputSchema": {"type": "object", "pattern": "("}},
        {"description": "has no name"},
    ]  # fmt: skip
    daemon.module("mixed", ECHO, good, *bad)
    client = await connect()
    assert sorted(await client.tools()) == ["good", "help"]
    assert await client.text("good") == "{}"
    helped = await client.text("help")
    for name in ("bad_type", "bad_ref", "bad_root", "bad_pattern"):
        assert name in helped
        assert "tool.yaml" in await client.failure(f"mixed__{name}")


async def test_names_that_clients_refuse_get_an_alias_that_stays(daemon: Daemon, connect: Connect) -> None:
    odd = ["dotted.name", "a/b::c", "spaced out", "x" * 90]
    daemon.module("odd", ECHO, *odd)
    client = await connect()
    listed = [name for name in await client.tools() if name != "help"]
    assert len(listed) == len(odd)
    for name in listed:
        assert len(name) <= 48
        assert name.replace("_", "").replace("-", "").isalnum()
        assert await client.text(name) == "{}"
    for name in odd:
        assert await client.text(name) == "{}"


async def test_two_modules_with_the_same_tool_are_both_callable(daemon: Daemon, connect: Connect) -> None:
    for name in ("first", "second"):
        daemon.module(
            name,
            f"def execute(t, a, c=None):\n    return {{'success': True, 'result': '{name}'}}\n",
            "search",
        )
    client = await connect()
    assert sorted(await client.tools()) == ["help", "search", "second__search"]
    assert await client.text("search") == "first"
    assert await client.text("second__search") == "second"
    assert await client.text("first__search") == "first"
    helped = await client.text("help")
    assert "second__search" in helped
    daemon.manifest("first", "other")
    assert sorted(await client.tools()) == ["help", "other", "search"]
    assert await client.text("search") == "second"
    assert await client.text("second__search") == "second"


async def test_a_thousand_tools_are_listed_in_order_of_name(daemon: Daemon, connect: Connect) -> None:
    daemon.module("many", ECHO, *(f"tool_{number:04}" for number in range(1000)))
    client = await connect()
    listed = list(await client.tools())
    assert len(listed) == 1001
    assert listed == sorted(listed)


async def test_annotations_and_unknown_members_of_a_tool_are_passed_on(
    daemon: Daemon, connect: Connect
) -> None:
    tool = {
        "name": "rich",
        "title": "Rich",
        "description": "r",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True, "x-own": [1]},
        "_meta": {"anthropic/maxResultSizeChars": 500000},
        "x-unknown": {"deep": ["ä"]},
    }
    daemon.module("rich", ECHO, tool)
    client = await connect()
    assert (await client.tools())["rich"] == tool
    old: Client = await connect(revision="2024-11-05")
    assert "annotations" not in (await old.tools())["rich"]
