"""Laps: how long each stage of a reload took, over all the passes that it takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final

ORDER: Final = ("noticed", "waited", "read", "judged", "prepared", "published", "notified")
"""The stages; `waited` is the time between two passes of one reload."""


class Laps:
    """A stopwatch for one reload after the other."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: float | None = None  # None: no reload is under way
        self._stages: dict[str, float] = {}

    @property
    def stages(self) -> Mapping[str, float]:
        """Seconds of each stage so far, in order."""
        return {stage: self._stages[stage] for stage in ORDER if stage in self._stages}

    @property
    def seconds(self) -> float:
        """Seconds of all of them."""
        return sum(self._stages.values())

    def begin(self, since: float | None) -> None:
        """A pass begins, for what was noticed at a moment; or it goes on with a reload that is not through."""
        if self._last is None:
            now = self._clock()
            self._last = min(since, now) if since is not None else now
            self.lap("noticed")
        else:
            self.lap("waited")

    def lap(self, stage: str) -> None:
        """A stage is at its end: the time since the last one's was spent on it."""
        now = self._clock()
        self._stages[stage] = self._stages.get(stage, 0.0) + now - (now if self._last is None else self._last)
        self._last = now

    def end(self) -> None:
        """The reload is over; what comes next is another."""
        self._last = None
        self._stages = {}
