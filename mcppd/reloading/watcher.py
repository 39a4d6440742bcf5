"""The watcher: an async iterator of sets of changed paths, over one notifier for all directories (D19).

It has to be timely, not certain: `settled()` looks at the files themselves.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import AsyncIterator, Iterable
from typing import Final

from watchfiles._rust_notify import RustNotify

logger = logging.getLogger("mcppd.watcher")

QUICK_STEP: Final = 6
"""Milliseconds between looks at the notifier's queue while somebody edits: 8 to 12 ms to notice a save."""
SLOW_STEP: Final = 50
"""Milliseconds between looks when nobody does: 20 wake-ups a second, 0.2 % of a core."""
QUICK_FOR: Final = 180_000
"""Milliseconds after a change for which the short step holds: as long as one thinks between two saves."""
GATHER: Final = 200
"""Milliseconds for which changes are gathered while they keep coming: a checkout is one or two sets."""
POLL: Final = 1000
"""Milliseconds between looks at the files where no events can be had."""

EVERYTHING: Final = frozenset({"/"})
"""What is reported when changes may have been missed: look at everything."""


class Watcher:
    """Watches a set of directories, never what lies below them."""

    def __init__(self) -> None:
        self._directories: frozenset[str] = frozenset()
        self._stop = threading.Event()
        self._has_work = asyncio.Event()
        self._is_closed = False
        self.is_polling = False

    @property
    def count(self) -> int:
        """How many directories are watched."""
        return len(self._directories)

    def watch(self, directories: Iterable[str]) -> None:
        """Watch exactly these directories from now on."""
        wanted = frozenset(directories)
        if wanted != self._directories:
            self._directories = wanted
            self._stop.set()
            self._has_work.set()

    def close(self) -> None:
        """End the iterator of `changes`."""
        self._is_closed = True
        self._stop.set()
        self._has_work.set()

    async def changes(self) -> AsyncIterator[frozenset[str]]:
        """Sets of changed paths, as they come; EVERYTHING after the watch was made anew."""
        while not self._is_closed:
            await self._has_work.wait()
            self._stop.clear()
            self._has_work.clear()
            notifier = self._notifier()
            if notifier is None:
                continue
            with notifier:
                # what changed while there was no watch is found by looking
                yield EVERYTHING
                async for paths in self._from(notifier):
                    yield paths

    async def _from(self, notifier: RustNotify) -> AsyncIterator[frozenset[str]]:
        step, limit = QUICK_STEP, QUICK_FOR
        while not self._stop.is_set():
            said = await asyncio.to_thread(notifier.watch, GATHER, step, limit, self._stop)
            if isinstance(said, set):
                step, limit = QUICK_STEP, QUICK_FOR
                paths = frozenset(path for _, path in said)
                yield paths
                if not self._directories.isdisjoint(paths):
                    self._has_work.set()  # one was made anew under its name: what was watched is gone
                    return
            elif said == "timeout":
                step, limit = SLOW_STEP, 0

    def _notifier(self) -> RustNotify | None:
        """A notifier on all directories that are there; polling where the system refuses to tell."""
        present = [directory for directory in self._directories if os.path.isdir(directory)]
        for polling in (False, True):
            try:
                notifier = RustNotify(present, False, polling, POLL, False, True)
            except OSError as error:
                logger.warning(
                    "watching %d directories: %s%s",
                    len(present),
                    error,
                    "" if polling else "; polling instead",
                )
            else:
                self.is_polling = polling
                return notifier
        return None
