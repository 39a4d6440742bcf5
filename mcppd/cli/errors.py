"""The one exception of the command line."""

from __future__ import annotations

from collections.abc import Sequence


class CommandError(Exception):
    """A command can't do what it was asked; ends as lines on stderr and an exit status.

    Status 1: it was tried and failed. 2: wrong use, or no daemon. `quoted` are lines of somebody else.
    """

    def __init__(self, *lines: str, status: int = 2, quoted: Sequence[str] = ()) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.status = status
        self.quoted = quoted
