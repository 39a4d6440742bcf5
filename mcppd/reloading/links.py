"""Links: what lies on the way to a path, and changes where it leads."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Final

LINKS_LIMIT: Final = 40
"""Links on the way to one path, as the system has it."""


def trail(path: str) -> Iterator[str]:
    """Every link that is met on the way to a path, through other links as well, and what it leads to at last."""
    place, parts, met = "/", path.split("/"), 0
    while parts:
        part = parts.pop(0)
        if part == "..":
            place = os.path.dirname(place)
        elif part not in ("", "."):
            step = os.path.join(place, part)
            try:
                target = os.readlink(step)
            except OSError:  # no link, or nothing at all
                place = step
                continue
            yield step
            met += 1
            if met > LINKS_LIMIT:
                return
            place = "/" if target.startswith("/") else place
            parts[:0] = target.split("/")
    if met:
        yield place


def trails(directory: str, paths: Iterable[str]) -> frozenset[str]:
    """The same for a directory and paths below it; of those only the links in their last part."""
    found = set(trail(directory))
    for path in paths:
        if os.path.islink(path):
            found.update(trail(path))
    return frozenset(found)
