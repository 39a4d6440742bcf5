"""The ends of the demo and of its processes: in order, also where somebody interrupts it, and once more."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Coroutine
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Final, Self

import click

TERM_LIMIT: Final = 3.0
"""Seconds in which a process ends that was asked to; a daemon takes a tenth of one."""

KILL_LIMIT: Final = 3.0
"""Seconds in which a killed one is gone: the kernel takes milliseconds, and more is not ours to wait for."""

RETRY: Final = 0.01  # seconds between two looks

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_library: Final = ctypes.CDLL(None)


ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What ends the demo: Ctrl-C, `kill`, a closed terminal."""


class Interruptions:
    """A context in which signals cancel one task, and nothing but that; at its end they are told as click.Abort.

    So what is to be removed when the task has ended is removed, however often somebody presses Ctrl-C.
    """

    def __init__(self) -> None:
        self._came = False
        self._task: asyncio.Task[None] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._take) for number in ENDINGS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        if self._came:
            raise click.Abort

    async def cancel(self, work: Coroutine[Any, Any, None]) -> None:
        """Do the work, or as much of it as there is time for."""
        self._task = asyncio.create_task(work)
        if self._came:
            self._task.cancel()
        await asyncio.wait([self._task])
        task, self._task = self._task, None
        if not task.cancelled():
            task.result()

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._came = True
        if self._task is not None:
            self._task.get_loop().call_soon_threadsafe(self._task.cancel)


def end_with_parent() -> None:
    """In a new process: end when the parent is gone, which was killed then, or it would have ended this one."""
    _library.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def end_children() -> None:
    """End every child that is left, and those that become ours when their parents end."""
    for number, limit in ((signal.SIGTERM, TERM_LIMIT), (signal.SIGKILL, KILL_LIMIT)):
        told: set[int] = set()
        end = time.monotonic() + limit
        while (left := _children()) and time.monotonic() < end:
            for pid in left - told:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            told |= left
            time.sleep(RETRY)


def _children() -> set[int]:
    """Our children that still run; those that have ended are reaped."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass  # another one may have ended
    return {
        pid
        for entry in os.scandir("/proc")
        if entry.name.isdigit() and _parent(pid := int(entry.name)) == os.getpid()
    }


def _parent(pid: int) -> int | None:
    """A process's parent: the second field after the name, which may hold anything (proc(5), stat)."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[1])
    except OSError:
        return None  # it has just gone
