"""The daemon's log: lines on stderr, or a capped file when it runs in the background."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler
from typing import Final

from mcppd.core.events import (
    SHORTEST_WAIT,
    CallEnded,
    Event,
    Reloaded,
    SessionEnded,
    SessionStarted,
    Stopping,
)

logger = logging.getLogger("mcppd")

LEVELS: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}
CAP: Final = 2 * 1024 * 1024
"""Bytes of the log file before it is put aside; one older file is kept."""
LINES: Final = 16
"""Between two looks at how full it is: a few kilobytes."""


PRIORITIES: Final = {
    logging.DEBUG: 7,
    logging.INFO: 6,
    logging.WARNING: 4,
    logging.ERROR: 3,
    logging.CRITICAL: 2,
}
"""The journal's priorities (sd-daemon(3))."""


class LineFormatter(logging.Formatter):
    """A line with the time of day, which is written out once for all lines of a second, and the level's letter."""

    _second = -1
    _shown = ""

    def __init__(self) -> None:
        super().__init__(datefmt="%H:%M:%S")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:  # noqa: N802 - logging's name
        if int(record.created) != self._second:
            self._second, self._shown = int(record.created), super().formatTime(record, datefmt)
        return self._shown

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        return f"{self.formatTime(record, self.datefmt)} {record.levelname[0]} {record.message}"


class JournalFormatter(logging.Formatter):
    """Each line with its priority before it, as the journal reads stderr; it has a clock of its own."""

    def format(self, record: logging.LogRecord) -> str:
        prefix = f"<{PRIORITIES.get(record.levelno, 6)}>"
        return "\n".join(prefix + line for line in super().format(record).splitlines() or [""])


class CappedFile(RotatingFileHandler):
    """A file that is put aside when it is full; how full is asked of the file, now and then, not of each line."""

    _unasked = 0  # lines since it was asked

    def shouldRollover(self, record: logging.LogRecord) -> bool:  # noqa: N802 - logging's name
        if self.stream is None:  # it could not be opened the last time
            self.stream = self._open()
        self._unasked += 1
        if self._unasked < LINES:
            return False
        self._unasked = 0
        return os.fstat(self.stream.fileno()).st_size >= self.maxBytes


def set_up(path: str | None, level: str | None, *, is_journal: bool = False) -> None:
    """Log to a file, or to stderr without one; `level` is MCPP_LOG_LEVEL, "info" if it says nothing usable."""
    handler: logging.Handler
    if path is None:
        handler = logging.StreamHandler()
    else:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        handler = CappedFile(path, maxBytes=CAP, backupCount=1, encoding="utf-8", errors="backslashreplace")
    # what no line of ours shows needn't be found out for each call (logging, "Optimization")
    for switch in ("logThreads", "logProcesses", "logMultiprocessing", "logAsyncioTasks", "_srcfile"):
        setattr(logging, switch, None)
    if is_journal and path is None:
        handler.setFormatter(JournalFormatter())
    else:
        handler.setFormatter(LineFormatter())
    logger.handlers[:] = [handler]
    logger.setLevel(LEVELS.get((level or "").strip().lower(), logging.INFO))
    logger.propagate = False


def log_event(event: Event) -> None:
    """One line for each call and each reload; never a call's arguments or its result."""
    match event:
        case CallEnded(agent, tool, _, outcome):
            waited = f", waited {event.waited * 1000:.1f} ms" if event.waited >= SHORTEST_WAIT else ""
            logger.info("call: %s by %s: %s (%.1f ms%s)", tool, agent, outcome, event.ran * 1000, waited)
        case Reloaded(report):
            logger.info("reload: %s", report)
        case SessionStarted(agent, workspace):
            logger.debug("session: %s came, workspace %s", agent, workspace)
        case SessionEnded(agent, calls, seconds):
            logger.debug("session: %s went after %.1f s and %d calls", agent, seconds, calls)
        case Stopping():
            logger.info("mcppd is stopping")
