"""Following the watcher: what it says is sorted into what matters; it is restarted if it fails, and not relied on."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from typing import Final

from mcppd.reloading.owners import Watched
from mcppd.reloading.watcher import EVERYTHING, Watcher

logger = logging.getLogger("mcppd.watcher")

WATCHER_PAUSE: Final = 1.0
"""Seconds until a watcher that failed is started again: if it fails at once, that costs nothing to speak of."""
LOOK_AGAIN: Final = 60.0
"""Seconds between two looks at everything, whatever the watcher says: a few milliseconds for a hundred modules."""


class Following:
    """Tells what a watcher sees."""

    def __init__(
        self, watcher: Watcher, watched: Callable[[], Watched], tell: Callable[[frozenset[str], bool], None]
    ) -> None:
        """`tell` gets the changed paths, and whether one of them is what modules are made of."""
        self._watcher = watcher
        self._watched = watched
        self._tell = tell

    async def run(self) -> None:
        """Follow the watcher until it is closed."""
        looking = asyncio.create_task(self._look_now_and_then())
        try:
            while not self._watcher.is_closed:
                await self._follow()
                self._see(EVERYTHING)
        finally:
            looking.cancel()

    async def _follow(self) -> None:
        try:
            async for paths in self._watcher.changes():
                self._see(paths)
        except Exception:
            logger.exception("the watcher failed and is started again; till then saves are found by calls")
            await asyncio.sleep(WATCHER_PAUSE)

    async def _look_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(LOOK_AGAIN)
            self._see(EVERYTHING)

    def _see(self, paths: frozenset[str]) -> None:
        watched = self._watched()
        self._tell(paths, paths is EVERYTHING or any(_matters(path, watched) for path in paths))


def _matters(path: str, watched: Watched) -> bool:
    return path in watched.paths or path.endswith((".py", ".yaml")) or os.path.dirname(path) in watched.open
