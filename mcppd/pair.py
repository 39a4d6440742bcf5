"""A pair of sockets in the place of the daemon's: the way of an agent's own copy to what serves it.

Used from two threads: one attempts, the other opens and closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import queue
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any, Final

from mcppd.transport.link import Link
from mcppd.transport.unix import adopt

PAUSE: Final = 0.005
"""Seconds between two attempts while the first load is under way, which takes about 100 ms."""
LONG_PAUSE: Final = 1.0
"""Seconds between two attempts where there is nobody to serve: a registry has to be repaired first."""
ENDING: Final = "this copy of mcppd is ending"

Accept = Callable[[], Link[Any]]
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Pair:
    """What Traffic asks for a connection."""

    def __init__(self) -> None:
        self.may_launch = True
        self.is_hopeless = False
        self.is_confined = False
        self.is_steady = True
        self.has_failed = False
        """There is nobody to serve, and the agent is told why."""
        self.when_over: Callable[[], object] = lambda: None
        """Called on the agent's side when there will never be another connection."""
        self._why = ""
        self._lost = time.monotonic()
        self._ends: queue.SimpleQueue[socket.socket] = queue.SimpleQueue()
        self._ask: Callable[[], object] | None = None
        self._is_asked = False
        self._is_closed = False

    # the side that serves

    def open(self, loop: asyncio.AbstractEventLoop, accept: Accept, spawn: Spawn) -> None:
        """Serve every connection that is asked for."""

        def connect() -> None:
            if self._is_closed:
                return
            ours, theirs = socket.socketpair()
            for end in (ours, theirs):
                end.setblocking(False)
            spawn(adopt(ours, accept))
            self._ends.put(theirs)

        self._ask = lambda: loop.call_soon_threadsafe(connect)

    def fail(self, why: str) -> bool:
        """There is nobody to serve, and why; whether that is news."""
        is_news = why != self._why
        self._why = why
        self.has_failed = self.is_hopeless = True
        return is_news

    def mend(self) -> None:
        """There will be somebody."""
        self._why = ""
        self.has_failed = self.is_hopeless = False

    def close(self) -> None:
        """There is nobody any more, and never will be."""
        self._is_closed = self.is_hopeless = True
        self._why = ENDING

    # the agent's side

    @property
    def seconds(self) -> float:
        """How long there has been no connection."""
        return time.monotonic() - self._lost

    def attempt(self) -> socket.socket | None:
        """A connection, non-blocking; None if there is none now."""
        with contextlib.suppress(queue.Empty):
            end = self._ends.get_nowait()
            self._is_asked = False
            return end
        if self._is_closed:
            self.when_over()
        elif self._ask is not None and not self._is_asked:
            self._is_asked = True
            with contextlib.suppress(RuntimeError):  # the loop has ended
                self._ask()
        return None

    def pause(self) -> float:
        """Seconds until the next attempt."""
        return LONG_PAUSE if self.is_hopeless else PAUSE

    def lost(self, *, has_served: bool) -> None:
        """The connection has ended."""
        self._lost = time.monotonic()
        if self._is_closed:
            self.when_over()

    def refused(self, why: bytes) -> None:
        """Who serves doesn't want this agent, and says why in a JSON text without its quotes."""
        self.fail(str(json.loads(b'"%b"' % why)))

    def explain(self) -> str:
        """Why there is nobody to serve, in one line."""
        return " ".join(self._why.split())
