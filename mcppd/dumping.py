"""Dumps: where every thread and every asyncio task is, for somebody who wonders why nothing moves.

Files, lines and names of functions only; never an argument, a local variable or an environment (D20).
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import logging
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any, Final

logger = logging.getLogger("mcppd")

DEEPEST: Final = 100
"""Awaits followed into a task, and calls into a thread: what goes deeper goes round in circles."""


def on_crash() -> None:
    """Have the threads' stacks written to stderr when the process dies of a fault or of SIGABRT.

    The latter is what systemd sends to a daemon whose loop is stuck, when the loop itself can't tell any more.
    """
    if sys.stderr is not None:
        faulthandler.enable(sys.stderr, all_threads=True)


def dump(status: Mapping[str, Any]) -> None:
    """Write to the log, whatever its level, what the daemon says of itself and where everything in it stands."""
    lines = ["dump, as SIGUSR1 asks for", json.dumps(status), *stacks()]
    logger.handle(logger.makeRecord(logger.name, logging.INFO, "", 0, "%s", ("\n".join(lines),), None))


def stacks() -> list[str]:
    """Every thread and every task of the running loop, innermost step last, as lines."""
    return [*_threads(), *_tasks()]


def _threads() -> Iterator[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for ident, frame in sys._current_frames().items():  # noqa: SLF001 - the way that there is
        yield f"thread {names.get(ident, ident)}"
        yield from _outermost_first(traceback.walk_stack(frame))


def _tasks() -> Iterator[str]:
    for task in sorted(asyncio.all_tasks(), key=lambda each: each.get_name()):
        yield f"task {task.get_name()}"
        yield from _steps(task.get_coro())


def _outermost_first(frames: Iterable[tuple[FrameType, int]]) -> Iterator[str]:
    yield from reversed([_step(frame.f_code, line) for frame, line in frames][:DEEPEST])


def _steps(awaited: Any) -> Iterator[str]:
    """A suspended coroutine, what it awaits, and so on: a task's own stack shows the first of them only."""
    for _ in range(DEEPEST):
        frame: FrameType | None = getattr(awaited, "cr_frame", None) or getattr(awaited, "gi_frame", None)
        if frame is None:
            if awaited is not None:
                yield f"  awaits {type(awaited).__name__}"
            return
        yield _step(frame.f_code, frame.f_lineno)
        awaited = getattr(awaited, "cr_await", None) or getattr(awaited, "gi_yieldfrom", None)


def _step(code: CodeType, line: int) -> str:
    return f"  {code.co_filename}:{line} {code.co_qualname}"
