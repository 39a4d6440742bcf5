"""The wire itself: every line that is due an answer gets one, nothing ends the connection."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Connect, connecting
from tests.harness import MODERN, Daemon, modern, texts

ECHO = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': arguments}\n"


@pytest.fixture(scope="module")
def daemon(standing: Daemon) -> Daemon:
    standing.module("echo", ECHO, "echo")
    return standing


@pytest.fixture(params=["shim", "socket"])
async def connect(request: pytest.FixtureRequest, daemon: Daemon, tmp_path: Path) -> AsyncIterator[Connect]:
    async with connecting(request.param, daemon, tmp_path) as make:
        yield make


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_legacy_revision_lists_and_calls(connect: Connect, revision: str) -> None:
    client = await connect(revision=None)
    result = await client.handshake(revision)
    assert result["protocolVersion"] == revision
    assert result["capabilities"]["tools"]["listChanged"] is True
    assert sorted(await client.tools()) == ["echo", "help"]
    assert json.loads(await client.text("echo", {"a": 1})) == {"a": 1}


@pytest.mark.parametrize("asked", ["2026-07-28", "2030-01-01", "1.0"])
async def test_a_handshake_for_anything_else_gets_the_newest_legacy_revision(
    connect: Connect, asked: str
) -> None:
    client = await connect(revision=None)
    assert (await client.handshake(asked))["protocolVersion"] == "2025-11-25"


async def test_the_modern_era_needs_no_handshake(connect: Connect) -> None:
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


async def test_both_eras_share_one_connection(connect: Connect) -> None:
    client = await connect(revision=None)
    assert "supportedVersions" in await client.result("server/discover", modern())
    await client.handshake()
    client.revision = None  # from here on both
    assert "resultType" not in await client.result("tools/list")
    assert "resultType" in await client.result("tools/list", modern())


@pytest.mark.parametrize(
    "ident", [1, "1", "", 0, -1, "a b", 12345678901234567890123456789, "\ud83d"], ids=ascii
)
async def test_ids_come_back_as_they_were(connect: Connect, ident: Any) -> None:
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
async def test_what_is_wrong_is_answered_with_its_code(connect: Connect, line: bytes, code: int) -> None:
    client = await connect()
    client.revision = None
    client.send(line)
    [wrong] = await client.notified("unasked")
    assert wrong["message"]["error"]["code"] == code
    assert (await client.result("ping")) == {}


async def test_blank_lines_marks_and_unknown_notifications_are_ignored(connect: Connect) -> None:
    client = await connect()
    client.send(
        b'\n\r\n  \n\xef\xbb\xbf{"jsonrpc":"2.0","method":"no/such"}\r\n{"jsonrpc":"2.0","id":99,"result":{}}\n'
    )
    assert await client.result("ping") == {}
    assert client.notifications == []


@pytest.mark.parametrize(
    "arguments", [{}, {"arguments": None}, {"arguments": {}}], ids=["missing", "null", "empty"]
)
async def test_no_arguments_are_an_empty_object(connect: Connect, arguments: dict[str, Any]) -> None:
    client = await connect()
    assert texts(await client.result("tools/call", {"name": "echo", **arguments})) == "{}"


async def test_a_batch_is_answered_as_one_array_in_its_revision(connect: Connect) -> None:
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


async def test_shutdown_is_answered_and_exit_closes_this_connection_only(connect: Connect) -> None:
    client, other = await connect(), await connect()
    assert await client.result("shutdown") == {}
    assert await client.result("ping") == {}
    client.notify("exit")
    await client.ended.wait()
    assert await other.result("ping") == {}
    assert sorted(await other.tools()) == ["echo", "help"]


async def test_a_line_beyond_the_limit_is_refused_and_the_next_one_served(connect: Connect) -> None:
    client = await connect()
    client.revision = None
    client.send(b"x" * (64 * 2**20 + 10) + b"\n")
    assert await client.result("ping") == {}
    [wrong] = [each for each in client.notifications if each["method"] == "unasked"]
    assert wrong["message"]["error"]["code"] == -32700
