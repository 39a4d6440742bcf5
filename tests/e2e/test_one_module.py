"""`mcppd restart NAME`: the workers of one module are replaced, and of no other (CASES K7c)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.e2e.home import Home
from tests.harness import LIMIT, Client, texts, until

PID = """
import os, time
from pathlib import Path

def execute(tool_name, arguments, context=None):
    gate = Path(os.environ["HOME"], "gate")
    if arguments.get("waits"):
        Path(os.environ["HOME"], "began").touch()
        while not gate.exists():
            time.sleep(0.01)
    return {"success": True, "result": str(os.getpid())}
"""


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    for name in ("alpha", "beta"):
        made.module(name, PID, f"{name}_pid")
    yield made
    await made.close()


async def agent(home: Home) -> Client:
    client = await home.shim()
    await client.handshake()
    return client


@pytest.mark.slow
async def test_the_others_keep_their_processes(home: Home) -> None:
    client = await agent(home)
    before = [await client.text(name) for name in ("alpha_pid", "beta_pid")]
    daemon = (await home.status())["pid"]
    done = await asyncio.to_thread(home.mcppd, "restart", "alpha")
    assert (done.returncode, done.stderr) == (0, "")
    assert "alpha" in done.stdout
    after = [await client.text(name) for name in ("alpha_pid", "beta_pid")]
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert (await home.status())["pid"] == daemon
    await until(lambda: int(before[0]) not in home.processes())
    assert client.count("notifications/tools/list_changed") == 0


@pytest.mark.slow
async def test_a_call_that_runs_ends_on_its_worker(home: Home) -> None:
    client = await agent(home)
    running = client.ask("tools/call", {"name": "alpha_pid", "arguments": {"waits": True}})
    await until((home.path / "began").exists)
    assert (await asyncio.to_thread(home.mcppd, "restart", "alpha")).returncode == 0
    fresh = await client.text("alpha_pid")
    (home.path / "gate").touch()
    async with asyncio.timeout(LIMIT):
        old = texts((await running)["result"])
    assert old != fresh
    await until(lambda: int(old) not in home.processes())


@pytest.mark.slow
async def test_where_two_may_not_live_at_once_the_old_one_goes_first(home: Home) -> None:
    (home.path / "config" / "mcppd" / "tools.yaml").write_text(
        "modules:\n  - path: tools/alpha\n    overlap: false\n    workers: 1\n"
    )
    client = await agent(home)
    running = client.ask("tools/call", {"name": "alpha_pid", "arguments": {"waits": True}})
    await until((home.path / "began").exists)
    restarting = asyncio.create_task(asyncio.to_thread(home.mcppd, "restart", "alpha"))
    later = client.ask("tools/call", {"name": "alpha_pid"})
    (home.path / "gate").touch()
    async with asyncio.timeout(LIMIT):
        old = texts((await running)["result"])
        assert (await restarting).returncode == 0
        await later
    assert await client.text("alpha_pid") != old


@pytest.mark.slow
async def test_names_that_are_near_are_told(home: Home) -> None:
    await agent(home)
    done = await asyncio.to_thread(home.mcppd, "restart", "alpah")
    assert done.returncode == 1
    assert "did you mean alpha?" in done.stderr
    done = await asyncio.to_thread(home.mcppd, "restart", "alpha", "--if-older")
    assert done.returncode == 2


async def test_a_module_that_can_not_be_imported_any_more_says_so(home: Home) -> None:
    home.module("gamma", f"import gone\n{PID}", "gamma_pid")
    client = await agent(home)
    done = await asyncio.to_thread(home.mcppd, "restart", "gamma")
    assert done.returncode == 1
    assert "gone" in done.stderr
    assert "alpha_pid" in await client.tools()  # the daemon goes on
