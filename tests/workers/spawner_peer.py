"""The daemon's end of the spawner's control socket, for tests: a real spawner and real workers."""

from __future__ import annotations

import array
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import mcppd.workers
from tests.workers.child_peer import LIMIT, Wire, wait_until

SPAWNER = str(Path(mcppd.workers.__file__).with_name("spawner.py"))


@dataclass
class Spawned(Wire):
    """A worker that a spawner made, with the daemon's end of its wire."""

    number: int = 0
    pid: int = 0
    log: Path = Path()

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def output_within(self, text: str) -> str:
        """Its output once it contains a text."""
        wait_until(lambda: text in self.output, f"{text!r} in the log")
        return self.output


class Spawner:
    """A spawner process and its control socket."""

    def __init__(self, directory: Path, env: Mapping[str, str] | None = None) -> None:
        self.directory = directory
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(LIMIT)
        self.numbers = 0
        self.wires: list[socket.socket] = []
        self.reports: list[dict[str, Any]] = []
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-E", "-B", SPAWNER, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
                env={"PATH": os.environ["PATH"], "HOME": str(directory)} | dict(env or {}),
                cwd="/",
            )
        assert self.report("ready") == {"op": "ready"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for wire in (self.control, *self.wires):
            wire.close()
        try:
            assert self.process.wait(LIMIT) == 0 or self.process.returncode == -signal.SIGKILL
        finally:
            self.process.kill()
            self.process.wait(LIMIT)

    @property
    def pid(self) -> int:
        return self.process.pid

    def spawn(
        self,
        module: Path | None = None,
        command: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        **bounds: int,
    ) -> Spawned:
        """Make a worker and hand it a module, if one is given; the bounds are `memory` and `processes`."""
        worker = self.order(command, env, log, **bounds)
        worker.pid = self.report("spawned", worker.number)["pid"]
        if module is not None:
            worker.load(module)
        return worker

    def order(
        self,
        command: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        log: Path | None = None,
        **bounds: int,
    ) -> Spawned:
        """Ask for a worker without waiting for it."""
        self.numbers += 1
        ours, theirs = socket.socketpair()
        ours.settimeout(LIMIT)
        self.wires.append(ours)
        worker = Spawned(ours, number=self.numbers, log=log or self.directory / "logs" / "worker.log")
        request = {
            "op": "spawn",
            "worker": worker.number,
            "log": str(worker.log),
            "command": command,
            "env": env,
            **bounds,
        }
        with theirs:
            self.send(request, theirs.fileno())
        return worker

    def send(self, request: Mapping[str, Any], *descriptors: int) -> None:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
        self.control.sendmsg([json.dumps(request).encode()], [rights] if descriptors else [])

    def end(self, worker: Spawned) -> dict[str, Any]:
        """End a worker: the report of its death."""
        self.send({"op": "end", "worker": worker.number})
        return self.death(worker)

    def look(self, *idle: Spawned) -> dict[str, Any]:
        """Have it look at its workers, of which some had no call since the last look: what it says."""
        self.send({"op": "look", "idle": [each.number for each in idle]})
        return self.report("looked")

    def death(self, worker: Spawned) -> dict[str, Any]:
        return self.report("died", worker.number)

    def report(self, op: str, number: int | None = None) -> dict[str, Any]:
        """A report of a kind about a worker; others are kept for whoever asks for them."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            for report in self.reports:
                if report["op"] == op and report.get("worker") == number:
                    self.reports.remove(report)
                    return report
            self.reports.append(json.loads(self.control.recv(1 << 20)))
        raise AssertionError(f"no {op} of {number}: {self.reports}")

    def descriptors(self) -> int:
        """How many descriptors the spawner holds."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def children(self) -> list[int]:
        """The process ids of its children, zombies too."""
        found = []
        for name in os.listdir("/proc"):
            if name.isdecimal():
                try:
                    stat = Path(f"/proc/{name}/stat").read_text()
                except (FileNotFoundError, ProcessLookupError):
                    continue
                if int(stat.rpartition(")")[2].split()[1]) == self.pid:
                    found.append(int(name))
        return found
