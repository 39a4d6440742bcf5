"""A module whose tool does to its process what it is told, its caller, and another agent that calls all the while."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.harness import Client, Daemon, processes_below, until

ECHO = """
def execute(tool_name, arguments, context=None):
    return {"success": True, "result": arguments}
"""
WILD = """
import ctypes, itertools, os, signal, subprocess, sys, threading, time

def execute(tool_name, arguments, context=None):
    print("its last line")
    if "code" in arguments:
        exec(arguments["code"], globals())
    return {"success": True, "result": arguments.get("mark", os.getpid())}
"""
LEAVE = """
left = [subprocess.Popen(["sleep", "1000"]), subprocess.Popen(["sleep", "1000"], start_new_session=True)]
nested = "import subprocess; subprocess.Popen(['sleep', '1000'], start_new_session=True)"
subprocess.run([sys.executable, "-c", nested], start_new_session=True)
"""
"""A child, one in a session of its own, and one whose parent has ended."""
STAY = "open('began', 'w').close()\ntime.sleep(1000)"


class Scene:
    """A daemon with a wild module, its caller, and another agent that calls all the while."""

    def __init__(self, daemon: Daemon, caller: Client, other: Client) -> None:
        self.daemon, self.caller, self.other = daemon, caller, other
        self.echoed = 0
        self.is_quiet = False
        self._echoing = asyncio.create_task(self._echo())

    async def _echo(self) -> None:
        while not self.is_quiet:
            assert json.loads(await self.other.text("echo", {"n": self.echoed})) == {"n": self.echoed}
            self.echoed += 1

    async def dies(self, code: str = "") -> str:
        """What the caller is told."""
        return await self.caller.failure("run", {"code": code} if code else {})

    async def worker(self) -> int:
        """The process id of the worker that answers."""
        return int(await self.caller.text("run"))

    def spawner(self) -> int:
        """The process id of the spawner: the one child of the daemon."""
        [pid] = Path(f"/proc/{self.daemon.pid}/task/{self.daemon.pid}/children").read_text().split()
        return int(pid)

    async def quiet(self) -> None:
        """Let the other agent make no more calls; those that it made were answered."""
        before = self.echoed
        await until(lambda: self.echoed > before or self._echoing.done())
        self.is_quiet = True
        await self._echoing


@contextlib.asynccontextmanager
async def scene(home: Path, body: str = WILD, **options: Any) -> AsyncIterator[Scene]:
    daemon = Daemon(home)
    daemon.module("echo", ECHO, "echo")
    daemon.module("wild", body, "run")
    listed = [{"path": "tools/echo"}, {"path": "tools/wild", **options}]
    daemon.registry.write_text(json.dumps({"modules": listed}))
    clients: list[Client] = []
    try:
        await daemon.start()
        for name in ("caller", "other"):
            (home / name).mkdir()
            clients.append(await Client.through_shim(daemon, home / name))
            await clients[-1].handshake()
        made = Scene(daemon, *clients)
        yield made
        if not made.is_quiet:
            await made.quiet()
    finally:
        for client in clients:
            await client.close()
        if daemon.process is not None and daemon.process.returncode is None:
            await daemon.stop()


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def left_by(daemon: Daemon) -> list[str]:
    """What runs below the daemon besides its spawner and its workers."""
    found = []
    for pid in processes_below(daemon.pid):
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
    return [line for line in found if "spawner.py" not in line or "sleep" in line]
