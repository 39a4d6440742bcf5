"""The figures for people and for programs: a table on a terminal, the same table as Markdown elsewhere, and JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from bench.machine import Machine
from bench.results import Figure, Row
from bench.series import Series, three_digits

HEAD: Final = ("figure", "measured: p50, p99", "against: p50, p99", "ratio", "goal")


def print_report(figures: Sequence[Figure], machine: Machine, missing: Sequence[str]) -> None:
    """The table, the machine, and what there is to note."""
    if sys.stdout.isatty():
        _print_rich(figures)
    else:
        print("\n".join(_markdown(figures)))
    print(f"\n{machine}")
    for note in [*missing, *(f"{figure.name}: {note}" for figure in figures for note in figure.notes)]:
        print(note)


def as_json(figures: Sequence[Figure], machine: Machine) -> dict[str, Any]:
    """Everything."""
    return {"machine": machine.as_json(), "figures": [figure.as_json() for figure in figures]}


def _cells(figure: Figure, row: Row) -> tuple[str, ...]:
    mark = {True: " reached", False: " missed", None: ""}[row.is_reached]
    return (
        figure.name,
        _shown(row.measured),
        _shown(row.base),
        f"{three_digits(row.ratio)} × ({row.statistic_shown})",
        f"{row.goal_shown}{mark}",
    )


def _shown(series: Series) -> str:
    """What it is, its median and its p99; just the value where there is one."""
    values = [series.p50, series.p99] if len(series.values) > 1 else [series.p50]
    return f"{series.name}: {', '.join(map(series.shown, values))}"


def _print_rich(figures: Sequence[Figure]) -> None:
    from rich.console import Console  # noqa: PLC0415 - only for a terminal
    from rich.table import Table  # noqa: PLC0415

    table = Table(*HEAD)
    for figure in figures:
        for row in figure.rows:
            style = {True: "green", False: "red", None: ""}[row.is_reached]
            table.add_row(*_cells(figure, row), style=style)
        table.add_section()
    Console().print(table)


def _markdown(figures: Sequence[Figure]) -> list[str]:
    rows = [_cells(figure, row) for figure in figures for row in figure.rows]
    return [_line(HEAD), _line(["---"] * len(HEAD)), *map(_line, rows)]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
