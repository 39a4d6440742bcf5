"""The daemon's side of the spawner: asks it for workers and learns from it how they ended (D2)."""

from __future__ import annotations

import array
import asyncio
import json
import os
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from mcppd.core.errors import McppdError
from mcppd.workers.bounds import Bounds, Excess
from mcppd.workers.deaths import Death
from mcppd.workers.leftovers import Leftovers
from mcppd.workers.looking import Looking

SPAWNER: Final = str(Path(__file__).with_name("spawner.py"))
START_LIMIT: Final = 20.0
"""Seconds for the spawner to say that it is ready: a cold disk and a loaded machine, not a wedged process."""
SPAWN_LIMIT: Final = 20.0
"""Seconds for a worker to be forked; a fork takes a millisecond, so this is a machine out of breath."""
STOP_LIMIT: Final = 2.0
"""Seconds for the spawner to end its workers after its socket is closed; then it is killed, and they with it."""
PACKET_LIMIT: Final = 256 * 1024
"""Bytes of one packet; the longest is a death report with its last output."""


class SpawnError(McppdError):
    """A worker could not be made; the text says why."""


class SpawnerLostError(McppdError):
    """The spawner ended while it was asked for something; a new one will be started."""


class Spawner:
    """Makes and ends workers; starts its process when it is first needed, and again if that dies."""

    def __init__(self, environment: Mapping[str, str], leftovers: Leftovers | None = None) -> None:
        self._environment = dict(environment)
        self._leftovers = leftovers
        self._ending_leftovers: asyncio.Task[None] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._ready: asyncio.Future[None] | None = None
        self._unsent: deque[tuple[bytes, int | None]] = deque()
        self._spawning: dict[int, asyncio.Future[int]] = {}
        self._living: dict[int, asyncio.Future[Death]] = {}
        self._numbers = 0
        self._closed = False
        self.looking = Looking(self._look, self._kill)

    @property
    def pid(self) -> int | None:
        """The spawner's process id, None while there is none."""
        return self._process.pid if self._process else None

    async def spawn(
        self,
        wire: socket.socket,
        log: str,
        command: list[str] | None,
        environment: Mapping[str, str] | None,
        bounds: Bounds,
    ) -> tuple[int, asyncio.Future[Death]]:
        """Make a worker that holds `wire`: its number, and the future of its death.

        `command` is the argument vector of another interpreter, None for a fork; `environment` what it starts
        with, None for the spawner's own. Closes `wire` here.
        Raises SpawnError if the worker can't be made, SpawnerLostError if the spawner died meanwhile.
        """
        with wire:
            await self._start()
            self._numbers += 1
            number = self._numbers
            loop = asyncio.get_running_loop()
            spawned = self._spawning[number] = loop.create_future()
            death = self._living[number] = loop.create_future()
            request = {"op": "spawn", "worker": number, "log": log, "command": command, "env": environment}
            self.looking.begins(number)
            self._send(request | asdict(bounds), os.dup(wire.fileno()))
        try:
            async with asyncio.timeout(SPAWN_LIMIT):
                await spawned
        except TimeoutError:
            self.end(number)
            raise SpawnError(
                f"no worker process could be made in {SPAWN_LIMIT:g} s: the machine is overloaded"
            ) from None
        finally:
            self._spawning.pop(number, None)
            self.looking.ends(number)
            if not spawned.done() or spawned.cancelled() or spawned.exception():
                self._forget(number)
                self.end(number)
        return number, death

    def end(self, number: int) -> None:
        """Kill a worker, its group and its descendants; its death is reported when they are gone."""
        if self._socket is not None:
            self._send({"op": "end", "worker": number})

    def close(self) -> None:
        """End the spawner and with it every worker."""
        self._closed = True
        self._lost()
        if self._leftovers is not None:
            self._leftovers.end_now()

    # its process

    async def _start(self) -> None:
        if self._ending_leftovers is not None:
            await asyncio.shield(self._ending_leftovers)
        if self._closed:
            raise SpawnError("the daemon is stopping: no new worker is made")
        if self._ready is None:
            self._ready = asyncio.get_running_loop().create_future()
            self._launch()
        try:
            async with asyncio.timeout(START_LIMIT):
                await asyncio.shield(self._ready)
        except TimeoutError:
            self._kill()
            text = f"the process that makes workers was not ready in {START_LIMIT:g} s: the machine is overloaded"
            raise SpawnError(text) from None

    def _launch(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-E", "-B", SPAWNER, str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a spawner may say is for people; stdout may be an agent's
                env=self._environment,
                cwd="/",
                start_new_session=True,  # a signal to the daemon's group must not take the workers first
            )
        ours.setblocking(False)
        self._socket = ours
        asyncio.get_running_loop().add_reader(ours.fileno(), self._receive)

    def _kill(self) -> None:
        """End a spawner that hangs; the end of its socket tells of that."""
        if self._process is not None:
            self._process.kill()

    def _lost(self) -> None:
        """Forget a spawner that is gone; whoever waits for it is told."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            asyncio.get_running_loop().remove_writer(self._socket.fileno())
            self._socket.close()
            self._socket = None
        if self._process is not None:
            process, self._process = self._process, None
            _reap(process)
        for _, descriptor in self._unsent:
            if descriptor is not None:
                os.close(descriptor)
        self._unsent.clear()
        self.looking.stop()
        ready, self._ready = self._ready, None
        for future in (ready, *self._spawning.values()):
            if future is not None and not future.done():
                future.set_exception(SpawnerLostError("the process that makes the workers ended"))
                future.exception()  # nobody may be waiting
        living, self._living = self._living, {}
        for death in living.values():
            if not death.done():
                death.set_result(Death(None))
        if self._leftovers is not None and not self._closed:
            self._ending_leftovers = asyncio.get_running_loop().create_task(self._leftovers.end())

    # its packets

    def _look(self, idle: Sequence[int]) -> None:
        self._send({"op": "look", "idle": idle})

    def _send(self, request: Mapping[str, Any], descriptor: int | None = None) -> None:
        self._unsent.append((json.dumps(request).encode(), descriptor))
        if len(self._unsent) == 1:
            self._flush()

    def _flush(self) -> None:
        while self._unsent and self._socket is not None:
            packet, descriptor = self._unsent[0]
            ancillary = (
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [descriptor]))] if descriptor else []
            )
            try:
                self._socket.sendmsg([packet], ancillary)
            except BlockingIOError:
                asyncio.get_running_loop().add_writer(self._socket.fileno(), self._flush)
                return
            except OSError:
                self._lost()
                return
            self._unsent.popleft()
            if descriptor is not None:
                os.close(descriptor)
        if self._socket is not None:
            asyncio.get_running_loop().remove_writer(self._socket.fileno())

    def _receive(self) -> None:
        assert self._socket is not None
        try:
            packet = self._socket.recv(PACKET_LIMIT)
        except BlockingIOError:
            return
        except OSError:
            packet = b""
        if not packet:
            self._lost()
            return
        self._take(json.loads(packet))

    def _take(self, report: Mapping[str, Any]) -> None:
        number = report.get("worker", 0)
        match report["op"]:
            case "ready":
                if self._ready is not None and not self._ready.done():
                    self._ready.set_result(None)
            case "spawned":
                _settle(self._spawning.get(number), report["pid"])
            case "failed":
                self._forget(number)
                failed = self._spawning.get(number)
                if failed is not None and not failed.done():
                    failed.set_exception(SpawnError(report["error"]))
            case "died":
                excess = Excess(**report["excess"]) if report["excess"] else None
                death = Death(
                    report["status"],
                    report["output"],
                    excess,
                    was_ended=report["ended"],
                    oom_kills=report["oom_kills"],
                )
                _settle(self._forget(number), death)
            case "looked":
                self.looking.answered(report["spinning"], restless=report["restless"])

    def _forget(self, number: int) -> asyncio.Future[Death] | None:
        self.looking.gone(number)
        return self._living.pop(number, None)


def _settle(future: asyncio.Future[Any] | None, value: object) -> None:
    if future is not None and not future.done():
        future.set_result(value)


def _reap(process: subprocess.Popen[bytes]) -> None:
    """Wait for a spawner whose control socket is closed; it ends its workers first, then itself."""
    try:
        process.wait(timeout=STOP_LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
