"""A daemon that is started as systemd starts it: its sockets passed, its words heard, its stderr the journal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.harness import LIMIT, REPOSITORY, Client, Daemon, until

STARTER = """
import os, sys
for number, given in enumerate(sys.argv[1].split(","), 3):
    os.dup2(int(given), number)
os.environ.update(LISTEN_PID=str(os.getpid()), SYSTEMD_EXEC_PID=str(os.getpid()), WATCHDOG_PID=str(os.getpid()))
status = os.fstat(2)
os.environ["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino}"
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Stands in for systemd in the moment between fork and exec."""

SPY = """
import os

def execute(tool_name, arguments, context=None):
    if tool_name == "environment":
        return {"success": True, "result": sorted(os.environ)}
    descriptors = []
    for name in os.listdir("/proc/self/fd"):
        try:
            descriptors.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            pass
    return {"success": True, "result": descriptors}
"""


class Supervised(Daemon):
    """A daemon, what it has told its supervisor, and the sockets that outlive it."""

    def __init__(self, home: Path, *options: str, **registry: str) -> None:
        super().__init__(home, **registry)
        self.words: list[str] = []
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.notify.bind(str(home / "notify"))
        paths = (self.socket, Path(f"{self.socket}.control"))
        self.passed = [self._bound(path) for path in paths]

    def _bound(self, path: Path) -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        made.bind(str(path))
        path.chmod(0o600)
        made.listen()
        return made

    async def begin(self) -> None:
        """Start it, and don't wait."""
        given = [os.dup(each.fileno()) for each in self.passed]  # numbers above those that they are to have
        environment = self.environment | {
            "NOTIFY_SOCKET": str(self.home / "notify"),
            "WATCHDOG_USEC": "100000",
            "LISTEN_FDS": str(len(given)),
            "LISTEN_FDNAMES": "mcppd.socket:mcppd.socket",
        }
        command = [sys.executable, str(REPOSITORY / "mcppd" / "__main__.py"), "serve"]
        place = ["--config", str(self.registry), "--socket", str(self.socket)]
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-c", STARTER, ",".join(map(str, given)), *command, *place),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=given,
            )
        for each in given:
            os.close(each)

    async def told(self, word: str, count: int = 1) -> str:
        """The word that begins so, as soon as it was told so often."""

        def found() -> list[str]:
            with contextlib.suppress(BlockingIOError):
                while True:
                    self.words += self.notify.recv(4096).decode().split("\n")
            return [each for each in self.words if each.startswith(word)]

        await until(lambda: len(found()) >= count)
        return found()[count - 1]


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Supervised]:
    made = Supervised(tmp_path)
    made.module("spy", SPY, "environment", "descriptors")
    yield made
    if made.process is not None and made.process.returncode is None:
        await made.stop(signal.SIGKILL)
    for each in (made.notify, *made.passed):
        each.close()


async def introduced(daemon: Daemon) -> Client:
    """An agent in the test's directory."""
    client = await Client.on_socket(daemon.socket)
    client.notify("mcppd/hello", {"cwd": str(daemon.home), "env": {}, "registry": None})
    await client.handshake()
    return client


@pytest.mark.slow
async def test_who_connects_before_it_runs_is_served_and_who_connects_after_it_waits(
    daemon: Supervised,
) -> None:
    early = await Client.on_socket(daemon.socket)
    asked = early.ask("ping")
    await daemon.begin()
    async with asyncio.timeout(LIMIT):
        assert (await asked)["result"] == {}
    assert (await daemon.control("mcppd/status"))["supervisor"] == "systemd"
    await early.close()
    assert await daemon.stop() == 0
    late = await Client.on_socket(daemon.socket)
    asked = late.ask("ping")
    await daemon.begin()
    async with asyncio.timeout(LIMIT):
        assert (await asked)["result"] == {}
    await late.close()


async def test_it_tells_what_it_does(daemon: Supervised) -> None:
    await daemon.begin()
    await daemon.told("READY=1")
    assert await daemon.told("STATUS=") == "STATUS=2 tools of 1 modules"
    await daemon.told("WATCHDOG=1", 3)
    daemon.manifest("spy", "environment")
    os.kill(daemon.pid, signal.SIGHUP)
    await daemon.told("RELOADING=1")
    assert int((await daemon.told("MONOTONIC_USEC=")).partition("=")[2]) > 0
    await daemon.told("READY=1", 2)
    await daemon.told("STATUS=1 tools of 1 modules")
    assert await daemon.stop() == 0
    await daemon.told("STOPPING=1")
    order = [word for word in daemon.words if word in ("READY=1", "RELOADING=1", "STOPPING=1")]
    assert order == ["READY=1", "RELOADING=1", "READY=1", "STOPPING=1"]


async def test_a_stopped_loop_gives_no_sign_of_life(daemon: Supervised) -> None:
    await daemon.begin()
    await daemon.told("WATCHDOG=1")
    os.kill(daemon.pid, signal.SIGSTOP)
    state = Path(f"/proc/{daemon.pid}/stat")
    await until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
    with contextlib.suppress(BlockingIOError):
        while True:
            daemon.notify.recv(4096)
    with pytest.raises(BlockingIOError):
        daemon.notify.recv(4096)
    daemon.words.clear()
    os.kill(daemon.pid, signal.SIGCONT)
    await daemon.told("WATCHDOG=1")


async def test_a_tool_gets_neither_its_variables_nor_its_sockets(daemon: Supervised) -> None:
    await daemon.begin()
    client = await introduced(daemon)
    names = await client.text("environment")
    descriptors = await client.text("descriptors")
    await client.close()
    assert "HOME" in names
    for taken in ("LISTEN_", "NOTIFY_SOCKET", "WATCHDOG_", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID"):
        assert taken not in names
    inodes = {f"socket:[{os.fstat(each.fileno()).st_ino}]" for each in daemon.passed}
    assert not any(inode in descriptors for inode in inodes)


async def test_each_line_of_the_journal_has_its_priority_and_no_clock(daemon: Supervised) -> None:
    await daemon.begin()
    await daemon.told("READY=1")
    os.kill(daemon.pid, signal.SIGUSR1)
    await daemon.said("<6>task ", 1)
    await daemon.stop()
    lines = daemon.output.splitlines()
    assert lines
    assert all(line.startswith("<6>") for line in lines), daemon.output
    assert any(line.startswith("<6>mcppd ") for line in lines)


async def test_what_cannot_be_served_is_told_as_an_error(daemon: Supervised) -> None:
    Path(f"{daemon.socket}.control").chmod(0o666)
    await daemon.begin()
    await daemon.said("<3>mcppd ends: systemd passes ", 1)
    assert daemon.process is not None
    assert daemon.process.returncode is None  # in no hurry: systemd would try again five times a second
    assert await daemon.stop() == -signal.SIGTERM


@pytest.mark.slow
async def test_a_daemon_that_is_not_systemds_is_replaced_after_its_calls(daemon: Supervised) -> None:
    code = "import pathlib, time\n\ndef execute(tool_name, arguments, context=None):\n"
    code += "    pathlib.Path(arguments['at']).touch()\n    time.sleep(0.3)\n"
    code += "    return {'success': True, 'result': 'done'}\n"
    daemon.module("slow", code, "slow")
    for each in daemon.passed:  # systemd listens only when the other one runs already
        Path(each.getsockname()).unlink()
        each.close()
    await daemon.start()
    first = daemon.process
    client = await introduced(daemon)
    called = client.ask("tools/call", {"name": "slow", "arguments": {"at": str(daemon.home / "runs")}})
    await until((daemon.home / "runs").exists)
    for path in (daemon.socket, Path(f"{daemon.socket}.control")):
        path.unlink()
    daemon.passed = [daemon._bound(path) for path in (daemon.socket, Path(f"{daemon.socket}.control"))]
    await daemon.begin()
    async with asyncio.timeout(LIMIT):
        assert json.dumps(await called).count("done")
        assert first is not None
        assert await first.wait() == 0
    assert (await daemon.control("mcppd/status"))["pid"] == daemon.pid
    assert daemon.socket.is_socket()
    await client.close()
