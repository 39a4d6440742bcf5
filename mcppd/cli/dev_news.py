"""What a view is told beside events, the log's warnings; and how both are said in words."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from mcppd.cli.output import printable
from mcppd.core.events import SHORTEST_WAIT, CallEnded, Event


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning or an error of the daemon's own log."""

    level: str
    text: str


News: TypeAlias = Event | Warned


OF_REGISTRY: Final = "mcppd.registry"
"""The logger of what is wrong with the registry, which a view shows as long as it lasts."""


class Warnings(logging.Handler):
    """Hands the warnings and errors of the log to a view; to stderr while the view doesn't take them."""

    def __init__(self, take: Callable[[Warned], bool]) -> None:
        super().__init__(logging.WARNING)
        self._take = take

    def emit(self, record: logging.LogRecord) -> None:
        """Hand one over, without its traceback: that is in the log's file."""
        if record.name == OF_REGISTRY:
            return
        text = record.getMessage()
        level = record.levelname.lower()
        if not self._take(Warned(level, text)):
            sys.stderr.write(f"{clock()} {record.levelname[0]} {printable(text)}\n")


def clock() -> str:
    """The time of day."""
    return time.strftime("%H:%M:%S")


def took(seconds: float) -> str:
    """A duration as calls and reloads have it."""
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def waited_words(call: CallEnded) -> str:
    """How long a call waited for a worker, if that was any time."""
    return f"waited {took(call.waited)}" if call.waited >= SHORTEST_WAIT else ""


def error_lines(text: str) -> list[str]:
    """What a person needs of what a failed call was told: what is wrong, and the innermost line of their code.

    A traceback comes as one headline, then its frames, indented, the innermost last; other exceptions follow.
    """
    lines = text.strip().splitlines()
    frames: list[str] = []
    for line in lines[1:]:
        if not line.startswith("  "):
            break
        frames.append(line.strip())
    return [*lines[:1], *frames[-1:]]


def one_line(text: str) -> str:
    """Text of others as one line that steers no terminal."""
    return printable(" ".join(text.split()))
