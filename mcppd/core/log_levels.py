"""The levels of log messages to clients (RFC 5424), and which are sent where one is asked for."""

from __future__ import annotations

from typing import Final

LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""From the least to the most severe."""

DEFAULT_LEVEL: Final = "info"
"""Of a legacy session that hasn't said; the specification leaves the choice to the server."""


def is_due(level: str, wanted: str | None) -> bool:
    """Whether a message of a level is sent to who wants those of `wanted` and worse; None wants nothing."""
    return wanted is not None and level in LEVELS and LEVELS.index(level) >= LEVELS.index(wanted)
