"""Owners: which modules a path belongs to, and all paths that are to be watched; of the last scan.

What is the same in the next scan is not worked out anew: a save costs what it changes, however many modules there are.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from mcppd.reloading.loaded import Loaded, Scan


@dataclass(frozen=True, slots=True)
class Watched:
    """What is to be watched over."""

    paths: frozenset[str] = frozenset()  # every path whose change matters
    open: frozenset[str] = frozenset()  # directories in which whatever appears matters
    directories: frozenset[str] = frozenset()  # where any of that would be seen


class Owners:
    """The modules of a scan, by the paths that they are made of."""

    def __init__(self) -> None:
        self._scan = Scan()
        self._modules: dict[str, tuple[Loaded, Watched]] = {}  # by their directories
        self._by_path: dict[str, set[str]] = {}  # the directories of the modules that a path matters to
        self._watched: Watched | None = None  # of all; None: not worked out yet

    def take(self, scan: Scan) -> None:
        """Take in another scan."""
        old, self._scan = self._scan, scan
        if (old.stamps.keys(), old.places.keys(), old.links) != (
            scan.stamps.keys(),
            scan.places.keys(),
            scan.links,
        ):
            self._watched = None
        for directory in self._modules.keys() - {loaded.directory for loaded in scan.modules}:
            self._put(directory, None)
        for loaded in scan.modules:
            known = self._modules.get(loaded.directory)
            if known is None or known[0] is not loaded:
                self._put(loaded.directory, loaded)

    def of(self, path: str) -> list[Loaded]:
        """The modules to which a path matters."""
        return [self._modules[directory][0] for directory in self._by_path.get(path, ())]

    def concerned(self, paths: Iterable[str]) -> frozenset[str] | None:
        """The directories of the modules that changes at these paths may concern; None: everything there is."""
        found: set[str] = set()
        for path in paths:
            above = os.path.dirname(path)
            if any(
                each in known for each in (path, above) for known in (self._scan.places, self._scan.links)
            ):
                return None
            owners = self._by_path.get(path, set()) | self._by_path.get(above, set())
            if path in self._scan.stamps or not owners:
                return None
            found |= owners
        return frozenset(found)

    def watched(self) -> Watched:
        """All that is to be watched over; the same value as long as that is the same."""
        if self._watched is None:
            parts = [_of_registry(self._scan), *(watched for _, watched in self._modules.values())]
            self._watched = Watched(
                frozenset().union(*(part.paths for part in parts)),
                frozenset().union(*(part.open for part in parts)),
                frozenset().union(*(part.directories for part in parts)),
            )
        return self._watched

    def _put(self, directory: str, loaded: Loaded | None) -> None:
        known = self._modules.pop(directory, None)
        old = known[1] if known is not None else Watched()
        new = _of_module(loaded) if loaded is not None else Watched()
        if loaded is not None:
            self._modules[directory] = loaded, new
        if old == new:
            return
        self._watched = None
        for path in old.paths - new.paths:
            self._by_path[path].discard(directory)
            if not self._by_path[path]:
                del self._by_path[path]
        for path in new.paths - old.paths:
            self._by_path.setdefault(path, set()).add(directory)


def _of_registry(scan: Scan) -> Watched:
    every = {*scan.stamps, *scan.links}
    directories = {*scan.places, *map(os.path.dirname, every)}
    return Watched(frozenset(every | scan.places.keys()), frozenset(scan.places), frozenset(directories))


def _of_module(loaded: Loaded) -> Watched:
    every = {*loaded.stamps, *loaded.links}
    directories = {*loaded.places, *map(os.path.dirname, every), os.path.dirname(loaded.directory)}
    return Watched(frozenset(every | loaded.places.keys()), loaded.globbed, frozenset(directories))
