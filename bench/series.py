"""Series of measured values, and how subjects take turns so that noise of the machine meets all of them alike."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Unit = Literal["ms", "µs", "MB", "%", "/s"]

SCALES: Final[dict[Unit, float]] = {"ms": 1e3, "µs": 1e6, "MB": 1e-6, "%": 1e2, "/s": 1.0}
"""By what values in seconds, bytes, shares and counts are multiplied to be shown."""


@dataclass(frozen=True, slots=True)
class Series:
    """All values of one thing, in seconds, bytes, a share of a core, or a rate."""

    name: str
    values: tuple[float, ...]
    unit: Unit = "ms"

    @property
    def p50(self) -> float:
        """The median."""
        return self.quantile(0.50)

    @property
    def p99(self) -> float:
        """The value that one in a hundred is above; of fewer than a hundred it is the largest."""
        return self.quantile(0.99)

    def quantile(self, share: float) -> float:
        """The smallest value that so many are not above (nearest rank: always one that was measured)."""
        ranked = sorted(self.values)
        return ranked[max(math.ceil(share * len(ranked)) - 1, 0)]

    def shown(self, value: float) -> str:
        """A value in the unit."""
        return f"{three_digits(value * SCALES[self.unit])} {self.unit}".replace(" /s", "/s")


def three_digits(value: float) -> str:
    """A number as exact as such measurements are."""
    places = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:.{min(max(places, 0), 3)}f}"


@dataclass(frozen=True, slots=True)
class Subject:
    """Something that is measured, one turn after another."""

    name: str
    turn: Callable[[], Iterable[float]]  # the seconds of each time that it was measured in this turn
    every: int = 1  # in how many rounds it has one turn: slow ones are measured less often


def take_turns(subjects: Sequence[Subject], rounds: int, *, warm: int = 1, unit: Unit = "ms") -> list[Series]:
    """A B C A B C …: the series of each subject; what the first `warm` rounds give is thrown away."""
    values: list[list[float]] = [[] for _ in subjects]
    gc.collect()
    gc.disable()  # a collection of ours would be a pause of whoever has its turn
    try:
        for number in range(-warm, rounds):
            for subject, found in zip(subjects, values, strict=True):
                if number % subject.every == 0 or number < 0:
                    measured = subject.turn()
                    found.extend(measured if number >= 0 else ())
    finally:
        gc.enable()
    return [Series(subject.name, tuple(found), unit) for subject, found in zip(subjects, values, strict=True)]
