"""One daemon, and always one: what takes its sockets away, who comes at once, when it ends by itself (CASES K)."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcppd.transport import unix
from tests.e2e.counting import COUNTING, TOOLS
from tests.e2e.home import MCPPD, SHIM, Home
from tests.harness import LIMIT, Client, until

LIST = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


async def served(home: Home) -> int:
    """Have a daemon, and an agent that is connected; the daemon's process id."""
    client = await home.shim()
    assert "quick" in await client.tools()
    pid: int = (await home.status())["pid"]
    return pid


@pytest.mark.parametrize("lost", ["a socket", "the directory"])
async def test_sockets_that_vanished_are_made_again(home: Home, lost: str) -> None:
    pid = await served(home)
    directory = home.runtime / "mcppd"
    if lost == "a socket":
        (directory / "mcp.sock").unlink()
    else:
        shutil.rmtree(directory)
    os.kill(pid, signal.SIGHUP)  # at once, and not at its next look
    await until((directory / "mcp.sock").exists)
    newcomer = await home.shim()
    assert "quick" in await newcomer.tools()
    assert (await home.status())["pid"] == pid
    assert home.daemons() == [pid]
    assert (directory / "mcp.sock").stat().st_mode & 0o777 == 0o600
    assert home.mcppd("serve").returncode == 1  # the lock is held, and can be seen


@pytest.mark.slow
async def test_a_daemon_whose_socket_is_anothers_ends_and_leaves_it(home: Home) -> None:
    pid = await served(home)
    path = home.runtime / "mcppd" / "mcp.sock"
    with unix.bind(str(path)) as other:
        os.kill(pid, signal.SIGHUP)
        await until(lambda: pid not in home.processes())
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
        other.accept()[0].close()


IMPATIENT = f"""
import sys
sys.path.insert(0, {str(Path(MCPPD[1]).parent.parent)!r})
from mcppd import handing_over
from mcppd.cli import main
handing_over.IDLE_LIMIT = 0.3
sys.argv[1:] = ["serve", "--background"]
sys.exit(main())
"""


@pytest.mark.slow
async def test_a_daemon_that_nobody_started_ends_when_nobody_needs_it(home: Home) -> None:
    daemon = await asyncio.create_subprocess_exec(sys.executable, "-c", IMPATIENT, env=home.environment)
    await until((home.runtime / "mcppd" / "control.sock").exists)
    client = await Client.on_socket(home.runtime / "mcppd" / "mcp.sock")
    await client.handshake()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(daemon.wait(), 1.0)
    await client.result("ping")
    await client.close()
    async with asyncio.timeout(LIMIT):
        assert await daemon.wait() == 0
    assert home.sockets() == []


@pytest.mark.slow
async def test_a_daemon_that_a_person_started_stays(home: Home) -> None:
    assert home.mcppd("start").returncode == 0
    assert (await home.status())["stays"] is True
    assert home.mcppd("restart").returncode == 0
    assert (await home.status())["stays"] is True
    assert home.mcppd("stop").returncode == 0
    await served(home)
    assert (await home.status())["stays"] is False


@pytest.mark.slow
async def test_too_many_clients_wait_and_cost_nothing(home: Home) -> None:
    few = 40
    daemon = await asyncio.create_subprocess_exec(
        *MCPPD,
        "serve",
        env=home.environment,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)),
    )
    path = home.runtime / "mcppd" / "mcp.sock"
    await until(path.exists)
    first = await Client.on_socket(path)
    await first.handshake()
    waiting = []
    for _ in range(few):
        waiting.append(socket.socket(socket.AF_UNIX))
        waiting[-1].connect(str(path))
    spent = processor_time(daemon.pid)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(daemon.wait(), 2.0)
    assert processor_time(daemon.pid) - spent < 1.0
    await first.result("ping")
    last = waiting.pop()
    for each in waiting:
        each.close()
    last.sendall(LIST)
    last.settimeout(LIMIT)
    answer = await asyncio.to_thread(last.makefile().readline)
    assert "quick" in {tool["name"] for tool in json.loads(answer)["result"]["tools"]}
    last.close()
    await first.close()
    daemon.terminate()
    assert await daemon.wait() == 0


def processor_time(pid: int) -> float:
    """Seconds that a process has spent."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGUSR1])
async def test_a_signal_for_a_daemon_that_runs_does_not_end_one_that_begins(home: Home, number: int) -> None:
    is_up = False

    async def signals() -> None:
        while not is_up:
            for pid in home.daemons():
                os.kill(pid, number)
            await asyncio.sleep(0.002)

    sending = asyncio.create_task(signals())
    pid = await served(home)
    is_up = True
    await sending
    assert home.daemons() == [pid]
    assert home.log.read_text().count(" serves ") == 1


@pytest.mark.slow
async def test_thirty_shims_on_a_cold_host_start_one_daemon(home: Home) -> None:
    for _ in range(5):
        clients = await asyncio.gather(*(home.shim() for _ in range(30)))
        async with asyncio.timeout(3 * LIMIT):  # the interpreters of them all have to start
            answers = await asyncio.gather(*(client.ask("tools/list") for client in clients))
        assert all("quick" in {tool["name"] for tool in each["result"]["tools"]} for each in answers)
        status = await home.status()
        await until(lambda: len(home.daemons()) == 1)
        assert home.daemons() == [status["pid"]]
        assert len(status["sessions"]) == 30
        await asyncio.gather(*(client.close() for client in clients))
        assert (await asyncio.to_thread(home.mcppd, "stop")).returncode == 0
    assert home.log.read_text().count(" serves ") == 5


async def test_what_comes_behind_a_refused_hello_is_not_carried_out(home: Home) -> None:
    await served(home)
    reader, writer = await asyncio.open_unix_connection(home.runtime / "mcppd" / "mcp.sock")
    call = {"name": "quick", "arguments": {"mark": "never"}}
    hello = {"jsonrpc": "2.0", "method": "mcppd/hello", "params": {"registry": "/elsewhere.yaml"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    writer.write(b"".join(json.dumps(each).encode() + b"\n" for each in (hello, request)))
    async with asyncio.timeout(LIMIT):
        said = await reader.read()
    assert said.startswith(b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"mcppd: ')
    assert said.count(b"\n") == 1
    assert not (home.path / "marks").exists()
    writer.close()


@pytest.mark.slow
async def test_a_pipe_of_agents_is_served_across_a_stop(home: Home) -> None:
    await served(home)
    assert home.mcppd("stop").returncode == 0
    done = subprocess.run(
        SHIM, env=home.environment, cwd=home.work, input=LIST, capture_output=True, timeout=LIMIT, check=False
    )
    assert b'"quick"' in done.stdout  # an agent that is started later starts a daemon
