"""What a figure came to: rows that each set one series against a floor or a peer of the same run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from bench.series import SCALES, Series


@dataclass(frozen=True, slots=True)
class Row:
    """One series against another."""

    measured: Series
    base: Series
    statistic: Literal["p50", "p99"] = "p50"
    goal: float | None = None  # of the ratio, at most
    own_goal: float | None = None  # of the measured value itself, at most

    @property
    def value(self) -> float:
        """What was measured."""
        return float(getattr(self.measured, self.statistic))

    @property
    def base_value(self) -> float:
        """What it is held against."""
        return float(getattr(self.base, self.statistic))

    @property
    def ratio(self) -> float:
        """How many times the base it is."""
        return self.value / self.base_value if self.base_value else float("inf")

    @property
    def is_reached(self) -> bool | None:
        """Whether it is within its goal; None where there is none."""
        if self.goal is not None:
            return self.ratio <= self.goal
        return self.value <= self.own_goal if self.own_goal is not None else None

    @property
    def goal_shown(self) -> str:
        """The goal, for people."""
        if self.goal is not None:
            return f"≤ {self.goal:g} ×"
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
        "statistic": row.statistic,
        "ratio": round(row.ratio, 4),
        "goal": row.goal_shown or None,
        "reached": row.is_reached,
    }
