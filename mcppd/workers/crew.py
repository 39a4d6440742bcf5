"""A crew: the workers of one generation, and the calls that wait for one of them.

Waiting is fair between sessions and bounded (D3): whoever asks for much waits behind itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from mcppd.core.errors import RetiredError, ToolError
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.modules import Settings
from mcppd.workers.worker import State, Worker

QUEUE_LIMIT: Final = 256
"""Calls that may wait for one generation; more are told that it is busy, since they would wait for minutes."""
WAIT_LIMIT: Final = 120.0
"""Seconds a call may wait for a worker: longer than any client waits for an answer."""


class ImportFailedError(ToolError):
    """The generation can't be imported, so none of its tools can run."""

    def __init__(self, text: str, fault: Fault) -> None:
        super().__init__(text)
        self.fault = fault


class Crew:
    """The workers of one generation."""

    def __init__(
        self, generation: Generation, settings: Settings, hire: Callable[[], Awaitable[Worker]]
    ) -> None:
        self.generation = generation
        self.settings = settings
        self.is_retired = False
        self.is_proven = False  # it has been imported without a fault
        self.is_held = False  # no call begins: the next generation is about to be imported (overlap: false)
        self.workers: list[Worker] = []
        self._hire = hire
        self._hiring = 0
        self._waiting: dict[str, deque[asyncio.Future[Worker | None]]] = {}

    @property
    def _engaged(self) -> int:
        """The workers that count: one whose call waits for its client runs nothing."""
        return self._hiring + sum(not worker.is_asking for worker in self.workers)

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return sum(map(len, self._waiting.values()))

    async def acquire(self, session: str) -> Worker:
        """An imported worker for a call of this session, the one that served it last if that is idle.

        Raises ToolError (busy, can't be made, can't be imported), RetiredError.
        """
        while True:
            if self.is_retired:
                raise RetiredError(self.generation.module)
            worker = self._take_idle(session) or await self._new_or_waited(session)
            if worker is not None:
                worker.last_session = session
                return worker

    def release(self, worker: Worker, now: float) -> None:
        """Give a worker back after its call, dead or alive."""
        if worker.state is State.ENDED:
            self.forget(worker)
            return
        worker.state = State.IDLE
        worker.idle_since = now
        self._wake(worker)

    def forget(self, worker: Worker) -> None:
        """A worker is gone; who waits may make another."""
        if worker in self.workers:
            self.workers.remove(worker)
            self._wake(None)

    def adopt(self, worker: Worker, now: float) -> None:
        """Take in a worker that has imported the generation already."""
        self._take_in(worker)
        self.release(worker, now)

    def retire(self) -> list[Worker]:
        """No call begins here any more; the idle workers, which may go now."""
        self.is_retired = True
        for queue in self._waiting.values():
            for waiter in queue:
                if not waiter.done():
                    waiter.set_exception(RetiredError(self.generation.module))
        self._waiting.clear()
        return [worker for worker in self.workers if worker.state is State.IDLE]

    def let_go(self, oldest: float) -> list[Worker]:
        """The workers that have been idle since before `oldest`; they take no call any more."""
        if self.settings.stateful:
            return []
        idle = [each for each in self.workers if each.state is State.IDLE and each.idle_since < oldest]
        for worker in idle:
            worker.state = State.ENDED  # idle -> ended
        return idle

    def asking(self, worker: Worker) -> None:
        """A worker waits for its client from now on, so there is room for another; or it goes on."""
        if worker.is_asking:
            self._wake(None)

    def spare(self) -> list[Worker]:
        """The idle workers that were only made while others waited for their clients; they take no call any more.

        The ones that were there first stay: a module that keeps state has it in those.
        """
        if len(self.workers) <= self.settings.workers:
            return []
        engaged = [each for each in self.workers if each.state is not State.ENDED and not each.is_asking]
        spare = [each for each in engaged[self.settings.workers :] if each.state is State.IDLE]
        for worker in spare:
            worker.state = State.ENDED  # idle -> ended
        return spare

    def hold(self, *, held: bool) -> None:
        """Let no call begin for a while, or let them go on."""
        self.is_held = held
        if not held:
            self._wake_all()

    def _take_idle(self, session: str) -> Worker | None:
        if self.is_held:
            return None
        idle = [worker for worker in self.workers if worker.state is State.IDLE]
        if not idle:
            return None
        chosen = next((worker for worker in idle if worker.last_session == session), idle[-1])
        chosen.state = State.BUSY  # idle -> busy
        return chosen

    async def _new_or_waited(self, session: str) -> Worker | None:
        if not self.is_held and self._engaged < self.settings.workers:
            return await self._new()
        return await self._wait(session)

    async def _new(self) -> Worker:
        self._hiring += 1
        try:
            worker = await self._hire()
        except BaseException:
            self._hiring -= 1
            self._wake(None)
            raise
        self._hiring -= 1
        self._take_in(worker)
        worker.state = State.BUSY  # idle -> busy
        return worker

    def _take_in(self, worker: Worker) -> None:
        self.is_proven = True
        self.workers.append(worker)
        worker.when_dead(lambda: self.forget(worker))  # idle ones die too, and must not keep their place

    async def _wait(self, session: str) -> Worker | None:
        if self.waiting >= QUEUE_LIMIT:
            raise ToolError(
                f"module {self.generation.module!r} is busy: {self.waiting} calls wait already "
                f"({len(self.workers)} workers run, `workers:` in tools.yaml). Try again later."
            )
        waiter: asyncio.Future[Worker | None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(session, deque())
        queue.append(waiter)
        try:
            async with asyncio.timeout(WAIT_LIMIT):
                return await waiter
        except TimeoutError:
            raise ToolError(
                f"module {self.generation.module!r} is busy: no worker was free for {WAIT_LIMIT:g} s. "
                "The call has not begun."
            ) from None
        except BaseException:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._hand_on(waiter.result())
            raise
        finally:
            self._drop(session, waiter)

    def _hand_on(self, worker: Worker | None) -> None:
        if worker is not None and worker.state is not State.ENDED:
            worker.state = State.IDLE
        self._wake(worker)

    def _drop(self, session: str, waiter: asyncio.Future[Worker | None]) -> None:
        queue = self._waiting.get(session)
        if queue is None:
            return
        if waiter in queue:
            queue.remove(waiter)
        if not queue:
            self._waiting.pop(session, None)

    def _wake(self, worker: Worker | None) -> None:
        """Give a worker, or the chance to make one, to the session whose turn it is."""
        if self.is_held or (worker is not None and worker.state is not State.IDLE):
            return
        waiter = self._next()
        if waiter is None:
            return
        if worker is not None:
            worker.state = State.BUSY  # idle -> busy
        waiter.set_result(worker)

    def _wake_all(self) -> None:
        while (waiter := self._next()) is not None:
            waiter.set_result(None)

    def _next(self) -> asyncio.Future[Worker | None] | None:
        """The first call of the session whose turn it is; that session goes to the end of the line."""
        for session in list(self._waiting):
            queue = self._waiting.pop(session)
            while queue:
                waiter = queue.popleft()
                if not waiter.done():
                    if queue:
                        self._waiting[session] = queue
                    return waiter
        return None
