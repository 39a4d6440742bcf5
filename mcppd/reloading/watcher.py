"""The watcher: an async iterator of sets of changed paths, over one inotify instance for all directories (D19).

It has to be timely, not certain: `settled()` looks at the files themselves. Where events can't be had, because a limit
of the system's is reached or the file system tells nothing, it polls, and says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, Final

from mcppd.reloading import inotify, polling
from mcppd.reloading.inotify import Inotify
from mcppd.reloading.polling import Mounts

logger = logging.getLogger("mcppd.watcher")

QUIET: Final = 0.004
"""Seconds without another change after which what has changed is told: the steps of one save are closer together."""
GATHER: Final = 0.2
"""Seconds for which changes are gathered while they keep coming: a checkout is one or two sets."""
POLL_QUICK: Final = 0.5
"""Seconds between two looks, where we poll, while somebody edits."""
POLL_SLOW: Final = 1.5
"""Seconds between two looks when nobody does: a save is still noticed within two."""
QUICK_FOR: Final = 180.0
"""Seconds after a change for which the short step holds: as long as one thinks between two saves."""
RETRY: Final = 60.0
"""Seconds until a limit that was reached is tried again."""

EVERYTHING: Final = frozenset({"/"})
"""What is reported when changes may have been missed: look at everything."""


class Watcher:
    """Watches a set of directories, never what lies below them; where one isn't there, the nearest above it."""

    def __init__(self) -> None:
        self.polled: Mapping[str, str] = {}  # directories of which no events can be had, with the reason
        self.far: frozenset[str] = (
            frozenset()
        )  # those of them that a look at may take as long as a network does
        self.is_fine = False  # each change of a file in any of them gives it another stamp
        self._wanted: frozenset[str] = frozenset()
        self._on_the_way: frozenset[str] = frozenset()  # the wanted directories and all above them
        self._inotify: Inotify | None = None
        self._watches: dict[int, frozenset[str]] = {}  # what a watch is on, by every name it is wanted by
        self._changed: set[str] = set()
        self._is_overrun = False  # changes may have been missed
        self._is_stale = False  # what is watched may not be what is wanted
        self._is_arming = False  # and that is being mended
        self._news = asyncio.Event()
        self._must_poll = asyncio.Event()
        self.is_closed = False
        self._quick_until = 0.0
        self.woken = 0.0  # monotonic seconds: when the first of the last changes was noticed
        self._heard = 0  # events, ever

    def heard(self) -> int | None:
        """How many events there were by now, asked of the system itself; None if not every change is one.

        A change is in the queue before the call that made it returns, so as long as this number stays, all that
        is watched is as it was. What makes no event: a write through a mapping, or under another name of the file.
        """
        if self._inotify is None or self._misses_some or self.polled:
            return None
        try:
            self._read()
        except OSError:
            self._news.set()  # whoever follows the changes meets it too, and begins anew
            return None
        return None if self._misses_some or self._changed else self._heard

    @property
    def _misses_some(self) -> bool:
        """Whether there are changes of which no event came, or may be."""
        return self._is_stale or self._is_arming or self._is_overrun

    def status(self) -> dict[str, Any]:
        """How many directories are watched and how each of them is, as JSON."""
        by_inotify = {path for paths in self._watches.values() for path in paths}
        modes = [name for name, some in (("inotify", by_inotify), ("polling", self.polled)) if some]
        how = dict.fromkeys(by_inotify, "inotify") | {
            path: f"polling: {why}" for path, why in self.polled.items()
        }
        return {
            "mode": " and ".join(modes) or "nothing",
            "directories": len(how),
            "polled": dict(self.polled),
            "each": dict(sorted(how.items())),
        }

    def watch(self, directories: Iterable[str]) -> None:
        """Watch exactly these directories from now on."""
        wanted = frozenset(directories)
        if wanted != self._wanted:
            self._wanted = wanted
            self._on_the_way = frozenset(_with_all_above(wanted))
            self._is_stale = True
            self._news.set()

    def close(self) -> None:
        """End the iterator of `changes`."""
        self.is_closed = True
        self._news.set()

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """Sets of changed paths, as they come; EVERYTHING where some may have been missed."""
        self._is_stale = True
        self._news.set()
        poller = asyncio.create_task(self._poll())
        try:
            while not self.is_closed:
                await self._wait()
                if poller.done():
                    poller.result()  # raises what ended it
                if self._is_stale:
                    await self._arm()
                if paths := self._take():
                    yield paths
        finally:
            poller.cancel()
            self._disarm()

    async def _wait(self) -> None:
        """Wait until something has changed, and then until nothing more does."""
        await self._news.wait()
        self.woken = time.monotonic()
        deadline = self.woken + GATHER
        self._read()  # what woke us; from now on it has to be quiet
        while self._news.is_set() and time.monotonic() < deadline and not self.is_closed:
            self._news.clear()
            await asyncio.sleep(QUIET)
            self._read()
        self._news.clear()
        self._listen(on=True)

    def _take(self) -> frozenset[str]:
        paths, self._changed = frozenset(self._changed), set()
        if paths or self._is_overrun:
            self._quick_until = time.monotonic() + QUICK_FOR
        if self._is_overrun:
            self._is_overrun = False
            return EVERYTHING
        return paths

    # events

    def _listen(self, *, on: bool) -> None:
        if self._inotify is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._inotify.descriptor)
            if on:
                loop.add_reader(self._inotify.descriptor, self._wake)

    def _wake(self) -> None:
        self._listen(on=False)  # while changes keep coming there is no need to be woken by each
        self._news.set()

    def _read(self) -> None:
        """Take in what inotify says."""
        if self._inotify is None:
            return
        for event in self._inotify.events():
            self._heard += 1
            self._news.set()
            if event.mask & inotify.OVERFLOW:
                logger.warning("too many files changed at once to be told one by one; looking at everything")
                self._is_overrun = self._is_stale = True
            if event.mask & inotify.GONE:
                self._is_stale = True
            for directory in self._watches.get(event.watch, ()):
                self._note(os.path.join(directory, event.name) if event.name else directory)

    def _note(self, path: str) -> None:
        self._changed.add(path)
        if path in self._on_the_way:
            self._is_stale = True  # it may be another one under its name, or lead elsewhere

    # what is watched

    async def _arm(self) -> None:
        """Watch what is wanted: by inotify where that tells, else by polling."""
        self._is_stale, self._is_arming = False, True
        kinds = await asyncio.to_thread(_survey, self._wanted)
        nearest = frozenset(kinds)
        silent = {path: kind for path, kind in kinds.items() if polling.is_silent(kind)}
        self.far, self.is_fine = frozenset(silent), polling.is_fine(kinds.values())
        polled = {path: f"{kind} tells of no changes" for path, kind in silent.items()}
        old, self._watches = self._watches, {}
        if self._inotify is None:
            self._open(polled, nearest)
        for path in nearest - polled.keys():
            self._add(path, polled)
        unwanted = {watch for watch, paths in old.items() if paths} - self._watches.keys()
        self._remove(unwanted)  # first: one that is on the way only is watched for less
        for path in _with_all_above(nearest - polled.keys()) - nearest:
            self._add_on_the_way(path)
        self._remove(old.keys() - self._watches.keys() - unwanted)
        if any(not paths and watch not in old for watch, paths in self._watches.items()):
            self._is_stale = True  # what moved before its watch was there is found by arming once more
            self._news.set()
        if any(watch not in old or paths - old[watch] for watch, paths in self._watches.items()):
            self._is_overrun = True  # what changed while there was no watch is found by looking
        self._tell_polled(polled)
        self._is_arming = False
        self._listen(on=True)

    def _open(self, polled: dict[str, str], nearest: frozenset[str]) -> None:
        try:
            self._inotify = Inotify()
        except OSError as error:
            polled.update((path, f"no inotify: {error.strerror}") for path in nearest - polled.keys())

    def _add_on_the_way(self, path: str) -> None:
        """Be told when a directory is moved away with all that is watched below it; no more can be had of some."""
        if self._inotify is not None:
            with contextlib.suppress(OSError):
                self._watches.setdefault(self._inotify.add(path, inotify.ON_THE_WAY), frozenset())

    def _remove(self, watches: Iterable[int]) -> None:
        if self._inotify is not None:
            for watch in watches:
                self._inotify.remove(watch)

    def _add(self, path: str, polled: dict[str, str]) -> None:
        if self._inotify is None:
            return
        try:
            watch = self._inotify.add(path)
        except FileNotFoundError:
            self._is_stale = True  # gone since we looked
            self._news.set()
        except OSError as error:
            polled[path] = f"no inotify watch: {error.strerror}"
        else:
            self._watches[watch] = self._watches.get(watch, frozenset()) | {path}

    def _tell_polled(self, polled: dict[str, str]) -> None:
        new = {reason for path, reason in polled.items() if path not in self.polled}
        for reason in sorted(new):
            count = sum(each == reason for each in polled.values())
            logger.warning("%d of %d directories are polled: %s", count, len(self._wanted), reason)
        if polled.keys() - self.polled.keys():
            self._is_overrun = True
        self.polled = polled
        if polled:
            self._must_poll.set()
        else:
            self._must_poll.clear()

    def _disarm(self) -> None:
        if self._inotify is not None:
            self._listen(on=False)
            ended, self._inotify, self._watches = self._inotify, None, {}
            with contextlib.suppress(OSError):  # closed already, which may be what ended us
                ended.close()

    # polling

    async def _poll(self) -> None:
        """Look at what inotify doesn't tell of, for ever; and try now and then whether it does."""
        before: dict[str, polling.View] = {}
        retry = time.monotonic() + RETRY
        while True:
            if not self.polled:
                before = {}
                await self._must_poll.wait()
            is_quick = time.monotonic() < self._quick_until
            await asyncio.sleep(POLL_QUICK if is_quick else POLL_SLOW)
            now = await asyncio.to_thread(polling.look, frozenset(self.polled))
            for path in polling.changed(before, now):
                self._note(path)
                self._news.set()
            if now.keys() - before.keys():
                self._is_overrun = True  # first looks: what changed before them is found by looking
                self._news.set()
            before = now
            if time.monotonic() > retry:
                retry = time.monotonic() + RETRY
                self._is_stale = True
                self._news.set()


def _survey(wanted: Iterable[str]) -> dict[str, str]:
    """The nearest directories that are there, each with its file system's type."""
    mounts = Mounts()
    found: dict[str, str] = {}
    return {path: mounts.kind(path) for path in {_nearest(each, found) for each in wanted}}


def _nearest(path: str, found: dict[str, str]) -> str:
    """The path if it is a directory, else the nearest one above it; each is asked about once, and noted in `found`."""
    passed = []
    while path not in found:
        above = os.path.dirname(path)
        if os.path.isdir(path) or path == above:
            found[path] = path
            break
        passed.append(path)
        path = above
    nearest = found[path]
    found.update(dict.fromkeys(passed, nearest))
    return nearest


def _with_all_above(paths: Iterable[str]) -> set[str]:
    """Paths and all the directories above them; each step up is taken once, however many paths share it."""
    every: set[str] = set()
    for each in paths:
        path = each
        while path not in every:
            every.add(path)
            path = os.path.dirname(path)
    return every
