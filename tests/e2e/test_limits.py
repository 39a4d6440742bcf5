"""Limits and what they do: shown where people look, told to who called, and nobody else notices."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from mcppd.core.strikes import PATIENCE
from tests.e2e.conftest import Connect
from tests.harness import Client, Daemon, texts, until

BODY = """
import os, pathlib, time

def execute(tool_name, arguments, context=None):
    if tool_name == "dies":
        os._exit(3)
    if "until" in arguments:
        pathlib.Path(arguments["until"] + ".began").touch()
        while not os.path.exists(arguments["until"]):
            time.sleep(0.005)
    if tool_name in ("sleeps", "naps"):
        time.sleep(1000)
    return {"success": True, "result": "done"}
"""


@pytest.fixture
def two(daemon: Daemon) -> Daemon:
    nap = {"name": "naps", "description": "d", "inputSchema": {"type": "object"}, "timeout": 0.2}
    daemon.module("one", BODY, "works", "dies", "sleeps", nap, workers=1)
    daemon.module("other", BODY, "healthy")
    return daemon


async def module(daemon: Daemon, name: str = "one") -> dict[str, Any]:
    """What the status says of a module."""
    status = await daemon.control("mcppd/status")
    return next(each for each in status["modules"] if each["name"] == name)


async def die(client: Client, count: int) -> None:
    for _ in range(count):
        assert "exited with status 3" in await client.failure("dies")


@pytest.mark.slow
async def test_a_tool_has_its_own_time_limit_and_the_registry_a_word_over_it(
    two: Daemon, connect: Connect
) -> None:
    client = await connect()
    assert "0.2 s" in await client.failure("naps")
    two.registry.write_text(
        "modules:\n  - path: tools/*\n    timeout: 0.3\n    tools: {limits: {'n*': {timeout: 0.4}}}\n"
    )
    assert "0.4 s" in await client.failure("naps")
    assert "0.3 s" in await client.failure("sleeps")


@pytest.mark.slow
async def test_limits_of_tools_that_are_not_there_are_shown(two: Daemon, connect: Connect) -> None:
    limits = "    tools: {limits: {workz: {timeout: 1}, 'nap*': {timeout: 0.3}}}\n"
    two.registry.write_text(f"modules:\n  - path: tools/one\n{limits}  - path: tools/other\n")
    assert "0.3 s" in await (await connect()).failure("naps")
    [warning] = (await module(two))["warnings"]
    assert f"{two.registry}:3:22: " in warning
    assert "did you mean works?" in warning


@pytest.mark.slow
async def test_a_module_that_dies_again_and_again_is_paused_for_and_says_so(
    two: Daemon, connect: Connect
) -> None:
    client, other = await connect(), await connect()
    await die(client, PATIENCE)
    for each in (client, other):
        told = await each.failure("works")
        assert "paused" in told
        assert re.search(r"\d\.\d s more", told)
        assert "`mcppd reload`" in told
    assert await other.text("healthy") == "done"
    shown = await module(two)
    assert shown["state"] == "backoff"
    assert f"died {PATIENCE} times in a row" in shown["fault"]["message"]
    assert 0 < shown["retry_seconds"] <= 1
    for text in (await client.text("help"), await client.text("help", {"tool": "works"})):
        assert f"died {PATIENCE} times in a row" in text
    assert "module one: its workers died" in two.output
    assert (await module(two, "other"))["state"] == "ok"


@pytest.mark.parametrize("way", ["saved", "touched", "reload"])
async def test_it_recovers_at_once_by_a_save_or_a_reload(two: Daemon, connect: Connect, way: str) -> None:
    client = await connect()
    await die(client, PATIENCE)
    assert "paused" in await client.failure("works")
    code = two.tools / "one" / "mcpptool.py"
    match way:
        case "saved":
            code.write_text(BODY.replace('"done"', '"mended"'))
            assert await client.text("works") == "mended"
        case "touched":
            code.write_text(BODY)
            assert await client.text("works") == "done"
        case "reload":
            await two.control("mcppd/reload")
            assert await client.text("works") == "done"
    shown = await module(two)
    assert (shown["state"], shown["fault"], shown["retry_seconds"]) == ("ok", None, None)


async def test_calls_that_wait_are_shown_and_their_time_is_told_apart(
    two: Daemon, connect: Connect, tmp_path: Path
) -> None:
    client = await connect()
    await client.text("works")
    go = tmp_path / "go"
    running = client.ask("tools/call", {"name": "works", "arguments": {"until": str(go)}})
    await until((tmp_path / "go.began").exists)
    waiting = client.ask("tools/call", {"name": "works", "arguments": {}})

    async def shown() -> tuple[int, int, int]:
        found = await module(two)
        return found["workers"], found["busy"], found["waiting"]

    async with asyncio.timeout(20):
        while await shown() != (1, 1, 1):
            await asyncio.sleep(0.01)
    go.touch()
    await asyncio.gather(running, waiting)
    await until(lambda: re.search(r"call: works by tester: ok \([\d.]+ ms, waited [\d.]+ ms\)\n", two.output))


@pytest.mark.slow
async def test_a_module_that_is_busy_says_which_limit_it_is(
    two: Daemon, connect: Connect, tmp_path: Path
) -> None:
    two.registry.write_text("modules:\n  - path: tools/*\n    queue: 1\n")
    client, other = await connect(), await connect()
    go = tmp_path / "go"
    running = client.ask("tools/call", {"name": "works", "arguments": {"until": str(go)}})
    await until((tmp_path / "go.began").exists)
    many = [client.ask("tools/call", {"name": "works", "arguments": {}}) for _ in range(200)]
    assert await other.text("healthy") == "done"
    told = await other.failure("works")
    for word in ("busy", "`queue`", "`workers`", "tools.yaml"):
        assert word in told
    go.touch()
    ends = [(await each)["result"] for each in (running, *many)]
    assert [bool(each.get("isError")) for each in ends].count(False) == 2
    assert all("busy" in texts(each) for each in ends if each.get("isError"))


@pytest.mark.slow
async def test_a_module_all_of_whose_workers_hang_delays_no_other(two: Daemon, connect: Connect) -> None:
    """A7: the other module answers as long as nothing of the first has ended."""
    client, other = await connect(), await connect()
    hanging = [client.ask("tools/call", {"name": "sleeps", "arguments": {}}) for _ in range(20)]
    for _ in range(20):
        assert await other.text("healthy") == "done"
    assert not any(each.done() for each in hanging)
