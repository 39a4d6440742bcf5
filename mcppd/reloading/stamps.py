"""Stamps: what tells by one stat whether a file is still the one that was read."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

Stamp = tuple[int, int, int, int] | None
"""(mtime in ns, ctime in ns, size, inode) of a file or directory; None where there is none."""

NOTHING_SEEN: Final[Mapping[str, Stamp]] = {}

YOUNG: Final = 0.020
"""Seconds for which a file may still be changed under the same stamp: file systems count in ticks of 10 ms
at most, so two saves in one tick with one size look alike, and a half-written file looks finished (D19)."""

SAVING: Final = 0.010
"""Seconds for which more of a save may come, in this file or another, where stamps are fine: then a stamp can be
trusted at once, and only what was saved together is waited for. Twice as long as the steps of one save are apart."""


def stamp(path: str) -> Stamp:
    """The stamp of what is at a path, links followed."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def is_young(stamps: Iterable[Stamp], reach: float = YOUNG, now: float | None = None) -> bool:
    """Whether one of these was changed so lately that its stamp can't be trusted yet: within `reach` seconds.

    A time of modification may be anything; where that is in the future, the time of the change still tells.
    """
    moment = time.time_ns() if now is None else int(now * 1e9)
    nanoseconds = int(reach * 1e9)
    return any(
        each is not None and (abs(moment - each[0]) < nanoseconds or abs(moment - each[1]) < nanoseconds)
        for each in stamps
    )


def differing(stamps: Mapping[str, Stamp], seen: Mapping[str, Stamp] = NOTHING_SEEN) -> bool:
    """Whether one of these paths isn't what it was; of those that were `seen` a moment ago, as they were then."""
    if seen:
        return any((seen[path] if path in seen else stamp(path)) != known for path, known in stamps.items())
    return [*map(stamp, stamps)] != [*stamps.values()]  # before each call, so with as little Python as can be


def links_on(path: str) -> Iterator[str]:
    """The directories that hold a symbolic link on the way to a path, whose re-pointing changes what is there."""
    place = path
    while place not in ("/", ""):
        if os.path.islink(place):
            yield os.path.dirname(place)
        place = os.path.dirname(place)
