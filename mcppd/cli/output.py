"""What commands print with: plain lines for programs, rich only where a terminal reads."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters but tab and newline: text of others must not steer a person's terminal."""


def say(text: str = "") -> None:
    """Print a line."""
    sys.stdout.write(printable(text) + "\n" if is_terminal() else text + "\n")


def complain(*lines: str, quoted: Iterable[str] = ()) -> None:
    """Print an error on stderr: what, where, what to do; then lines of somebody else, set off."""
    for line in lines:
        sys.stderr.write(f"mcppd: {printable(line)}\n")
    for line in quoted:
        sys.stderr.write(f"  {printable(line)}\n")
    sys.stderr.flush()


def is_terminal() -> bool:
    """Whether a person reads stdout on something that can show more than lines."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def printable(text: str) -> str:
    """The text without what would steer a terminal."""
    return _CONTROLS.sub("�", text)


def one_line(text: str) -> str:
    """The text with its line breaks and other control characters written as escapes, so that it stays in its line."""
    return "".join(each if each.isprintable() or each == " " else repr(each)[1:-1] for each in text)


def print_json(value: Any) -> None:
    """Print a value as JSON: for people on a terminal, else in one line."""
    import json

    text = json.dumps(value, ensure_ascii=False, indent=2 if is_terminal() else None)
    sys.stdout.write(text + "\n")  # JSON escapes control characters itself


def print_rich(*renderables: RenderableType) -> None:
    """Print on a terminal."""
    console = rich_console()
    for each in renderables:
        console.print(each)


def rich_console(*, stderr: bool = False) -> Console:
    """A console that takes text as it is: no markup, no emoji names, no guesses at numbers and paths."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)


def print_table(columns: Sequence[str], rows: Iterable[Iterable[str]], *, is_cut: bool = False) -> None:
    """Print a table on a terminal, nothing if it would be empty. `is_cut`: rows are lines, last cells cut to fit."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        is_last = is_cut and column == columns[-1]
        table.add_column(column, overflow="ellipsis" if is_last else "fold", no_wrap=is_last)
    for row in rows:
        table.add_row(*(Text(printable(cell), style=STYLES.get(cell, "")) for cell in row))
    if table.row_count:
        print_rich(table)


STYLES: Final = {
    "ok": "green",
    "broken": "bold yellow",
    "backoff": "bold red",
    "failed": "bold red",
    "checking": "cyan",
    "disabled": "dim",
}
"""How the states of modules look; the words say the same without color."""
