"""Supervision: what the daemon owes to systemd where systemd has started it, and nothing elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
import time
from collections.abc import Collection, Iterator, MutableMapping
from typing import Final

from mcppd.transport import systemd

logger = logging.getLogger("mcppd")

SHORTEST_FAILURE: Final = 5.0
"""Seconds that a start which fails takes: the unit has it tried again at once and for ever, so that a killed daemon
is back in no time, but a registry with a mistake in it would then be read five times a second."""


class Supervision:
    """Tells systemd how the daemon is. Raises ActivationError if what it passed can't be read."""

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._started = time.monotonic()
        self._passed = systemd.take(environ)

    @property
    def by(self) -> str | None:
        """Who supervises, for the status."""
        return "systemd" if self._passed.notify_address is not None else None

    @property
    def is_journal(self) -> bool:
        """Whether stderr leads to the journal."""
        return self._passed.is_journal

    def sockets(self, paths: Collection[str]) -> dict[str, socket.socket]:
        """The listening sockets that were passed, by their paths; raises ActivationError."""
        return systemd.listeners(self._passed, paths, os.getuid())

    def ready(self, status: str) -> None:
        """The daemon serves, and what; also after a reload."""
        self._tell("READY=1", f"STATUS={status}")

    def show(self, status: str) -> None:
        """Say in a line what is served."""
        self._tell(f"STATUS={status}")

    @contextlib.contextmanager
    def reloading(self) -> Iterator[None]:
        """Say that a reload somebody asked for is under way, and when it is done."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
        try:
            yield
        finally:
            self._tell("READY=1")

    def stopping(self) -> None:
        """The daemon has begun to stop."""
        self._tell("STOPPING=1", "STATUS=stopping: calls that run may end")

    def needs(self, seconds: float) -> None:
        """A start takes this long from now; without a word of it the unit's own limit holds."""
        self._tell(f"EXTEND_TIMEOUT_USEC={int(seconds * 1_000_000)}")

    async def keep_alive(self) -> None:
        """Give a sign of life twice in each of the unit's intervals, as long as the loop turns."""
        if self._passed.watchdog is None:
            return
        while True:
            self._tell("WATCHDOG=1")
            await asyncio.sleep(self._passed.watchdog / 2)

    def fail(self, text: str) -> int:
        """Say on stderr why there is no daemon; the exit status, not sooner than systemd should see it."""
        sys.stderr.write(
            f"{'<3>' if self.is_journal else ''}mcppd: {text}\n"
        )  # <3>: an error, to the journal
        self.hold_back()
        return 1

    def hold_back(self) -> None:
        """Wait before ending a start that failed; at once where nobody starts another, or it had been running."""
        if self.by is not None:
            time.sleep(max(0.0, self._started + SHORTEST_FAILURE - time.monotonic()))

    def _tell(self, *lines: str) -> None:
        if self._passed.notify_address is None:
            return
        try:
            systemd.notify(self._passed.notify_address, *lines)
        except OSError as error:  # the daemon serves whether or not it is heard; the next word is tried again
            logger.warning("systemd didn't hear %s: %s", lines[0], error.strerror)
