"""What many agents cost, and what is left of those that go: one daemon, few processes (CASES A, I10, L)."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.counting import COUNTING, TOOLS, began, marks
from tests.e2e.home import SHIM, Home
from tests.harness import LIMIT, modern, texts, until

SLOW_IMPORT = """
import os, time
open(os.path.join(os.environ["HOME"], "imported"), "a").close()
time.sleep(3)

def execute(tool_name, arguments, context=None):
    return {"success": True, "result": "imported"}
"""
# An agent's program that starts its server, passes on what that is told to write, and is then there no more.
PARENT = """
import os, subprocess, sys, time
shim = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)
shim.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"mark":"a"}}}\\n')
shim.stdin.flush()
print(shim.pid, flush=True)
time.sleep(1000)
"""
MEBIBYTE = 1024 * 1024


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    yield made
    await made.close()


def workers(home: Home) -> list[int]:
    """The workers: children of the spawner, which is the daemon's."""
    daemons = home.daemons()
    spawners = [pid for pid in home.processes() if parent(pid) in daemons]
    return [pid for pid in home.processes() if parent(pid) in spawners]


def parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


@pytest.mark.slow
async def test_eight_agents_and_five_modules_are_one_daemon_and_one_worker(home: Home) -> None:
    for number in range(5):
        home.module(f"m{number}", COUNTING, f"quick{number}")
    clients = await asyncio.gather(*(home.shim() for _ in range(8)))
    for client in clients:
        await client.handshake()
        assert {f"quick{number}" for number in range(5)} <= set(await client.tools())
    assert workers(home) == []
    await clients[0].text("quick3")
    assert len(home.daemons()) == 1
    assert len(workers(home)) == 1


@pytest.mark.slow
async def test_nothing_is_imported_for_a_list(home: Home) -> None:
    for number in range(10):
        home.module(f"m{number}", SLOW_IMPORT, f"late{number}")
    for _ in ("cold", "with what the first has kept"):
        client = await home.shim()
        client.revision = None
        await client.result("server/discover", modern())
        await client.handshake()
        assert len(await client.tools()) == 11
        assert workers(home) == []
        assert not (home.path / "imported").exists()
        assert home.mcppd("restart").returncode == 0
    assert await client.text("late3") == "imported"


@pytest.mark.slow
async def test_an_unknown_first_method_is_an_error(home: Home) -> None:
    for method in ("probe/unknown", "rpc.discover", "mcp/hello"):
        client = await home.shim()
        assert (await client.error(method))["code"] == -32601
        assert "help" in await client.tools()


@pytest.mark.slow
async def test_an_agent_that_is_killed_takes_its_shim_and_its_calls_with_it(home: Home) -> None:
    home.module("counting", COUNTING, *TOOLS)
    other = await home.shim()
    await other.handshake()
    killed = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        PARENT,
        *SHIM,
        cwd=home.work,
        env=home.environment,
        stdout=asyncio.subprocess.PIPE,
    )
    assert killed.stdout is not None
    shim = int(await killed.stdout.readline())
    await began(home, "a")
    assert len((await home.status())["sessions"]) == 2
    [busy] = workers(home)
    killed.kill()
    await killed.wait()
    await until(lambda: shim not in home.processes())
    await until(lambda: busy not in home.processes())  # it slept, and nobody waits for that
    while len((await home.status())["sessions"]) != 1:
        await asyncio.sleep(0.01)
    assert await other.text("quick", {"mark": "b"}) == "done b"


@pytest.mark.slow
async def test_a_worker_that_dies_under_two_agents_is_told_both_and_made_again(home: Home) -> None:
    home.module("counting", COUNTING, *TOOLS)
    clients = [await home.shim() for _ in range(2)]
    calls = []
    for number, client in enumerate(clients):
        await client.handshake()
        calls.append(client.ask("tools/call", {"name": "slow", "arguments": {"mark": f"m{number}"}}))
        await began(home, f"m{number}")
    for pid in workers(home):
        os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(LIMIT):
        for call in calls:
            result = (await call)["result"]
            assert result["isError"]
            assert "'counting'" in texts(result)
            assert "SIGKILL" in texts(result)
    for client in clients:
        assert await client.text("quick", {"mark": "again"}) == "done again"


async def test_a_call_whose_worker_dies_after_its_deed_is_not_made_again(home: Home) -> None:
    deed = """
        import os

        def execute(tool_name, arguments, context=None):
            with open(os.path.join(os.environ["HOME"], "marks"), "a") as marks:
                marks.write("one\\n")
            os._exit(3)
    """
    home.module("deed", textwrap.dedent(deed), "does")
    client = await home.shim()
    await client.handshake()
    said = await client.failure("does")
    assert "Whether it took effect is unknown" in said
    assert marks(home) == ["one"]


@pytest.mark.slow
async def test_twenty_short_agents_leave_the_daemon_as_it_was(home: Home) -> None:
    home.module("counting", COUNTING, *TOOLS)

    async def crowd() -> int:
        """What the daemon has while they are there."""
        clients = await asyncio.gather(*(home.shim() for _ in range(20)))
        for client in clients:
            await client.handshake()
            await client.tools()
        grown = private_memory(daemon)
        await asyncio.gather(*(client.close() for client in clients))
        while (await home.status())["sessions"]:
            await asyncio.sleep(0.01)
        return grown

    first = await home.shim()
    await first.tools()
    [daemon] = home.daemons()
    await first.close()
    await crowd()
    before = private_memory(daemon)
    grown = [await crowd() for _ in range(3)]
    assert max(grown) - before < 20 * MEBIBYTE
    assert private_memory(daemon) - before < 2 * MEBIBYTE


def private_memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024
