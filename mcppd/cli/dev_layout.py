"""Rows of cells into lines that fit: columns that align, text that is cut, room that is shared. No terminal needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

GAP: Final = "  "
WIDEST: Final = 4
"""No column but the last takes more than this part of the width."""


@dataclass(frozen=True, slots=True)
class Row:
    """Cells that align with those of other rows; one that stands alone says more of the row before."""

    cells: tuple[Text, ...]

    @property
    def is_detail(self) -> bool:
        """Whether it belongs to the row before."""
        return len(self.cells) == 1


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a heading; what is told first is the most important."""

    name: str
    summary: str
    rows: tuple[Row, ...]
    more: int = 0  # things that no rows were made for, since there is no room for them anyway


def row(*cells: str | tuple[str, str]) -> Row:
    """A row of texts, or of texts with their styles."""
    return Row(tuple(Text(*((cell,) if isinstance(cell, str) else cell)) for cell in cells))


def section_lines(sections: Sequence[Section], width: int, height: int) -> list[Text]:
    """The sections one below the other, in lines of a width, no more than a number of them."""
    room = max(0, height - len(sections))
    lines: list[Text] = []
    for section, given in zip(sections, share(room, [len(each.rows) for each in sections]), strict=True):
        lines += [_heading(section, width), *_fitted(section, width, given)]
    return lines[:height]


def share(room: int, wanted: Sequence[int]) -> list[int]:
    """Room for each of those who want some: as equal as can be, but nobody gets more than they want."""
    given = [0] * len(wanted)
    while room > 0 and given != list(wanted):
        for place, want in enumerate(wanted):
            if given[place] < want and room > 0:
                given[place] += 1
                room -= 1
    return given


def _heading(section: Section, width: int) -> Text:
    line = Text("── ", style="dim", no_wrap=True)
    line.append(section.name, style="not dim bold").append(f"  {section.summary} ")
    line.truncate(width, overflow="ellipsis")
    return line.append("─" * (width - line.cell_len))


def _fitted(section: Section, width: int, height: int) -> list[Text]:
    rows = section.rows
    if len(rows) <= height and not section.more:
        return align(rows, width)
    shown = rows[: max(0, height - 1)]
    hidden = sum(not each.is_detail for each in rows[len(shown) :]) + section.more
    rest = Text(f"  … {hidden} more" if hidden else "  …", style="dim")
    rest.truncate(width, overflow="ellipsis")
    return [*align(shown, width), rest][:height]


def align(rows: Sequence[Row], width: int) -> list[Text]:
    """A line for each row, cut where it is too long."""
    widths: list[int] = []
    for each in rows:
        if not each.is_detail:
            lengths = [cell.cell_len for cell in each.cells[:-1]]
            widths = [
                max(pair) for pair in zip(_filled(widths, lengths), _filled(lengths, widths), strict=True)
            ]
    return [_line(each, [min(length, width // WIDEST) for length in widths], width) for each in rows]


def _filled(short: list[int], long: list[int]) -> list[int]:
    return short + [0] * (len(long) - len(short))


def _line(row: Row, widths: Sequence[int], width: int) -> Text:
    line = Text("    " if row.is_detail else " ", no_wrap=True)
    for cell, length in zip(row.cells, widths, strict=False) if not row.is_detail else ():
        if cell is row.cells[-1]:
            break
        padded = cell.copy()
        padded.truncate(length, overflow="ellipsis", pad=True)
        line.append_text(padded).append(GAP)
    line.append_text(row.cells[-1])
    line.truncate(width, overflow="ellipsis")
    return line
