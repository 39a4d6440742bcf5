"""What a call says to its client unasked: progress and log messages, no more of them than anybody can follow."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from typing import Any, Final

from .rates import Rate
from .values import UnsendableError, a_type, clean, encode, plain, type_name
from .wire import MAX_FRAME, FrameTooLongError, Wire

PROGRESS_INTERVAL: Final = 0.05
"""Seconds between two reports of progress in the long run: as fast as an eye can follow, no flood for an agent."""
PROGRESS_BURST: Final = 20
"""Reports that may come at once, so that a few quick steps are all seen when they happen."""
LOG_INTERVAL: Final = 0.02
"""Seconds between two log messages in the long run: more than a person reads, and nothing that a daemon feels."""
LOG_BURST: Final = 200
"""Log messages that may come at once: what a tool tells about one call."""

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""MCP's levels of log messages, the least severe first (RFC 5424)."""
_OTHER_LEVELS: Final = {"warn": "warning", "fatal": "critical"}


class Speech:
    """What one call says; its owner sees to it that nothing is said at the wrong time."""

    def __init__(self, wire: Wire, number: int, *, wants_progress: bool, log_level: str | None) -> None:
        self._wire = wire
        self._number = number
        self._wants_progress = wants_progress
        self._least = LEVELS.index(log_level) if log_level in LEVELS else len(LEVELS)
        self._unsent: dict[str, Any] | None = None  # the latest progress, if it came too soon
        self._progress_rate = Rate(PROGRESS_INTERVAL, PROGRESS_BURST)
        self._log_rate = Rate(LOG_INTERVAL, LOG_BURST)
        self._dropped = 0  # log messages that came too soon
        self._worst = 0  # the most severe level of them

    def report(self, progress: Any, total: Any, message: Any) -> None:
        """Say how far the call is, or keep it until there has been a pause. Raises TypeError."""
        done, whole = _number(progress, "progress"), None if total is None else _number(total, "total")
        if done is None or not self._wants_progress:
            return
        text = None if message is None else clean(str(message))
        frame = {"op": "progress", "id": self._number, "progress": done, "total": whole, "message": text}
        self._unsent = frame
        now = time.monotonic()
        if not self._progress_rate.wait(now):
            self._progress_rate.spend(now, len(text or ""))
            self._send_progress()

    def wants(self, level: Any) -> int | None:
        """The place of a level among LEVELS; None if nobody wants messages of it."""
        name = str(level).lower()
        name = _OTHER_LEVELS.get(name, name)
        severity = LEVELS.index(name if name in LEVELS else "info")
        return severity if severity >= self._least else None

    def log(self, severity: int, data: Any) -> None:
        """Send a log message of a level that is wanted, or count it if there have been too many."""
        now = time.monotonic()
        if self._log_rate.wait(now):
            self._dropped += 1
            self._worst = max(self._worst, severity)
            return
        text = encode(_loggable(data))
        self._log_rate.spend(now, len(text))
        self._send_log(severity, text)

    def finish(self) -> None:
        """Send the latest progress, and how much was left out."""
        if self._unsent is not None:
            with contextlib.suppress(ValueError):  # a report that no frame can hold
                self._send_progress()
        if self._dropped:
            left_out, self._dropped = self._dropped, 0
            text = (
                f"{left_out} log messages of this call were left out: more than {1 / LOG_INTERVAL:g} a second"
            )
            self._send_log(self._worst, encode(text))

    def _send_progress(self) -> None:
        unsent, self._unsent = self._unsent, None
        if unsent is not None:
            self._send(unsent)

    def _send_log(self, severity: int, text: bytes) -> None:
        self._send({"op": "log", "id": self._number, "level": LEVELS[severity]}, text)

    def _send(self, frame: Mapping[str, Any], blob: bytes = b"") -> None:
        try:
            self._wire.send(frame, blob)
        except FrameTooLongError:
            raise ValueError(f"{frame['op']}: more than the limit of {MAX_FRAME} bytes") from None


def _loggable(data: Any) -> Any:
    try:
        return plain(data)
    except UnsendableError as error:
        return f"({a_type(data)} that can't be logged: {error.at('data')})"


def _number(value: Any, name: str) -> int | float | None:
    """A number that JSON has; None for infinity and what is no number. Raises TypeError."""
    with contextlib.suppress(UnsendableError):
        value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {type_name(value)}")
    return value
