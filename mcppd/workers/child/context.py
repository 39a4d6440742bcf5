"""One call as its tool sees it: the `context` that says where it runs, and lets it speak meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .asking import Questions
from .speaking import Speech
from .updates import Updates
from .wire import Wire


class Call:
    """What one call may say and hear while it runs; after its result it is silent."""

    def __init__(
        self,
        wire: Wire,
        updates: Updates,
        number: int,
        *,
        wants_progress: bool = False,
        log_level: str | None = None,
    ) -> None:
        self.number = number
        self.loop: Any = None  # the event loop that runs the call, for an `async` tool
        self._wire = wire
        self._updates = updates
        self._speech = Speech(wire, number, wants_progress=wants_progress, log_level=log_level)
        self._questions = Questions(wire, number, self)
        self._open = True
        self._given_up = False
        self._on_cancel: Callable[[], object] | None = None

    @property
    def was_given_up(self) -> bool:
        """Whether nobody waits for its result any more: it was cancelled, or ends at a question."""
        return self._given_up

    def fileno(self) -> int:
        """The wire's descriptor, for an event loop to watch."""
        return self._wire.fileno()

    def context(self, told: Mapping[str, Any]) -> dict[str, Any]:
        """The third argument of `execute`."""
        return dict(told) | {
            "report_progress": self.report_progress,
            "log": self.log,
            "cancelled": self.cancelled,
            "resource_updated": self._updates.tell,
            "elicit": self._questions.elicit,
            "sample": self._questions.sample,
            "roots": self._questions.roots,
            "ask_all": self._questions.ask_all,
        }

    def report_progress(self, progress: Any, total: Any = None, message: Any = None) -> None:
        """Tell whoever waits how far the call is; the number has to grow from one report to the next."""
        with self._wire.speaking:
            if self._open:
                self._speech.report(progress, total, message)

    def log(self, level: Any, data: Any) -> None:
        """Send a log message to whoever wants it; the levels are those of syslog."""
        severity = self._speech.wants(level)
        if severity is None:
            return
        with self._wire.speaking:
            if self._open:
                self._speech.log(severity, data)

    def cancelled(self) -> bool:
        """Whether the caller doesn't want the result any more."""
        self.poll()
        return self._given_up

    def on_cancel(self, action: Callable[[], object] | None) -> None:
        """What to do once when a cancellation arrives, or at once if it has."""
        self._on_cancel = action
        if action is not None and self._given_up:
            action()

    def poll(self) -> None:
        """Take in what has arrived for this call; the end of the wire is a cancellation too."""
        with self._wire.speaking:
            if not self._open or self._given_up:
                return  # what comes after the result is the main loop's, whatever thread asks
            self._wire.poll()
            is_over = self._take_in()
        if is_over and self._on_cancel is not None:
            self._on_cancel()

    def finish(self, head: Mapping[str, Any], blob: bytes) -> None:
        """Send the result; what was held back goes before it, and nothing after it."""
        with self._wire.speaking:
            self._updates.flush()
            self._speech.finish()
            self._questions.finish()
            self._open = False
            self._wire.answer({"op": "result", "id": self.number, **head}, blob)

    def _take_in(self) -> bool:
        """Take what is for this call off the wire; whether it is given up by that."""
        is_over = self._wire.ended
        for head in self._wire.take(self.number):
            if head["op"] == "cancel":
                is_over = True
            else:
                self._questions.settle(head)
        if is_over:
            self._given_up = True
            self._questions.stop()
        return is_over
