"""An exchange: one request to a worker, from its sending to its answer; and the time that a call has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcppd.core.values import value

EARLY: Final = 0.001
"""Seconds that a timer may ring before its time: uvloop counts in milliseconds."""


@value
class Answer:
    """A worker's answer to one request: the header and the bytes that came with it."""

    header: Mapping[str, Any]
    blob: bytes


class Clock:
    """The time that the call of a worker has; it can stand still.

    To set a timer and cancel it takes longer than all else here, so it is left from call to call, and set anew where
    it rings too early.
    """

    __slots__ = ("_deadline", "_expire", "_left", "_timer")

    def __init__(self, expire: Callable[[], None]) -> None:
        self._expire = expire
        self._left: float | None = None  # seconds, while it stands still
        self._deadline: float | None = None  # while it runs
        self._timer: asyncio.TimerHandle | None = None

    def start(self, limit: float | None) -> None:
        """A call begins, which has so many seconds; None: as many as it takes."""
        self._left, self._deadline = limit, None
        self.go_on()

    def go_on(self) -> None:
        """Let it run, if a call with a limit stands still."""
        if self._left is not None:
            self._deadline = asyncio.get_running_loop().time() + self._left
            self._left = None
            self._set(self._deadline)

    def stand_still(self) -> None:
        """Stop it for a while."""
        if self._deadline is not None:
            self._left = max(0.0, self._deadline - asyncio.get_running_loop().time())
            self._deadline = None

    def stop(self) -> None:
        """The call is over."""
        self._left = self._deadline = None

    def close(self) -> None:
        """There will be no other."""
        self.stop()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, deadline: float) -> None:
        """Have it ring at the deadline, or before."""
        if self._timer is not None and self._timer.when() > deadline:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._deadline is None:
            return
        if self._deadline - asyncio.get_running_loop().time() > EARLY:
            self._set(self._deadline)
        else:
            self.stop()
            self._expire()


class Exchange:
    """Two wait for the answer: whoever asked, till they give up, and who looks after the worker, till it is free."""

    __slots__ = ("_asker", "_reply", "is_last")

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self._reply: asyncio.Future[Answer] = loop.create_future()
        self._asker: asyncio.Future[Answer] = loop.create_future()
        self.is_last = True  # nothing was sent to the worker after it

    @property
    def is_running(self) -> bool:
        """Whether there is no answer yet."""
        return not self._reply.done()

    async def answer(self) -> Answer:
        """For whoever asked. Raises what the worker ended by, or why it was given up."""
        return await self._asker

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
