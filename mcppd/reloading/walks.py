"""Walks: what lies below a directory, and what a glob names, as far as an allowance lasts. Off the event loop.

A tree may be as large as a disk, be told slowly, or lead back into itself by links; a walk ends all the same.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
import re
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from mcppd.reloading.shortage import unless_short

ENTRIES_LIMIT: Final = 50_000
"""Entries of directories that are looked at for one module, or for one glob: a tenth of a second's work."""
SECONDS_LIMIT: Final = 1.0
"""Seconds for the same, where each entry takes long: half as long as a call waits for a save."""
PARTS_LIMIT: Final = 200
"""Parts of a glob that may each be several names: nobody's directories lie deeper."""
SKIPPED: Final = frozenset({"__pycache__", "node_modules"})
"""Directories that hold no source of the module's own."""
AGAIN: Final = 60.0
"""Seconds until what was too much is tried again: then a whole disk costs a few thousandths of a core."""
_ENTRIES_AT_ONCE: Final = 64
"""Entries between two looks at the clock: it takes as long as reading one."""
_ESCAPED: Final = re.compile(r"\[([*?[])\]")
"""A character that `glob.escape` made plain."""

_Chain: TypeAlias = "tuple[tuple[int, int], _Chain] | None"
"""What a directory is, and those above it on the way to it: where one is met again, a link leads back."""


class TooMuchError(Exception):
    """There is more than may be looked at."""


class Allowance:
    """How much may be looked at for one thing."""

    def __init__(self, entries: int = ENTRIES_LIMIT, seconds: float = SECONDS_LIMIT) -> None:
        self._left = entries
        self._until = time.monotonic() + seconds

    def take(self) -> None:
        """One more entry. Raises TooMuchError."""
        self._left -= 1
        if self._left < 0 or (not self._left % _ENTRIES_AT_ONCE and time.monotonic() > self._until):
            raise TooMuchError

    def enter(self) -> None:
        """One more directory. Raises TooMuchError."""
        self.take()
        if time.monotonic() > self._until:
            raise TooMuchError


def source_files(
    directory: str, allowance: Allowance, enter: Callable[[str], object] = lambda _: None
) -> Iterator[tuple[str, bool]]:
    """(path, whether it is a directory) of a module's source files and of the directories they may lie in.

    Hidden directories, virtual environments and node_modules are left out (D5); links are followed, but
    no directory is entered twice, and `enter` is told each before it is looked into. Raises TooMuchError.
    """
    seen: set[tuple[int, int]] = set()
    waiting = [directory]
    while waiting:
        place = waiting.pop()
        identity = _identity(place)
        if identity is None or identity in seen:
            continue
        seen.add(identity)
        enter(place)
        below, files = _sorted(place, allowance)
        if place != directory and "pyvenv.cfg" in files:
            continue
        yield place, True
        for name in files:
            if name.endswith(".py") and not name.startswith("."):
                yield os.path.join(place, name), False
        waiting += [os.path.join(place, name) for name in reversed(below) if name not in SKIPPED]


def matches(pattern: str, allowance: Allowance, enter: Callable[[str], object]) -> Iterator[str]:
    """The paths that an absolute glob names, as `glob.iglob` has them with `recursive`.

    `enter` is told each directory in which another may come to be. Raises TooMuchError.
    """
    fixed = fixed_part(pattern)
    rest = pattern[len(_as_pattern(fixed)) :].strip("/")
    enter(os.path.dirname(fixed) if not rest else fixed)
    if not rest:
        if os.path.lexists(fixed):
            yield fixed
        return
    parts = rest.split("/")
    if len(parts) > PARTS_LIMIT:
        raise TooMuchError
    yield from _matches(fixed, parts, allowance, enter)


def fixed_part(pattern: str) -> str:
    """The directory above the first part of a pattern that isn't a plain name."""
    fixed: list[str] = []
    for part in pattern.split("/"):
        if (plain := _plain(part)) is None:
            break
        fixed.append(plain)
    return "/".join(fixed) or "/"


def _as_pattern(fixed: str) -> str:
    return glob.escape(fixed) if fixed != "/" else ""


def _plain(part: str) -> str | None:
    """The name that a part of a pattern is; None where it may be more than one."""
    plain = _ESCAPED.sub(r"\1", part)
    return plain if glob.escape(plain) == part else None


def _matches(
    place: str, parts: list[str], allowance: Allowance, enter: Callable[[str], object]
) -> Iterator[str]:
    part, *rest = parts
    enter(place)
    if part == "**":
        yield from _at_any_depth(place, rest, allowance, enter)
        return
    for path, is_directory in _named(place, part, allowance):
        if not rest:
            yield path
        elif is_directory:
            yield from _matches(path, rest, allowance, enter)


def _at_any_depth(
    place: str, rest: list[str], allowance: Allowance, enter: Callable[[str], object]
) -> Iterator[str]:
    """What the rest of a pattern names in a directory and in all below it; all of that where there is no rest."""
    waiting: list[tuple[str, _Chain]] = [(place, None)]
    while waiting:
        here, above = waiting.pop()
        identity = _identity(here)
        if identity is None or _is_above(identity, above):
            continue
        enter(here)
        below, files = _sorted(here, allowance)
        if rest:
            yield from _matches(here, rest, allowance, enter)
        else:
            yield here
            yield from (os.path.join(here, name) for name in files if not name.startswith("."))
        waiting += [(os.path.join(here, name), (identity, above)) for name in reversed(below)]


def _named(place: str, part: str, allowance: Allowance) -> Iterator[tuple[str, bool]]:
    """(path, whether it is a directory) of what one part of a pattern names in a directory."""
    if (plain := _plain(part)) is not None:
        allowance.enter()
        path = os.path.join(place, plain)
        if os.path.lexists(path):
            yield path, os.path.isdir(path)
        return
    fits = re.compile(fnmatch.translate(part)).match
    for entry in _entries(place, allowance):
        if fits(entry.name) and (part.startswith(".") or not entry.name.startswith(".")):
            yield os.path.join(place, entry.name), _is_directory(entry)


def _sorted(place: str, allowance: Allowance) -> tuple[list[str], list[str]]:
    """The names of the directories in a directory, but for the hidden ones, and of all else."""
    below, files = [], []
    for entry in _entries(place, allowance):
        if not _is_directory(entry):
            files.append(entry.name)
        elif not entry.name.startswith("."):
            below.append(entry.name)
    return sorted(below), sorted(files)


def _entries(place: str, allowance: Allowance) -> Iterator[os.DirEntry[str]]:
    """What lies in a directory; nothing where that can't be read. Raises TooMuchError, ShortageError."""
    allowance.enter()
    try:
        entries = os.scandir(place)
    except OSError as error:
        unless_short(error)
        return
    with contextlib.suppress(OSError), entries:
        for entry in entries:
            allowance.take()
            yield entry


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False


def _identity(place: str) -> tuple[int, int] | None:
    try:
        found = os.stat(place)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _is_above(identity: tuple[int, int], chain: _Chain) -> bool:
    while chain is not None:
        if chain[0] == identity:
            return True
        chain = chain[1]
    return False
