"""Processes that came to the worker when their own parents ended, and have ended since: nobody else reaps them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Final

LEFT_ALONE: Final = 60.0
"""Seconds that a child that has ended is left to the tool: it may have started it, and still ask how it ended."""


class Orphans:
    """The ended children that were there after the last call, and since when."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}

    def reap(self, now: float) -> None:
        """Reap those that have been there for long; `now` is monotonic time."""
        if not _is_any_there():
            return
        self._since = {pid: self._since.get(pid, now) for pid in _ended_children()}
        for pid, since in self._since.items():
            if now - since > LEFT_ALONE:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)


def _is_any_there() -> bool:
    """Whether some child has ended; one call of the system, for the many tools that start none."""
    try:
        return os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _ended_children() -> Iterator[int]:
    pid = os.getpid()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", "rb") as file:
        for child in file.read().split():
            with contextlib.suppress(OSError), open(f"/proc/{int(child)}/stat", "rb") as stat:
                if stat.read().rpartition(b")")[2].split()[0] == b"Z":
                    yield int(child)
