"""Unread: what the watcher told of, until it is known whether the files have been read since (D19).

A call that comes right after a save has it read before the watcher tells of it; then nothing is to be done again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from mcppd.reloading.loaded import Loaded, Scan
from mcppd.reloading.owners import Owners
from mcppd.reloading.stamps import Stamp, stamp

SOURCES: Final = (".py", ".yaml")
"""What a module or a registry may come to be made of, wherever it lies."""


class Unread:
    """Paths that changed, held against the last scan; while one is made, until it is through."""

    def __init__(self, owners: Owners, want: Callable[[float | None, frozenset[str] | None], None]) -> None:
        """`want` asks for a scan, for what was noticed at a moment, of the modules that it may concern."""
        self._owners = owners
        self._want = want
        self._scan = Scan()
        self._is_reading = False
        self._paths: set[str] = set()
        self._noticed: float | None = None

    def told(self, paths: Iterable[str], noticed: float) -> None:
        """The watcher told of these paths."""
        self._paths.update(paths)
        self._noticed = noticed if self._noticed is None else self._noticed
        if not self._is_reading:
            self._judge()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While files are read, what changed can't be held against anything."""
        self._is_reading = True
        try:
            yield
        finally:
            self._is_reading = False

    def read(self, scan: Scan) -> None:
        """A scan is through."""
        self._scan = scan
        self._judge()

    def _judge(self) -> None:
        paths, self._paths = self._paths, set()
        noticed, self._noticed = self._noticed, None
        if unread := [path for path in paths if not self._is_read(path)]:
            self._want(noticed, self._owners.concerned(unread))

    def _is_read(self, path: str) -> bool:
        """Whether what is at a path now is what was read there, as far as it matters.

        What was too young to be believed is read again anyway.
        """
        known = [*self._known(path)]
        if any(path in each.links for each in self._readings(path)):
            return False
        if known:
            return all(each == stamp(path) for each in known)
        directory = os.path.dirname(path)
        holders = [*self._known(directory)]
        if not holders:
            return not path.endswith(SOURCES)
        return all(each == stamp(directory) for each in holders)

    def _readings(self, path: str) -> list[Scan | Loaded]:
        return [self._scan, *self._owners.of(path)]

    def _known(self, path: str) -> Iterator[Stamp]:
        """What was noted of a path, each time that it was."""
        for read in self._readings(path):
            for noted in (read.stamps, read.places):
                if path in noted:
                    yield noted[path]
