"""An agent's own copy: all of a daemon but its sockets and its lock, in one process on stdin and stdout.

The agent's lines go the way that they go in a shim, which a thread is here; what it is connected to is one end of a
pair of sockets, whose other end is served like any agent's. So both eras, every limit and the manner of ending are
the shim's and the daemon's own.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import select
import signal
import sys
import threading
from dataclasses import dataclass
from typing import Final

from mcppd_shim.hello import hello_line
from mcppd_shim.traffic import Traffic

from mcppd import dumping, logs
from mcppd.core.errors import McppdError
from mcppd.core.events import Event
from mcppd.handing_over import DRAIN_LIMIT, LAST_TASKS_LIMIT, LAST_WORDS_LIMIT, MOVING_LIMIT, WORDS, Ending
from mcppd.pair import Pair
from mcppd.parts import Parts
from mcppd.running import raise_descriptor_limit, run_loop
from mcppd.starting import Places
from mcppd.tasks import Tasks

logger = logging.getLogger("mcppd")

LOOK_EVERY: Final = 2.0
"""Seconds between two looks at a registry that can't be read, while the agent is shown why."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the agent is to get."""

    registry: str | None  # its real path; None for the default one
    workspace: str | None
    meta_tools: bool
    because: str  # why there is no daemon


def run(found: Places, wish: Wish, read: bytes) -> int:
    """Serve the agent on stdin and stdout until it ends or we are told to; the exit status.

    `read` is what has been read from stdin before.
    """
    because = f"this agent has its own copy of mcppd: no daemon, because {wish.because}"
    _complain(because)
    _set_up_log(f"{found.state}/stdio.log")
    dumping.on_crash()
    raise_descriptor_limit()
    pair = Pair()
    host = HostThread(wish, pair, read)
    host.start()
    parts = _loaded(found, pair, host)
    if parts is not None:
        try:
            run_loop(OwnCopy(parts, pair, host, because).serve())
        except* (OSError, McppdError) as group:
            logger.error("mcppd stdio ends: %s", group.exceptions[0])  # noqa: TRY400 - one line, for a person
            pair.fail(str(group.exceptions[0]))
            host.wait(None)
    if host.failure:
        _complain(f"stdout can't be written: {host.failure}")
    return 1 if host.failure or pair.has_failed else 0


def _loaded(found: Places, pair: Pair, host: HostThread) -> Parts | None:
    """The parts, as soon as the registry can be read; None if the agent has gone before that."""
    while True:
        try:
            parts = Parts(found, os.environ)
        except (OSError, McppdError) as error:
            if pair.fail(str(error)):
                _complain(str(error))
        else:
            pair.mend()
            return parts
        if host.wait(LOOK_EVERY):
            return None


class HostThread:
    """The agent's side: what a shim does, in a thread, since the agent's descriptors may block."""

    def __init__(self, wish: Wish, pair: Pair, read: bytes) -> None:
        hello = hello_line(wish.registry, _absolute(wish.workspace), os.environ, meta_tools=wish.meta_tools)
        self.ended, self._end = os.pipe()
        """Readable when the agent has gone, or has been answered after its end."""
        self._traffic = Traffic(pair, hello, os.getppid(), lambda _: None)
        self._read = read
        pair.when_over = self._finish
        self._thread = threading.Thread(target=self._run, name="the agent's side", daemon=True)

    @property
    def failure(self) -> str:
        """Why stdout can't be written, if it is not for want of a reader."""
        return self._traffic.host.failure

    def start(self) -> None:
        """Begin to take the agent's lines."""
        self._thread.start()

    def wait(self, limit: float | None) -> bool:
        """Wait until it is over, or for `limit` seconds; whether it is."""
        return bool(select.select([self.ended], [], [], limit)[0])

    def _finish(self) -> None:
        """Take no more of them: what was asked is answered, then it is over."""
        self._traffic.host.has_ended = True

    def _run(self) -> None:
        try:
            self._traffic.take(self._read)
            self._traffic.run()
        finally:
            os.close(self._end)


class OwnCopy:
    """The daemon's side of one agent."""

    def __init__(self, parts: Parts, pair: Pair, host: HostThread, because: str) -> None:
        self._parts = parts
        self._pair = pair
        self._host = host
        self._because = because
        self._over = asyncio.Event()
        self._is_told = False  # to end, by a signal

    async def serve(self) -> None:
        """Serve until the agent has gone or a signal comes. Raises FaultError, OSError where it can't begin."""
        parts = self._parts
        async with Tasks() as tasks:
            parts.join(tasks, _tell, self._because)
            loops: list[asyncio.Task[None]] = []
            self._listen()
            try:
                await parts.reloader.start()
                # not before: a handshake tells what the modules are about
                self._pair.open(asyncio.get_running_loop(), parts.agents.accept, tasks.create_task)
                loops += [tasks.create_task(each) for each in (parts.reloader.run(), parts.reloader.follow())]
                parts.begin()
                parts.prune(tasks)
                logger.info("mcppd stdio serves %s (pid %d)", parts.served, os.getpid())
                await self._over.wait()
                if self._is_told:
                    await self._say_goodbye()
            finally:
                self._pair.close()
                parts.close(loops)
            await self._wait_answered()
            await tasks.end(LAST_TASKS_LIMIT)

    def _listen(self) -> None:
        """Have the end of the agent, and signals, told to us."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._host.ended, self._see_end)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end)
        loop.add_signal_handler(signal.SIGUSR1, lambda: dumping.dump(self._parts.status()))

    def _see_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._host.ended)
        self._over.set()

    def _end(self) -> None:
        """Let the calls that run end; with a second signal not even those."""
        if self._is_told:
            self._parts.pool.close()
        self._is_told = True
        self._over.set()

    async def _say_goodbye(self) -> None:
        agents = self._parts.agents
        agents.begin_drain(WORDS[Ending.END])
        await agents.drain(DRAIN_LIMIT)
        self._parts.pool.close()  # what still runs is answered: its worker ended
        await agents.drain(LAST_WORDS_LIMIT)

    async def _wait_answered(self) -> None:
        """Wait until the agent has what there is for it, but not for one that doesn't read."""
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        loop.add_reader(self._host.ended, gone.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(MOVING_LIMIT):
                await gone.wait()
        loop.remove_reader(self._host.ended)


def _tell(event: Event) -> None:
    asyncio.get_running_loop().call_soon(logs.log_event, event)


def _set_up_log(path: str) -> None:
    """A file; where there can be none, warnings on stderr: agents keep all of that."""
    level = os.environ.get("MCPP_LOG_LEVEL")
    try:
        logs.set_up(path, level)
    except OSError:
        logs.set_up(None, "error" if level == "error" else "warning")


def _absolute(path: str | None) -> str | None:
    return (
        None if path is None else os.path.realpath(path) if ".." in path.split("/") else os.path.abspath(path)
    )


def _complain(text: str) -> None:
    with contextlib.suppress(OSError, ValueError):  # nobody is left to be told
        sys.stderr.write(f"mcppd stdio: {text}\n")
        sys.stderr.flush()
