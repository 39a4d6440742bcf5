"""What a client is told beside answers: the progress of its requests, and log messages."""

from __future__ import annotations

from math import isfinite
from typing import Any

from mcppd.core.effects import Ticket
from mcppd.core.eras import REVISIONS
from mcppd.core.eras_results import one_line
from mcppd.core.jsonrpc import encode_id, encode_notification, encode_value
from mcppd.core.log_levels import DEFAULT_LEVEL, is_due
from mcppd.core.tickets import Tickets


class Speech:
    """Words of one session: only of requests that are open, and only where the client wants them."""

    __slots__ = ("_level", "_tickets", "_wants_news", "is_initialized")

    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets
        self.forget()

    def forget(self) -> None:
        """A new handshake: nothing is logged for legacy requests before its `notifications/initialized`."""
        self.is_initialized = False
        self._level = DEFAULT_LEVEL  # of legacy requests; modern ones say it each
        self._wants_news = False  # it asked for log messages: also for those that belong to no request

    def set_level(self, level: str) -> None:
        """The client asked for log messages of this level and worse."""
        self._level = level
        self._wants_news = True

    def progress(
        self, ticket: Ticket, progress: float, total: float | None = None, message: str | None = None
    ) -> bytes | None:
        """The progress notification of a ticket, if one was asked for and it says more than the last."""
        token = ticket.progress_token
        if token is None or not self._tickets.is_open(ticket) or not _is_number(progress):
            return None
        if ticket.progress is not None and progress <= ticket.progress:
            return None
        ticket.progress = progress
        params = b'{"progressToken":%b,"progress":%b' % (encode_id(token), encode_value(progress))
        if total is not None and _is_number(total):
            params += b',"total":' + encode_value(total)
        if isinstance(message, str) and REVISIONS[ticket.revision].knows("progress", "message"):
            params += b',"message":' + encode_value(message)
        return encode_notification("notifications/progress", params + b"}") + b"\n"

    def wants_log(self, ticket: Ticket) -> str | None:
        """The least severe level of which messages are sent for a ticket, None if none are."""
        if not self._tickets.is_open(ticket):
            return None
        if ticket.modern:
            return ticket.log_level
        return self._level if self.is_initialized else None

    def log(self, ticket: Ticket, level: str, logger: str | None, data: bytes) -> bytes | None:
        """The log message of a ticket, of data that is JSON already, if the client wants to have it."""
        return _log_line(level, logger, data) if is_due(level, self.wants_log(ticket)) else None

    def log_news(self, level: str, logger: str, text: str) -> list[bytes]:
        """The log message of something that belongs to no request, for a legacy client that asked for a level."""
        is_wanted = self.is_initialized and self._wants_news and is_due(level, self._level)
        return [_log_line(level, logger, encode_value(text))] if is_wanted else []


def _log_line(level: str, logger: str | None, data: bytes) -> bytes:
    named = b"" if logger is None else b',"logger":' + encode_value(logger)
    params = b'{"level":%b%b,"data":%b}' % (encode_value(level), named, one_line(data))
    return encode_notification("notifications/message", params) + b"\n"


def _is_number(value: Any) -> bool:
    """Whether JSON has this as a number; an integer may be of any size."""
    return type(value) is int or (type(value) is float and isfinite(value))
