"""What lists show of tools, whatever their authors wrote, and how clients learn of what is new."""

from __future__ import annotations

import json

import pytest

from tests.e2e.conftest import Connect
from tests.e2e.test_protocol import ECHO
from tests.harness import MODERN, Client, Daemon, modern


@pytest.fixture
def echo(daemon: Daemon) -> Daemon:
    daemon.module("echo", ECHO, "echo")
    return daemon


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


async def test_lists_and_calls_before_any_handshake_are_answered(echo: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    assert sorted(await client.tools()) == ["echo", "help"]
    assert json.loads(await client.text("echo", {"a": 1})) == {"a": 1}
    echo.manifest("echo", "echo", "more")
    assert sorted(await client.tools()) == ["echo", "help", "more"]
    assert client.count("notifications/tools/list_changed") == 0


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


@pytest.mark.slow
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


@pytest.mark.slow
async def test_a_thousand_tools_are_listed_in_order_of_name(daemon: Daemon, connect: Connect) -> None:
    daemon.module("many", ECHO, *(f"tool_{number:04}" for number in range(1000)))
    await daemon.control("mcppd/reload")  # which may take longer than a list waits
    client = await connect()
    listed = list(await client.tools())
    assert len(listed) == 1001
    assert listed == sorted(listed)


@pytest.mark.slow
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
