"""One call as its tool sees it: the `context` that says where it runs, and lets it speak meanwhile."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from .values import UnsendableError, clean, plain, type_name
from .wire import MAX_FRAME, FrameTooLongError, Wire

PROGRESS_INTERVAL: Final = 0.05
"""Seconds between two reports of progress in the long run: as fast as an eye can follow, no flood for an agent."""
PROGRESS_BURST: Final = 20
"""Reports that may come at once, so that a few quick steps are all seen when they happen."""

_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
_OTHER_LEVELS: Final = {"warn": "warning", "fatal": "critical"}


class Call:
    """What one call may say while it runs; after its result it is silent."""

    def __init__(self, wire: Wire, number: int, *, wants_progress: bool) -> None:
        self.number = number
        self._wire = wire
        self._wants_progress = wants_progress
        self._lock = threading.RLock()  # a signal handler of a tool's may report while its tool does
        self._open = True
        self._cancelled = False
        self._on_cancel: Callable[[], object] | None = None
        self._unsent: dict[str, Any] | None = None  # the latest progress, if it came too soon
        self._next = -math.inf  # when a report may be sent if all come at the interval

    @property
    def was_cancelled(self) -> bool:
        """Whether a cancellation has been read."""
        return self._cancelled

    def fileno(self) -> int:
        """The wire's descriptor, for an event loop to watch."""
        return self._wire.fileno()

    def context(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """The third argument of `execute`."""
        return dict(told) | {
            "report_progress": self.report_progress,
            "log": self.log,
            "cancelled": self.cancelled,
            "resource_updated": self.resource_updated,
        }

    def report_progress(self, progress: Any, total: Any = None, message: Any = None) -> None:
        """Tell whoever waits how far the call is; the number has to grow from one report to the next."""
        done, whole = _number(progress, "progress"), None if total is None else _number(total, "total")
        if done is None or not self._wants_progress:
            return
        with self._lock:
            text = None if message is None else clean(str(message))
            self._unsent = {
                "op": "progress",
                "id": self.number,
                "progress": done,
                "total": whole,
                "message": text,
            }
            now = time.monotonic()
            if self._next <= now + PROGRESS_BURST * PROGRESS_INTERVAL:
                self._next = max(self._next, now) + PROGRESS_INTERVAL
                self._send_progress()

    def log(self, level: Any, data: Any) -> None:
        """Send a log message to the client, if it wants any; the levels are those of syslog."""
        try:
            value = plain(data)
        except UnsendableError as error:
            value = f"(a {type_name(data)} that can't be logged: {error.at('data')})"
        name = str(level).lower()
        name = _OTHER_LEVELS.get(name, name)
        frame = {"op": "log", "id": self.number, "level": name if name in _LEVELS else "info", "data": value}
        with self._lock:
            if self._open:
                self._send_bounded(frame)

    def cancelled(self) -> bool:
        """Whether the caller doesn't want the result any more."""
        self.poll()
        return self._cancelled

    def resource_updated(self, uri: Any) -> None:
        """Tell who subscribed to a resource that it changed."""
        self._wire.send({"op": "updated", "uri": clean(str(uri))})

    def on_cancel(self, action: Callable[[], object] | None) -> None:
        """What to do once when a cancellation arrives, or at once if it has."""
        self._on_cancel = action
        if action is not None and self._cancelled:
            action()

    def poll(self) -> None:
        """Take in a cancellation that has arrived; the end of the wire is one too."""
        with self._lock:
            if not self._open or self._cancelled:
                return  # what comes after the result is the main loop's, whatever thread asks
            self._wire.poll()
            self._cancelled = self._wire.take_cancel(self.number) or self._wire.ended
        if self._cancelled and self._on_cancel is not None:
            self._on_cancel()

    def finish(self, head: Mapping[str, Any], blob: bytes) -> None:
        """Send the result; the latest progress goes before it, and nothing after it."""
        with self._lock:
            self._send_progress()
            self._open = False
            self._wire.answer({"op": "result", "id": self.number, **head}, blob)

    def _send_progress(self) -> None:
        unsent, self._unsent = self._unsent, None
        if self._open and unsent is not None:
            self._send_bounded(unsent)

    def _send_bounded(self, frame: Mapping[str, Any]) -> None:
        try:
            self._wire.send(frame)
        except FrameTooLongError:
            raise ValueError(f"{frame['op']}: more than the limit of {MAX_FRAME} bytes") from None


def _number(value: Any, name: str) -> int | float | None:
    """A number that JSON has; None for infinity and what is no number. Raises TypeError."""
    with contextlib.suppress(UnsendableError):
        value = plain(value)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number, not {type_name(value)}")
    return value
