"""The spawner's loop: the only place that makes, signals and reaps workers (D2).

It lives as long as its control socket: a signal that was meant for the daemon's whole group must not end
the workers before the daemon has decided so. When the socket ends, by whatever death of the daemon, all do.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TextIO

from . import spawner_processes as processes
from .spawner_birth import Newborn, Order, explain, fork, made_streams
from .spawner_looks import Bounds, Looks
from .spawner_memory import OutOfMemory
from .spawner_output import TAIL, Logs, OutputLog, last_characters

PACKET: Final = 1024 * 1024
"""Bytes of one request, environments included; a socket's buffer holds less."""
CHUNK: Final = 64 * 1024
"""Bytes read from one worker before the next has its turn: what a pipe holds."""
FULL_PIPE: Final = 32
"""Chunks read of a dead worker's output: what the largest pipe holds, and an end if somebody writes on."""
SWEEP_LIMIT: Final = 3.0
"""Seconds to wait for what a dead worker left; what can't be ended by then hangs in a device or a mount."""
CLOSING_LIMIT: Final = 1.5
"""Seconds to end everything after the control socket ended; the daemon kills the spawner after two."""
SWEEP_INTERVAL: Final = 0.02
"""Seconds between two looks at what is being ended, should no signal tell of it."""

_PRELOADED: Final = ("asyncio", "concurrent.futures.thread")  # what a worker imports only when it needs it
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(slots=True, eq=False)
class Worker:
    """A worker from its fork to the report of its death."""

    number: int
    born: Newborn
    log: OutputLog
    path: str  # of the log
    looks: Looks
    is_starting: bool = True
    is_ending: bool = False  # it has been killed
    was_ended: bool = False  # and lived until then
    oom_kills: int = 0  # that the kernel has made since the last look, if this may be one of them
    error: str = ""  # why it could not start
    tail: bytes = b""
    status: int = 0
    deadline: float = 0.0  # when its death is reported, whatever it left


class Spawner:
    """Serves one control socket."""

    def __init__(self, control: socket.socket, umask: int, streams: tuple[TextIO, TextIO, TextIO]) -> None:
        self._control = control
        self._umask = umask
        self._logs = Logs()
        self._workers: dict[int, Worker] = {}  # those that live, by number
        self._dead: list[Worker] = []  # those whose death has not been reported
        self._unsent: deque[bytes] = deque()
        self._memory = OutOfMemory()
        self._streams = streams
        self._closing: float | None = None  # when to stop waiting for what is being ended
        self._poll = select.poll()
        self._actions: dict[int, Callable[[], None]] = {}

    def run(self, signals: int) -> None:
        """Serve until the control socket ends; `signals` reads a byte for each signal."""
        self._watch(self._control.fileno(), self._receive)
        self._watch(signals, lambda: _drain(signals))
        self._send({"op": "ready"})
        while not self._is_finished():
            for descriptor, _ in self._poll.poll(SWEEP_INTERVAL * 1000 if self._is_waiting() else None):
                self._actions.get(descriptor, _nothing)()
            self._reap()
            for worker in self._workers.values():
                if worker.is_ending:
                    self._end(worker)
            self._bury()

    def _is_waiting(self) -> bool:
        """Whether something is being ended."""
        is_ending = any(worker.is_ending for worker in self._workers.values())
        return is_ending or bool(self._dead) or self._closing is not None

    def _is_finished(self) -> bool:
        if self._closing is None:
            return False
        return not (self._workers or self._dead) or time.monotonic() > self._closing

    # the control socket

    def _receive(self) -> None:
        self._flush()
        try:
            packet, ancillary, _, _ = self._control.recvmsg(PACKET, 256, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:  # reset: the daemon died with packets unread
            packet, ancillary = b"", []
        descriptors = array.array("i")
        for _, _, data in ancillary:
            descriptors.frombytes(data)
        try:
            if packet:
                self._take(json.loads(packet), list(descriptors))
            else:
                self._close()
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _take(self, request: Mapping[str, Any], descriptors: list[int]) -> None:
        match request:
            case {"op": "spawn", "worker": int(number), "log": str(log), "command": command, "env": env}:
                bounds = Bounds(request.get("memory"), request.get("processes"))
                self._spawn(Order(number, log, command, env, bounds, self._streams), descriptors)
            case {"op": "end", "worker": int(number)}:
                if number in self._workers:
                    self._end(self._workers[number])
            case {"op": "look", "idle": list(idle)}:
                self._look(idle)
            case _:
                print(f"spawner: not understood: {request}", file=sys.stderr)  # noqa: T201 - the daemon's stderr

    def _send(self, report: Mapping[str, Any]) -> None:
        if self._closing is None:
            self._unsent.append(json.dumps(report).encode())
            self._flush()

    def _flush(self) -> None:
        while self._unsent:
            try:
                self._control.send(self._unsent[0])
            except BlockingIOError:
                self._poll.modify(self._control, select.POLLIN | select.POLLOUT)
                return
            except OSError:  # the daemon is gone; the end of the socket tells
                self._unsent.clear()
                return
            self._unsent.popleft()
        self._poll.modify(self._control, select.POLLIN)

    def _close(self) -> None:
        """The daemon is gone, or wants everything to go."""
        self._unwatch(self._control.fileno())
        self._closing = time.monotonic() + CLOSING_LIMIT
        for worker in self._workers.values():
            self._end(worker)

    # birth

    def _spawn(self, order: Order, descriptors: list[int]) -> None:
        if not descriptors:  # the kernel leaves it out when this process can't hold one more
            self._send(_failed(order, "no descriptor came with the request; too many workers run at once"))
            return
        try:
            born = fork(order, descriptors[0], self._umask)
        except OSError as error:
            self._send(_failed(order, explain(error, None)))
            return
        worker = Worker(order.number, born, self._logs.take(order.log), order.log, Looks(order.bounds))
        self._workers[order.number] = worker
        self._watch(born.output, lambda: self._read_output(worker))
        self._watch(born.start, lambda: self._read_start(worker))

    def _read_start(self, worker: Worker) -> None:
        """Its start pipe ends when it runs its own code, and says why it can't."""
        text = _read(worker.born.start, CHUNK)
        if text is None:
            return
        worker.error = text.decode("utf-8", "replace")
        worker.is_starting = False
        self._unwatch(worker.born.start)
        os.close(worker.born.start)
        if not worker.error:
            self._send({"op": "spawned", "worker": worker.number, "pid": worker.born.pid})

    def _read_output(self, worker: Worker) -> bool:
        """Take in what it printed; whether there may be more."""
        data = _read(worker.born.output, CHUNK)
        if data:
            worker.log.append(data)
            worker.tail = (worker.tail + data)[-4 * TAIL :]  # a character has up to four bytes
        elif data is not None:
            self._unwatch(worker.born.output)
        return bool(data)

    # life

    def _look(self, idle: Collection[int]) -> None:
        """Look at every worker, end those that take too much, and tell of those that don't rest."""
        spinning, is_restless = [], False
        self._memory.look(time.monotonic())
        for worker in self._workers.values():
            looks, now, is_idle = worker.looks, time.monotonic(), worker.number in idle
            if not looks.is_due(now, idle=is_idle):
                continue
            looks.look(worker.born.pid, now, idle=is_idle)
            if looks.excess is not None:
                self._end(worker)
            elif looks.is_spinning:
                spinning.append(worker.number)
            is_restless = is_restless or looks.is_restless
        self._send({"op": "looked", "spinning": spinning, "restless": is_restless})

    # death

    def _end(self, worker: Worker) -> None:
        """Kill a worker, its group at one stroke, and what it started; until it has ended, again and again."""
        if not worker.is_ending:
            worker.is_ending, worker.was_ended = True, not processes.is_going(worker.born.pid)
        processes.kill_group(worker.born.pid)
        processes.kill_trees([worker.born.pid])

    def _reap(self) -> None:
        """Take in every death there is."""
        by_pid = {worker.born.pid: worker for worker in self._workers.values()}
        for pid, status in processes.reap():
            worker = by_pid.get(pid)
            if worker is not None:
                del self._workers[worker.number]
                worker.status, worker.deadline = status, time.monotonic() + SWEEP_LIMIT
                if status == signal.SIGKILL and not worker.was_ended:
                    worker.oom_kills = self._memory.killed()
                self._dead.append(worker)

    def _bury(self) -> None:
        """Report the deaths after which nothing is left."""
        if not self._dead and self._closing is None:
            return
        is_clean = self._sweep()
        now = time.monotonic()
        for worker in [each for each in self._dead if is_clean or each.deadline < now]:
            self._dead.remove(worker)
            self._report(worker)

    def _sweep(self) -> bool:
        """Kill what dead workers left, which is every child that is no living worker; whether nothing is."""
        living = {worker.born.pid for worker in self._workers.values()}
        return not processes.kill_trees(pid for pid in processes.children(os.getpid()) if pid not in living)

    def _report(self, worker: Worker) -> None:
        for _ in range(FULL_PIPE):
            if not self._read_output(worker):
                break
        if worker.is_starting:
            self._read_start(worker)
        self._unwatch(worker.born.output)
        os.close(worker.born.output)
        self._logs.give_back(worker.path)
        if worker.error:
            self._send({"op": "failed", "worker": worker.number, "error": worker.error})
            return
        self._send(
            {
                "op": "died",
                "worker": worker.number,
                "status": worker.status,
                "output": last_characters(worker.tail),
                "excess": worker.looks.excess,
                "ended": worker.was_ended,
                "oom_kills": worker.oom_kills,
            }
        )

    # descriptors

    def _watch(self, descriptor: int, action: Callable[[], object]) -> None:
        self._actions[descriptor] = action  # type: ignore[assignment]
        self._poll.register(descriptor, select.POLLIN)

    def _unwatch(self, descriptor: int) -> None:
        if self._actions.pop(descriptor, None) is not None:
            self._poll.unregister(descriptor)


def main(descriptor: int) -> None:
    """Serve the control socket at a descriptor until it ends, then end."""
    umask = os.umask(0o077)
    control = socket.socket(fileno=descriptor)
    control.setblocking(False)
    control.set_inheritable(False)
    processes.adopt_orphans()
    signals = _signals()
    for name in _PRELOADED:
        importlib.import_module(name)
    streams = made_streams()
    gc.disable()
    gc.collect()
    gc.freeze()  # a collection in a worker would copy every page that it shares with this process
    Spawner(control, umask, streams).run(signals)
    os._exit(0)


def _signals() -> int:
    """A descriptor that becomes readable when a child ends."""
    reading, writing = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    return reading


def _read(descriptor: int, size: int) -> bytes | None:
    """What can be read now; None if nothing can."""
    try:
        return os.read(descriptor, size)
    except BlockingIOError:
        return None


def _drain(descriptor: int) -> None:
    while _read(descriptor, CHUNK):
        continue


def _failed(order: Order, error: str) -> dict[str, Any]:
    return {"op": "failed", "worker": order.number, "error": error}


def _nothing() -> None:
    """Nothing: what it was for was closed by an action of the same round."""
