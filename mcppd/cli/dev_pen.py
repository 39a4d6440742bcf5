"""What writes for a view, and what wakes it: so that neither a reader nor an event can hold up the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import threading
from collections.abc import Callable
from queue import Queue
from typing import Final

TICK: Final = 1.0
"""Seconds after which a view looks again although nothing was told: times go on, and a fault may come unseen."""

LAST_WORDS: Final = 1.0
"""Seconds that a reader has to take what is still to be written; one that stands still would take for ever."""

TOGETHER: Final = 0.1
"""Seconds in which what happens is shown together: ten pictures a second is all that eyes can use."""


class Pen:
    """Writes, and prepares what is to be written, in a thread of its own.

    A terminal that was stopped (Ctrl-S, a selection in some) and a pipe that nobody empties make a
    write wait; without the thread the daemon would wait too, with all its agents.
    """

    def __init__(self, descriptor: int) -> None:
        self._error: Exception | None = None  # the first
        self._descriptor = descriptor
        self._undone: Queue[Callable[[], object]] = Queue()
        threading.Thread(target=self._run, name="pen", daemon=True).start()

    @property
    def is_idle(self) -> bool:
        """Whether all is done."""
        return not self._undone.unfinished_tasks

    @property
    def has_reader(self) -> bool:
        """Whether what was written could be. Raises what else went wrong in the thread."""
        if self._error is not None and not isinstance(self._error, OSError):
            raise self._error
        return self._error is None

    def do(self, work: Callable[[], object]) -> None:
        """Do some work of drawing after all that was asked for before."""
        self._undone.put(work)

    def write(self, text: str) -> None:
        """Write at once, in the thread that does the work."""
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def finish(self) -> bool:
        """Wait until all is done, but not for ever; whether it is."""
        done = self._undone.all_tasks_done
        with done:
            return done.wait_for(lambda: self.is_idle, LAST_WORDS)

    def say_last(self, text: str) -> None:
        """Write something at the end, if somebody takes it. Raises BrokenPipeError where nobody will."""
        if self.finish():
            self.do(lambda: self.write(text))
            self.finish()
        if not self.has_reader:
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def _run(self) -> None:
        while True:
            work = self._undone.get()
            try:
                work()
            except Exception as error:  # noqa: BLE001 - told by the view; what comes after may still give the terminal back
                self._error = self._error or error
            self._undone.task_done()


class Bell:
    """Wakes a view when something has happened, and at each tick."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()
        self._at_once = asyncio.Event()

    def ring(self, *, at_once: bool = False) -> None:
        """Something has happened; `at_once` if it mustn't wait for what else may happen."""
        self._rung.set()
        if at_once:
            self._at_once.set()

    async def wait(self, *, is_behind: bool) -> None:
        """Wait until it is time to look again; not for long where something is still to be shown."""
        await _within(TOGETHER if is_behind else TICK, self._rung)
        await _within(TOGETHER, self._at_once)
        self._rung.clear()
        self._at_once.clear()


async def _within(limit: float, event: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(limit):
            await event.wait()
