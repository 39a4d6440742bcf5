"""A document: values as they were read out of a file, and where each of them stands in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcppd.core.faults import Fault

MAX_SOURCE: Final = 500
"""Characters of a line that are shown with a fault: enough for people, little enough for a log."""


@dataclass(frozen=True, slots=True)
class Position:
    """Where a value stands (counted from 1), where its key does, and where its members do."""

    line: int
    column: int
    key: tuple[int, int] | None = None  # line and column of the key of a mapping's member
    members: Mapping[str | int, Position] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """One file as values: None, bool, int, float, str, list and dict with str keys, none of them shared."""

    value: Any
    file: str
    positions: Position
    lines: tuple[str, ...]
    warnings: tuple[Fault, ...] = ()
    yaml11_warnings: tuple[Fault, ...] = ()  # what a YAML 1.1 reader would take for something else

    def fault(self, path: Sequence[str | int], message: str, *, at_value: bool = False) -> Fault:
        """A fault at the nearest known place on a path; for a mapping's member its key, or else its value."""
        position, found = self.positions, True
        for step in path:
            member = position.members.get(step)
            if member is None:
                found = False
                break
            position = member
        line, column = position.line, position.column
        if position.key is not None and not (at_value and found):
            line, column = position.key
        return fault_at(self.file, self.lines, line, column, message)


def fault_at(file: str, lines: Sequence[str], line: int, column: int, message: str) -> Fault:
    """A fault at a line and column, with the line; behind the last line is its end."""
    if line > len(lines):  # libyaml ends a file without a line end by one of its own
        line, column = len(lines), len(lines[-1]) + 1
    return Fault(message, file, line, column, lines[line - 1][:MAX_SOURCE])
