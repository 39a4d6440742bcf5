"""Nobody starts the daemon: the first shim does, it outlives everybody, and its end leaves nothing behind."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mcppd.handing_over import DRAIN_LIMIT
from tests.e2e.conftest import Connect
from tests.e2e.home import SHIM, Home
from tests.harness import LIMIT, Client, Daemon, modern, texts, until

LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
BUNDLED = {"help", "what", "what_add"}
"""Some of the tools that there are without a registry of one's own."""
DEATH_LIMIT = 2.0
"""Seconds in which a daemon that was killed has taken everything of its own with it (D2)."""

WILD = """
import subprocess, time

def execute(tool_name, arguments, context=None):
    if tool_name == "leaves":
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        subprocess.run(["sh", "-c", "sleep 1000 &"], check=True)
        return {"success": True, "result": "left"}
    while True:
        if tool_name == "sleeps":
            time.sleep(1000)
"""


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    yield made
    await made.close()


async def lists_at_once(client: Client) -> set[str]:
    return set(await client.tools())


async def shakes_hands(client: Client) -> set[str]:
    await client.handshake()
    return set(await client.tools())


async def is_modern(client: Client) -> set[str]:
    assert (await client.result("server/discover", modern()))["supportedVersions"] == ["2026-07-28"]
    return set(await client.tools(**modern()))


@pytest.mark.parametrize(
    "opening", [lists_at_once, shakes_hands, is_modern], ids=lambda opening: opening.__name__
)
async def test_the_first_shim_starts_the_daemon_and_has_its_first_request_answered(
    home: Home, opening: Callable[[Client], Awaitable[set[str]]]
) -> None:
    client = await home.shim()
    assert await opening(client) >= BUNDLED
    [daemon] = home.daemons()
    status = await home.status()
    assert (status["pid"], status["socket"]) == (daemon, str(home.runtime / "mcppd" / "mcp.sock"))
    assert client.process is not None
    assert os.getsid(daemon) not in (os.getsid(0), os.getsid(client.process.pid))
    files = [os.readlink(f"/proc/{daemon}/fd/{number}") for number in range(3)]
    assert files == ["/dev/null", str(home.log), str(home.log)]
    assert {path.stat().st_mode & 0o777 for path in [*home.sockets(), home.log]} == {0o600}


@pytest.mark.slow
async def test_every_list_is_whole_though_a_ping_is_answered_sooner(home: Home) -> None:
    schema = {"type": "object", "properties": {}}
    tools = [{"name": f"tool{n}", "inputSchema": schema | {"title": f"{n}"}} for n in range(150)]
    home.module("many", WILD, *tools)
    client = await home.shim()
    lists = [client.ask("tools/list")]
    while not lists[0].done():
        await client.result("ping")
        lists.append(client.ask("tools/list"))
    async with asyncio.timeout(LIMIT):
        assert {len((await each)["result"]["tools"]) for each in lists} == {len(tools) + 1}


async def closes_its_input(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    process.stdin.close()


async def is_terminated(process: asyncio.subprocess.Process) -> None:
    process.terminate()


async def is_killed_with_its_group(process: asyncio.subprocess.Process) -> None:
    os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "end", [closes_its_input, is_terminated, is_killed_with_its_group], ids=lambda end: end.__name__
)
async def test_the_daemon_outlives_the_shim_that_started_it(
    home: Home, end: Callable[[asyncio.subprocess.Process], Awaitable[None]]
) -> None:
    first = await home.shim()
    assert set(await first.tools()) >= BUNDLED
    pid = (await home.status())["pid"]
    assert first.process is not None
    await end(first.process)
    async with asyncio.timeout(LIMIT):
        await first.process.wait()
    second = await home.shim()
    assert set(await second.tools()) >= BUNDLED
    assert (await home.status())["pid"] == pid
    assert home.daemons() == [pid]


@pytest.mark.parametrize("before", ["nothing", "stale sockets"])
async def test_eight_shims_at_once_start_one_daemon_and_are_all_answered(home: Home, before: str) -> None:
    if before == "stale sockets":
        await kill_a_daemon(home)
    clients = await asyncio.gather(*(home.shim() for _ in range(8)))
    for names in await asyncio.gather(*(client.tools() for client in clients)):
        assert set(names) >= BUNDLED
    await until(lambda: len(home.daemons()) == 1)  # those that came too late have ended
    status = await home.status()
    assert [status["pid"]] == home.daemons()
    assert len(status["sessions"]) == 8
    for names in await asyncio.gather(*(client.tools() for client in clients)):
        assert set(names) >= BUNDLED


@pytest.mark.slow
async def test_a_daemon_that_was_killed_is_followed_by_another(home: Home) -> None:
    killed = await kill_a_daemon(home)
    assert {path.name for path in home.sockets()} == {"mcp.sock", "control.sock"}
    client = await home.shim()
    assert set(await client.tools()) >= BUNDLED
    assert (await home.status())["pid"] != killed


@pytest.mark.slow
async def test_what_a_daemon_had_started_is_gone_two_seconds_after_it_was_killed(home: Home) -> None:
    home.module("wild", WILD, "leaves", "sleeps", "spins")
    client = await home.shim()
    assert await client.text("leaves") == "left"
    for tool in ("sleeps", "spins"):
        client.ask("tools/call", {"name": tool})
    [daemon] = home.daemons()
    await until(lambda: sum(command.startswith(b"sleep\0") for command in home.processes().values()) == 2)
    # beside the daemon and what a tool has left: the spawner and a worker for each of the calls that run
    await until(lambda: len(home.all_but_shims()) >= 6)
    os.kill(daemon, signal.SIGKILL)
    await until(lambda: not home.all_but_shims(), DEATH_LIMIT)


@pytest.mark.slow
async def test_stop_leaves_no_process_no_socket_and_a_free_lock(home: Home) -> None:
    client = await home.shim()
    await client.call("what_add", {"name": "first"})
    assert len(home.processes()) >= 4  # the shim, the daemon, the spawner, a worker
    stopped = home.mcppd("stop")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert home.sockets() == []
    with (home.runtime / "mcppd" / "lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    await until(lambda: not home.all_but_shims())
    again = home.mcppd("stop")
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.parametrize("ending", [b"\n", b""], ids=["a line", "no end of line"])
async def test_a_request_in_a_pipe_is_answered_before_the_shim_ends(home: Home, ending: bytes) -> None:
    for _ in ("without a daemon", "with one"):
        done = subprocess.run(
            SHIM,
            env=home.environment,
            cwd=home.work,
            input=LIST + ending,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        [line] = done.stdout.splitlines()
        answer = json.loads(line)
        assert answer["id"] == 1
        assert {tool["name"] for tool in answer["result"]["tools"]} >= BUNDLED


UNREADABLE = ["modules:\n  - path: [\n", "- path: tools/*\n", "modules: 3\n", "modules: []\nmodules: []\n"]


@pytest.mark.parametrize("text", UNREADABLE)
async def test_a_registry_that_can_not_be_read_at_the_first_start_is_told_in_one_line(
    home: Home, text: str
) -> None:
    registry = home.path / "tools.yaml"
    registry.write_text(text)
    done = home.mcppd("serve", "--config", str(registry))
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert re.search(rf"{re.escape(str(registry))}:\d+:\d+: \S", line)
    assert done.stdout == ""
    assert home.sockets() == []


@pytest.mark.slow
async def test_a_shim_says_where_the_registry_is_wrong(home: Home) -> None:
    registry = home.path / "config" / "mcppd" / "tools.yaml"
    registry.parent.mkdir(parents=True)
    registry.write_text(UNREADABLE[0])
    done = subprocess.run(
        SHIM,
        env=home.environment,
        cwd=home.work,
        input=LIST,
        capture_output=True,
        text=False,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 1
    [line] = done.stderr.decode().splitlines()
    assert re.search(rf"{re.escape(str(registry))}:\d+:\d+: \S", line)
    [tool] = json.loads(done.stdout)["result"]["tools"]
    assert tool["name"] == "mcppd_status"  # the shim's own, which says the same


WAITING = """
import pathlib, time

def execute(tool_name, arguments, context=None):
    pathlib.Path(f"began-{arguments['number']}").touch()
    while not pathlib.Path(f"go-{arguments['number']}").exists():
        time.sleep(0.01)
    return {"success": True, "result": arguments["number"]}
"""


async def ask_three(daemon: Daemon, client: Client, work: Path) -> list[asyncio.Future[dict[str, Any]]]:
    daemon.module("waiting", WAITING, "waits")
    calls = [
        client.ask("tools/call", {"name": "waits", "arguments": {"number": number}}) for number in range(3)
    ]
    await until(lambda: len(list(work.glob("began-*"))) == 3)
    return calls


@pytest.mark.slow
async def test_calls_that_run_at_sigterm_are_finished_and_answered(daemon: Daemon, connect: Connect) -> None:
    work = daemon.home / "work"
    calls = await ask_three(daemon, await connect(cwd=work), work)
    stopping = asyncio.create_task(daemon.stop())
    await daemon.said("is stopping", 1)
    for number in range(3):
        (work / f"go-{number}").touch()
    async with asyncio.timeout(LIMIT):
        assert [texts((await call)["result"]) for call in calls] == ["0", "1", "2"]
    assert await stopping == 0


@pytest.mark.slow
async def test_a_call_that_never_ends_delays_a_stop_by_its_limit_and_fails(
    daemon: Daemon, connect: Connect
) -> None:
    work = daemon.home / "work"
    client = await connect(cwd=work)
    calls = await ask_three(daemon, client, work)
    (work / "go-0").touch()
    (work / "go-2").touch()
    async with asyncio.timeout(DRAIN_LIMIT + LIMIT / 2):
        assert await daemon.stop() == 0
        await until(lambda: calls[1].done() or client.ended.is_set())
    assert [texts((await call)["result"]) for call in (calls[0], calls[2])] == ["0", "2"]
    assert not calls[1].done() or calls[1].result()["result"]["isError"]
    assert not daemon.socket.exists()


async def kill_a_daemon(home: Home) -> int:
    """Start a daemon and kill it: the sockets stay."""
    client = await home.shim()
    assert set(await client.tools()) >= BUNDLED
    pid: int = (await home.status())["pid"]
    await client.close()  # it would start another
    os.kill(pid, signal.SIGKILL)
    await until(lambda: not home.daemons())
    return pid
