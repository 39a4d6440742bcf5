"""Patience: which saves look unfinished, and how long each is waited for before what lies there counts.

Between two steps of a save a file may be empty, cut off, or not there at all, and look like a save of its own.
"""

from __future__ import annotations

import fcntl
import os
import signal
import time
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from mcppd.reloading.stamps import Stamp, is_young

Unfinished: TypeAlias = Literal["gone", "empty", "open"]
"""What makes a file look as if more of a save were to come."""

SECONDS: Final[Mapping[Unfinished, float]] = {"gone": 0.25, "empty": 1.0, "open": 1.0}
"""How long each is waited for. Gone: by whoever renames another into its place, or checks a directory out again.
Emptied: hardly anybody means that, and who writes the rest may be slow. Open for writing: from the last write on,
since some never close it."""


class Patience:
    """Remembers since when each file has looked unfinished; for one reader of the files, scan by scan."""

    def __init__(self) -> None:
        self._before: dict[str, tuple[object, float]] = {}
        self._since: dict[str, tuple[object, float]] = {}
        self._waited: set[str] = set()

    def next_scan(self) -> None:
        """A scan begins: what it doesn't ask about is finished."""
        self._before, self._since, self._waited = self._since, {}, set()

    def waits(self, path: str, why: Unfinished, stamp: Stamp = None) -> bool:
        """Whether a path that looks unfinished is to be waited for; anew for each reason, and each write to it."""
        now = time.monotonic()
        sign = (why, stamp)
        former = self._since.get(path) or self._before.get(path)
        since = former[1] if former is not None and former[0] == sign else now
        self._since[path] = (sign, since)
        if now - since >= SECONDS[why]:
            return False
        self._waited.add(path)
        return True

    def is_waited_for(self, path: str) -> bool:
        """Whether this scan has found that a path is to be waited for."""
        return path in self._waited


def is_open_for_writing(path: str, stamp: Stamp) -> bool:
    """Whether some process has a file open for writing, as far as the system tells: then no read lease is given.

    One whose stamp says that nothing was written for longer than we wait isn't asked about.
    A lease is held for a few microseconds; whoever opens the file then is held up for as long. What the system
    would tell us of that goes by a signal that nobody minds.
    """
    if not is_young([stamp], SECONDS["open"]):
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.fcntl(descriptor, _F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:  # another user's file, or a file system without leases
        return False
    finally:
        os.close(descriptor)
    return False


_F_SETSIG: Final = 10
"""Linux's number of it: Python has a name for it only where it was built with one."""
