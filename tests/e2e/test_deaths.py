"""Death of every kind: the caller is told how and why, the next call works, and nobody else notices (issue I, F, D11).

Each is driven through the shim; another agent calls `echo` all the while.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, Daemon, processes_below, running, texts, until

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
    return {"success": True, "result": os.getpid()}
"""
ECHO_MANIFEST = "  - path: tools/echo\n"
SLEEPER = "subprocess.Popen(['sleep', '1000']{})\nos._exit(5)"
HOG = "import sys, time; held = b'x' * {size}; sys.stdout.write('held'); sys.stdout.flush(); time.sleep(1000)"
HOGS = f"""
hogs = [subprocess.Popen([sys.executable, "-c", {HOG.format(size=60 << 20)!r}], stdout=subprocess.PIPE) for _ in range(4)]
for hog in hogs:
    hog.stdout.read(4)
time.sleep(1000)
"""


@dataclass(frozen=True)
class Death:
    """What a tool does to its process, and what its caller is told."""

    code: str
    said: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)  # of the module, in the registry
    is_death: bool = True  # whether the next call has a new worker
    is_unknown: bool = True  # whether it may have taken effect


DEATHS = {
    "an exception": Death("raise ValueError('bad')", ("ValueError: bad", "mcpptool.py:7"), is_death=False),
    "SystemExit": Death("sys.exit(3)", ("SystemExit: 3",), is_death=False),
    "KeyboardInterrupt": Death("raise KeyboardInterrupt", ("KeyboardInterrupt",), is_death=False),
    "os._exit": Death("os._exit(7)", ("exited with status 7", "its last line")),
    "os._exit(0)": Death("os._exit(0)", ("exited with status 0", "its last line")),
    "abort": Death("os.abort()", ("killed by SIGABRT", "its last line", "Fatal Python error: Aborted")),
    "a segmentation fault": Death(
        "ctypes.string_at(0)", ("killed by SIGSEGV", "Segmentation fault", "mcpptool.py")
    ),
    "a signal of its own": Death("os.kill(os.getpid(), signal.SIGUSR1)", ("killed by SIGUSR1",)),
    "a stack without end": Death(
        "sys.setrecursionlimit(10**9)\ndef down(f): return down(lambda: f)\n"
        "import functools, operator\nf = int\nfor _ in range(10**6): f = functools.partial(f)\n"
        "class A: pass\na = A()\nfor _ in range(10**6):\n    b = A(); b.a = a; a = b\nos.kill(os.getpid(), 11)",
        ("killed by SIGSEGV",),
    ),
    "more memory than there is": Death(
        "held = [b'x' * (16 << 20) for _ in itertools.count()]",
        ("MemoryError", "256 MiB", "`memory`", "tools.yaml"),
        {"memory": "256 MiB"},
        is_death=False,
    ),
    "children that take too much memory": Death(
        HOGS, ("memory", "160 MiB", "`memory`", "tools.yaml"), {"memory": "160 MiB"}
    ),
    "a C loop that holds the interpreter": Death(
        "max(itertools.repeat(0))", ("1 s, its time limit", "`timeout`"), {"timeout": 1}
    ),
    "a stopped process": Death(
        "os.kill(os.getpid(), signal.SIGSTOP)", ("1 s, its time limit", "`timeout`"), {"timeout": 1}
    ),
    "a grandchild that holds the output": Death(SLEEPER.format(""), ("status 5", "its last line")),
    "a grandchild in a session of its own": Death(
        SLEEPER.format(", start_new_session=True"), ("status 5", "its last line")
    ),
    "a fork bomb": Death(
        "while True: os.fork()", ("processes", "24", "`processes`", "tools.yaml"), {"processes": 24}
    ),
    "a fork bomb of sessions": Death(
        "while True:\n    os.fork() or os.setsid()",
        ("processes", "24", "`processes`", "tools.yaml"),
        {"processes": 24},
    ),
}


class Scene:
    """A daemon with a wild module, its caller, and another agent that calls all the while."""

    def __init__(self, daemon: Daemon, caller: Client, other: Client) -> None:
        self.daemon, self.caller, self.other = daemon, caller, other
        self.echoed = 0
        self._echoing = asyncio.create_task(self._echo())

    async def _echo(self) -> None:
        while True:
            assert json.loads(await self.other.text("echo", {"n": self.echoed})) == {"n": self.echoed}
            self.echoed += 1

    async def dies(self, code: str = "") -> str:
        """What the caller is told."""
        return await self.caller.failure("run", {"code": code} if code else {})

    async def worker(self) -> int:
        """The process id of the worker that answers."""
        return int(await self.caller.text("run"))

    async def close(self) -> None:
        before = self.echoed
        await until(lambda: self.echoed > before or self._echoing.done())
        self._echoing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
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
        await made.close()
    finally:
        for client in clients:
            await client.close()
        if daemon.process is not None and daemon.process.returncode is None:
            await daemon.stop()


@pytest.mark.parametrize("name", DEATHS)
async def test_a_death_is_told_and_costs_nobody_else(tmp_path: Path, name: str) -> None:
    death = DEATHS[name]
    async with scene(tmp_path, workers=1, **death.options) as there:
        first = await there.worker()
        said = await there.dies(death.code)
        for text in death.said:
            assert text in said
        assert ("unknown" in said) == death.is_death
        assert (await there.worker() != first) == death.is_death
        await until(lambda: not _left(there.daemon))


def _left(daemon: Daemon) -> list[str]:
    """What runs below the daemon besides its spawner and its workers."""
    found = []
    for pid in processes_below(daemon.pid):
        with contextlib.suppress(OSError):
            found.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
    return [line for line in found if "spawner.py" not in line or "sleep" in line]
