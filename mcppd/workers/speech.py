"""What tools say with context["log"]: to the daemon's own log, and to the client that wants it."""

from __future__ import annotations

import logging
from typing import Any, Final

import orjson

from mcppd.core.calls import CallContext, without
from mcppd.core.log_levels import LEVELS, is_due
from mcppd.core.modules import Module

logger = logging.getLogger("mcppd.workers")

SEVERITIES: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}
"""MCP's levels of log messages (RFC 5424) as Python's."""

_NAMES: Final = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
    logging.CRITICAL: "critical",
}


def wanted_level(module: Module, context: CallContext) -> str | None:
    """The least severe level of a call's log messages that anybody wants: what is below it costs nothing."""
    ours, theirs = _NAMES.get(_own_level(module, context), "debug"), context.log_level
    return ours if theirs is None or LEVELS.index(ours) < LEVELS.index(theirs) else theirs


def pass_on(module: Module, context: CallContext, level: str, data: bytes) -> None:
    """Take a log message of a call, its data as JSON text; the module's secrets are taken out of it."""
    secrets = context.environment.secrets(module.settings)
    if SEVERITIES[level] >= _own_level(module, context):
        text = without(secrets, f"module {module.name}: {_as_text(data)}")
        logger.handle(logger.makeRecord(logger.name, SEVERITIES[level], "", 0, text, (), None))
    if context.log is not None and is_due(level, context.log_level):
        context.log(level, without(secrets, data.decode()).encode() if secrets else data)


def _own_level(module: Module, context: CallContext) -> int:
    """From which severity on the daemon logs what a call says: as its agent asked for, else as we log (CONTRACT)."""
    asked = context.environment.for_module(module.settings).get("MCPP_LOG_LEVEL", "")
    return SEVERITIES.get(asked.lower(), logger.getEffectiveLevel())


def _as_text(data: bytes) -> Any:
    """A text as it is, anything else as the JSON that it came as."""
    return orjson.loads(data) if data.startswith(b'"') else data.decode()
