"""Faults: what is wrong with something a person wrote, as data that can be shown anywhere."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing found wrong: what, where, and (inside the message) what to do about it."""

    message: str
    file: str | None = None
    line: int | None = None  # counted from 1
    column: int | None = None  # counted from 1
    source: str | None = None  # the text of the line, where it is known
    is_passing: bool = False  # nothing in a file is to blame for it, so it may be gone the next time

    @property
    def place(self) -> str:
        """`file:line:column`, as far as it is known; empty where nothing is."""
        parts = [self.file, self.line, self.column]
        known = [str(part) for part in parts if part is not None]
        return ":".join(known)

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message
