"""Views: who shows a person what the daemon does."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from mcppd.core.events import Event


class View(Protocol):
    """Shows a person what happens, in place of log lines on stderr."""

    def attach(self, log: logging.Logger) -> None:
        """Take in what is logged as well, from now on: its warnings and errors are for a person."""

    def tell(self, event: Event) -> None:
        """Take in what happened; on the event loop, so it neither waits nor fails."""

    async def show(self, status: Callable[[], Mapping[str, Any]]) -> None:
        """Show it, and what `status` says, until cancelled; where it ends by itself, the daemon stops."""
