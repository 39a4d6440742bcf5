"""How a request that is being served reaches its client before its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mcppd.core.calls import Ask, Log, Progress
from mcppd.core.effects import CallTool, GetPrompt, Ticket, Work
from mcppd.core.session import Session
from mcppd.core.values import value


@value
class Callbacks:
    """What a call may say to its client and ask of it; goes into its CallContext as it is.

    `log` takes a level and the JSON of the data; what is less severe than `log_level` would not be sent, and None
    means that nothing would be. `ask` puts questions ({"kind", "said"}) and gives their answers in order; it raises
    ToolError, MissingCapabilityError, InputRequiredError.
    """

    progress: Progress | None = None
    log: Callable[[str, bytes], None] | None = None
    log_level: str | None = None
    ask: Callable[[Sequence[Mapping[str, Any]]], Awaitable[list[Any]]] | None = None


def callbacks_of(effect: Work, session: Session, send: Callable[[bytes], None], ask: Ask | None) -> Callbacks:
    """How a request reaches its client while it is served."""
    ticket = effect.ticket
    level = session.speech.wants_log(ticket)
    return Callbacks(
        progress=None if ticket.progress_token is None else _progress_of(ticket, session, send),
        log=None if level is None else _log_of(effect, session, send),
        log_level=level,
        ask=ask,
    )


def _progress_of(ticket: Ticket, session: Session, send: Callable[[bytes], None]) -> Progress:
    def report(progress: float, total: float | None, message: str | None) -> None:
        line = session.speech.progress(ticket, progress, total, message)
        if line is not None:
            send(line)

    return report


def _log_of(effect: Work, session: Session, send: Callable[[bytes], None]) -> Log:
    logger_name = effect.name if isinstance(effect, CallTool | GetPrompt) else None

    def log(level: str, data: bytes) -> None:
        line = session.speech.log(effect.ticket, level, logger_name, data)
        if line is not None:
            send(line)

    return log
