"""The queue of one generation: calls that wait for a worker, served session by session, and bounded (D3)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

from mcppd.core.errors import ToolError
from mcppd.workers.worker import Worker

QUEUE_LIMIT: Final = 256
"""Calls that may wait for one generation where neither file says; more would wait for minutes."""
WAIT_LIMIT: Final = 120.0
"""Seconds a call may wait for a worker: longer than any client waits for an answer."""

Waiter: TypeAlias = "asyncio.Future[Worker | None]"
"""Gets a worker, or None for the leave to make one."""


class Queue:
    """Calls by session; the session whose turn it was goes to the end of the line."""

    def __init__(self, limit: int | None) -> None:
        self.limit = QUEUE_LIMIT if limit is None else limit
        self._waiting: dict[str, deque[Waiter]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def join(self, session: str) -> Waiter | None:
        """The place of another call; None where there is none.

        In a full queue the session with the most calls gives up its last one to a session that has fewer, so that
        nobody keeps the others out.
        """
        if len(self) >= self.limit and not self._displace_for(session):
            return None
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(session, deque()).append(waiter)
        return waiter

    def leave(self, session: str, waiter: Waiter) -> None:
        """A call doesn't wait any more."""
        queue = self._waiting.get(session)
        if queue is not None and waiter in queue:
            queue.remove(waiter)
            if not queue:
                del self._waiting[session]

    def next(self) -> Waiter | None:
        """The first call of the session whose turn it is, taken out."""
        for session in list(self._waiting):
            queue = self._waiting.pop(session)
            while queue:
                waiter = queue.popleft()
                if not waiter.done():
                    if queue:
                        self._waiting[session] = queue
                    return waiter
        return None

    def refuse(self, error: Callable[[], Exception]) -> None:
        """Nobody gets anything any more."""
        while (waiter := self.next()) is not None:
            waiter.set_exception(error())

    def _displace_for(self, session: str) -> bool:
        """Make a place for a call of a session, if another has taken more than it would then have."""
        if not self._waiting:
            return False
        greedy = max(self._waiting, key=lambda each: len(self._waiting[each]))
        queue = self._waiting[greedy]
        if len(queue) <= len(self._waiting.get(session, ())) + 1:
            return False
        waiter = queue.pop()
        if not waiter.done():
            waiter.set_exception(ToolError(displaced_text(len(queue) + 1, self.limit)))
        return True


def busy_text(module: str, queue: Queue, workers: int) -> str:
    """What a call is told that may not even wait."""
    waiting = (
        f"{len(queue)} calls wait for its {workers} workers already, which is its limit"
        if queue.limit
        else f"none of its {workers} workers is free, and none of its calls may wait"
    )
    return (
        f"Error: module {module!r} is busy: {waiting}. The call has not begun; try again later. "
        "The limits are `queue` and `workers` of the module in tools.yaml or tool.yaml."
    )


def displaced_text(waiting: int, limit: int) -> str:
    """What a call is told that gave up its place."""
    return (
        f"Error: the module is busy: of {limit} calls that may wait for it, {waiting} were of this agent, and another "
        "agent needed a place. The call has not begun; try again later. "
        "The limits are `queue` and `workers` of the module in tools.yaml or tool.yaml."
    )


def waited_text(module: str, workers: int) -> str:
    """What a call is told that has waited for too long."""
    return (
        f"Error: module {module!r} is busy: none of its {workers} workers was free for {WAIT_LIMIT:g} s. "
        "The call has not begun. How many there may be is `workers` of the module in tools.yaml or tool.yaml."
    )
