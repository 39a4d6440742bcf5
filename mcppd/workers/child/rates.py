"""How often something may be said: so much at once, and in the long run one thing for each interval."""

from __future__ import annotations

import math
from typing import Final

WEIGHED: Final = 16 * 1024
"""Bytes that count as one more thing: what is said ten times a second must not be a megabyte each time."""


class Rate:
    """One limit."""

    __slots__ = ("_burst", "_interval", "_next")

    def __init__(self, interval: float, burst: int) -> None:
        self._interval = interval  # seconds
        self._burst = burst
        self._next = -math.inf  # when the next would be due if all came at the interval

    def wait(self, now: float) -> float:
        """Seconds until something may be said; `now` is monotonic time."""
        return max(0.0, self._next - self._burst * self._interval - now)

    def spend(self, now: float, size: int = 0) -> None:
        """Something of so many bytes is being said."""
        self._next = max(self._next, now) + self._interval * (1 + size / WEIGHED)
