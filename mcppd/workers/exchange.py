"""An exchange: one request to a worker, from its sending to its answer, and the time that it has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from mcppd.core.values import value


@value
class Answer:
    """A worker's answer to one request: the header and the bytes that came with it."""

    header: Mapping[str, Any]
    blob: bytes


class Clock:
    """The time that a call has; it can stand still."""

    __slots__ = ("_deadline", "_expire", "_left", "_loop", "_timer")

    def __init__(self, limit: float, expire: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._expire = expire
        self._left = limit  # seconds, while it stands still
        self.go_on()

    def go_on(self) -> None:
        """Let it run."""
        self._deadline = self._loop.time() + self._left
        self._timer = self._loop.call_at(self._deadline, self._expire)

    def stand_still(self) -> None:
        """Stop it, for a while or for good."""
        self._timer.cancel()
        self._left = max(0.0, self._deadline - self._loop.time())


class Exchange:
    """Two wait for the answer: whoever asked, till they give up, and who looks after the worker, till it is free."""

    __slots__ = ("_asker", "_clock", "_reply", "is_last")

    def __init__(self, limit: float | None) -> None:
        """`limit` is how many seconds whoever asked waits; None: for as long as it takes."""
        loop = asyncio.get_running_loop()
        self._reply: asyncio.Future[Answer] = loop.create_future()
        self._asker: asyncio.Future[Answer] = loop.create_future()
        self._clock = Clock(limit, self._expired) if limit is not None else None
        self.is_last = True  # nothing was sent to the worker after it

    @property
    def is_running(self) -> bool:
        """Whether there is no answer yet."""
        return not self._reply.done()

    async def answer(self) -> Answer:
        """For whoever asked. Raises what the worker ended by, or why it was given up; TimeoutError at its limit."""
        try:
            return await self._asker
        finally:
            if self._clock is not None:
                self._clock.stand_still()
                self._clock = None

    async def over(self) -> None:
        """Wait until the worker has answered, though nobody may want that any more. Raises what it ended by."""
        await asyncio.shield(self._reply)

    def settle(self, answer: Answer) -> None:
        """The answer came."""
        for waiting in (self._reply, self._asker):
            if not waiting.done():
                waiting.set_result(answer)

    def fail(self, error: Exception) -> None:
        """There will be none: the worker ended."""
        for waiting in (self._reply, self._asker):
            if not waiting.done():
                waiting.set_exception(error)
                waiting.exception()  # nobody may be waiting any more

    def give_up(self, why: Exception) -> None:
        """Let whoever asked know at once that there will be none for them."""
        if not self._asker.done():
            self._asker.set_exception(why)

    def pause(self, *, paused: bool) -> None:
        """Let its time stand still, or go on."""
        if self._clock is not None:
            if paused:
                self._clock.stand_still()
            else:
                self._clock.go_on()

    def _expired(self) -> None:
        self.give_up(TimeoutError())
