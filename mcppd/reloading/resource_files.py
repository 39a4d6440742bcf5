"""The files of static resources: noticed when other bytes are saved there, and told by the URI they are read by.

A file may be saved in place, by a rename, or after it was gone for a while; what is half written is waited for.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from mcppd.core.modules import Module
from mcppd.reloading import stamps
from mcppd.reloading.stamps import Stamp
from mcppd.reloading.watcher import EVERYTHING

HASHED: Final = 16 * 1024 * 1024
"""Bytes of a file by which it is told from another: as many as clients can be sent of one."""
PATIENCE: Final = 0.5
"""Seconds for which a file that is written again and again is waited for, before what there is counts."""


@dataclass(slots=True)
class _Seen:
    """A file as it was when it was last read."""

    uris: frozenset[str]
    stamp: Stamp  # None also where it was too young to be believed
    digest: bytes | None  # None: there was nothing to be read
    differs_since: float | None = None  # when its stamp was first seen to be another, in monotonic seconds


class ResourceFiles:
    """Knows the files of the resources that are served, and tells when one has other bytes."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self.tell: Callable[[str], None] = lambda _: None  # the URI of a resource that reads otherwise now
        self.directories: frozenset[str] = frozenset()  # those in which a change may be one of a file
        self._tasks = tasks
        self._seen: dict[str, _Seen] = {}
        self._looking: asyncio.Task[None] | None = None
        self._is_wanted = False  # something changed since the look under way began

    async def follow(self, modules: Iterable[Module]) -> None:
        """Know the files of these modules, which are about to be served, as they are now.

        Where another file with other bytes is read by a URI from now on, that is told too.
        """
        uris: dict[str, set[str]] = {}
        directories: set[str] = set()
        for module in modules:
            for item in module.items:
                if item.file is not None:
                    uris.setdefault(item.file, set()).add(item.key)
                    directories.update(_directories(item.file, module.directory))
        new = uris.keys() - self._seen.keys()
        read = await asyncio.to_thread(_read_all, new) if new else {}
        before = {uri: each.digest for each in self._seen.values() for uri in each.uris}
        seen = {path: self._seen.get(path) or _seen(*read[path]) for path in uris}
        for path, each in seen.items():
            each.uris, known = frozenset(uris[path]), each.uris
            for uri in sorted(each.uris - known):
                if each.digest is not None and each.digest != before.get(uri, each.digest):
                    self.tell(uri)
        self._seen, self.directories = seen, frozenset(directories)
        if any(found is not None and seen[path].stamp is None for path, (found, _) in read.items()):
            self.look(EVERYTHING)

    def look(self, paths: frozenset[str]) -> None:
        """See whether a change at these paths is one of a file's."""
        if self._seen and (paths is EVERYTHING or any(self._concerns(path) for path in paths)):
            self._is_wanted = True
            if self._looking is None:
                self._looking = self._tasks.create_task(self._look())

    def _concerns(self, path: str) -> bool:
        return path in self.directories or os.path.dirname(path) in self.directories

    async def _look(self) -> None:
        """Read every file whose stamp has changed, until nothing new has come meanwhile."""
        try:
            while self._is_wanted:
                self._is_wanted = False
                differing = [path for path, seen in self._seen.items() if stamps.stamp(path) != seen.stamp]
                read = await asyncio.to_thread(_read_all, differing) if differing else {}
                for path, (found, digest) in read.items():
                    if path in self._seen:
                        self._take(self._seen[path], found, digest)
                if stamps.is_young(found for found, _ in read.values()):
                    await asyncio.sleep(stamps.YOUNG)
                    self._is_wanted = True
        finally:
            self._looking = None

    def _take(self, seen: _Seen, found: Stamp, digest: bytes | None) -> None:
        """Take in what a file is now, unless it is still being written, or gone: then it may come again."""
        if digest is None:
            return
        if is_young := stamps.is_young([found]):
            now = time.monotonic()
            seen.differs_since = seen.differs_since or now
            if now - seen.differs_since < PATIENCE:
                return
        is_other = digest != seen.digest
        seen.stamp, seen.digest, seen.differs_since = None if is_young else found, digest, None
        if is_other:
            for uri in sorted(seen.uris):
                self.tell(uri)


def _seen(found: Stamp, digest: bytes | None) -> _Seen:
    return _Seen(frozenset(), None if stamps.is_young([found]) else found, digest)


def _directories(file: str, module: str) -> Iterator[str]:
    """Where a change may be one of the file's: in its directory and those up to its module's, and along links."""
    place = os.path.dirname(file)
    while place.startswith(module) and place != module:
        yield place
        place = os.path.dirname(place)
    yield module
    yield from stamps.links_on(file)
    yield os.path.dirname(os.path.realpath(file))


def _read_all(paths: Iterable[str]) -> dict[str, tuple[Stamp, bytes | None]]:
    return {path: _read(path) for path in paths}


def _read(path: str) -> tuple[Stamp, bytes | None]:
    """The stamp of a file before it was read, and the digest of its bytes."""
    found = stamps.stamp(path)
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data: bytes | None = file.read(HASHED) if is_file else None  # None also of one that would block
    except (OSError, ValueError):
        return found, None  # gone, or not ours to read: there is nothing that could be said to have changed
    if data is not None:
        return found, hashlib.sha256(data).digest()
    return found, None
