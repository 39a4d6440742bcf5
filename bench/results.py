"""What a figure came to: rows that each set one series against a floor or a peer of the same run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from bench.series import SCALES, Series

Statistic: TypeAlias = Literal["p50", "p99", "p99.9"]
QUANTILES: Final[dict[Statistic, float]] = {"p50": 0.50, "p99": 0.99, "p99.9": 0.999}


@dataclass(frozen=True, slots=True)
class Row:
    """One series against another."""

    measured: Series
    base: Series
    statistic: Statistic = "p50"
    goal: float | None = None  # of the ratio, at most
    least: float | None = None  # of the ratio, at least: of what is the better the more there is
    base_statistic: Statistic | None = None  # where it is another
    own_goal: float | None = None  # of the measured value itself, at most

    @property
    def value(self) -> float:
        """What was measured."""
        return self.measured.quantile(QUANTILES[self.statistic])

    @property
    def base_value(self) -> float:
        """What it is held against."""
        return self.base.quantile(QUANTILES[self.base_statistic or self.statistic])

    @property
    def statistic_shown(self) -> str:
        """What of the two is held against each other."""
        other = self.base_statistic
        return self.statistic if other is None else f"{self.statistic} against {other}"

    @property
    def ratio(self) -> float:
        """How many times the base it is."""
        return self.value / self.base_value if self.base_value else float("inf")

    @property
    def is_reached(self) -> bool | None:
        """Whether it is within its goal; None where there is none."""
        if self.goal is not None:
            return self.ratio <= self.goal
        if self.least is not None:
            return self.ratio >= self.least
        return self.value <= self.own_goal if self.own_goal is not None else None

    @property
    def goal_shown(self) -> str:
        """The goal, for people."""
        if self.goal is not None:
            return f"≤ {self.goal:g} ×"
        if self.least is not None:
            return f"≥ {self.least:g} ×"
        return f"≤ {self.measured.shown(self.own_goal)}" if self.own_goal is not None else ""


@dataclass(frozen=True, slots=True)
class Figure:
    """All that one file of `bench/figures` measured."""

    name: str
    what: str  # what is measured, from when to when
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())  # what was left out and why, what was odd

    def as_json(self) -> dict[str, Any]:
        """The figure for JSON: every series once, and the rows by their names."""
        every = {series.name: series for row in self.rows for series in (row.measured, row.base)}
        return {
            "name": self.name,
            "what": self.what,
            "series": [_series(series) for series in every.values()],
            "rows": [_row(row) for row in self.rows],
            "notes": list(self.notes),
        }


def _series(series: Series) -> dict[str, Any]:
    scale = SCALES[series.unit]
    found = {"p50": series.p50, "p99": series.p99, "min": min(series.values), "max": max(series.values)}
    return {
        "name": series.name,
        "unit": series.unit,
        "count": len(series.values),
        **{name: round(value * scale, 4) for name, value in found.items()},
    }


def _row(row: Row) -> dict[str, Any]:
    return {
        "measured": row.measured.name,
        "against": row.base.name,
        "statistic": row.statistic_shown,
        "ratio": round(row.ratio, 4),
        "goal": row.goal_shown or None,
        "reached": row.is_reached,
    }
