"""Resources that an author's code says have changed: told soon, each at least once after its last change.

It belongs to the worker and not to a call, since what watches a resource may outlive the call that began it.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Final

from .rates import Rate
from .values import clean
from .wire import Wire

INTERVAL: Final = 0.05
"""Seconds between two frames in the long run; what changed meanwhile goes into the next."""
BURST: Final = 20
"""Frames that may come at once."""
HELD: Final = 1000
"""Resources that may wait; a tool that changes more of them in an interval waits itself."""


class Updates:
    """The changes that have not been told."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._rate = Rate(INTERVAL, BURST)
        self._changed: dict[str, None] = {}  # in order
        self._is_timed = False

    def tell(self, uri: Any) -> None:
        """A resource has changed."""
        with self._wire.speaking:
            self._changed[clean(str(uri))] = None
            wait = self._rate.wait(time.monotonic())
            if not wait:
                self.flush()
                return
            is_full = len(self._changed) >= HELD
            if not is_full and not self._is_timed:
                self._start_timer(wait)
        if is_full:
            time.sleep(wait)
            self.flush()

    def flush(self) -> None:
        """Tell what has not been told."""
        if not self._changed:
            return
        with self._wire.speaking:
            uris, self._changed = list(self._changed), {}
            if uris:
                self._rate.spend(time.monotonic(), sum(map(len, uris)))
                self._wire.send({"op": "updated", "uris": uris})

    def _start_timer(self, wait: float) -> None:
        timer = threading.Timer(wait, self._flush_late)
        timer.daemon = True
        self._is_timed = True
        timer.start()

    def _flush_late(self) -> None:
        self._is_timed = False
        self.flush()
