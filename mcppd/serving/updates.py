"""Updates of resources on their way to who subscribed: the first at once, and of many in a row the last.

None is lost: after whatever was told last, nothing has changed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

PAUSE: Final = 0.05
"""Seconds between two notifications of one URI: more often nobody could read it again."""


class Updates:
    """Tells each update, but none twice within the pause."""

    def __init__(self, tell: Callable[[str], int]) -> None:
        self._tell = tell  # gives how many were told
        self._paused: dict[str, bool] = {}  # URIs told a moment ago -> whether they changed since

    def updated(self, uri: str) -> None:
        """A resource has changed."""
        if uri in self._paused:
            self._paused[uri] = True
        elif self._tell(uri):
            self._pause(uri)

    def _pause(self, uri: str) -> None:
        self._paused[uri] = False
        asyncio.get_running_loop().call_later(PAUSE, self._end_pause, uri)

    def _end_pause(self, uri: str) -> None:
        if self._paused.pop(uri):
            self.updated(uri)
