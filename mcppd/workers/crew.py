"""A crew: the workers of one generation, and the calls that wait for one of them.

Waiting is fair between sessions and bounded (D3): whoever asks for much waits behind itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from mcppd.core.errors import RetiredError, ToolError
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.modules import Settings
from mcppd.core.strikes import Condition, Strikes
from mcppd.workers.waiting import WAIT_LIMIT, Queue, Waiter, busy_text, waited_text
from mcppd.workers.worker import State, Worker


class ImportFailedError(ToolError):
    """The generation can't be imported, so none of its tools can run."""

    def __init__(self, text: str, fault: Fault) -> None:
        super().__init__(text)
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Making:
    """How a crew gets its workers."""

    hire: Callable[[], Awaitable[Worker]]
    has_room: Callable[[Crew], bool]  # whether there is a place for another, of all modules together
    freed: Callable[[], None]  # hears when a worker is gone, or has nothing to do
    is_ours: bool = False  # nothing of an author's runs in it


class Crew:
    """The workers of one generation."""

    def __init__(self, generation: Generation, settings: Settings, making: Making) -> None:
        self.generation = generation
        self.settings = settings
        self.is_retired = False
        self.is_proven = False  # it has been imported without a fault
        self.is_held = False  # no call begins: the next generation is about to be imported (overlap: false)
        self.is_exempt = making.is_ours or settings.stateful  # its workers take no place of another's
        self.workers: list[Worker] = []
        self.strikes = Strikes()
        self._making = making
        self._hiring = 0
        self._granted = 0  # calls that waited and may make a worker now, but have not gone on yet
        self._queue = Queue(settings.queue)

    @property
    def engaged(self) -> int:
        """The workers that count, until they are gone; one whose call waits for its client runs nothing."""
        return self._hiring + self._granted + sum(not each.is_asking for each in self.workers)

    @property
    def places(self) -> int:
        """The workers that take a place, which one that is about to end doesn't."""
        return self.engaged - sum(each.state is State.ENDED and not each.is_asking for each in self.workers)

    @property
    def waiting(self) -> int:
        """How many calls wait."""
        return len(self._queue)

    @property
    def idle(self) -> Iterable[Worker]:
        """The workers that have nothing to do."""
        return (worker for worker in self.workers if worker.state is State.IDLE)

    @property
    def condition(self) -> Condition | None:
        """How its workers are, where they aren't well."""
        return self.strikes.condition(_now())

    async def acquire(self, session: str) -> Worker:
        """An imported worker for a call of this session, the one that served it last if that is idle.

        Raises ToolError (busy, paused, can't be made, can't be imported), RetiredError.
        """
        while True:
            if self.is_retired:
                raise RetiredError(self.generation.module)
            worker = self.take_idle(session) or await self._new_or_waited(session)
            if worker is not None:
                worker.last_session = session
                return worker

    def take_idle(self, session: str) -> Worker | None:
        """The same, None where it would have to be waited for or is refused."""
        if self.is_held or self.is_retired:
            return None
        chosen = None
        for worker in self.idle:
            chosen = worker
            if worker.last_session == session:
                break
        if chosen is not None:
            chosen.state = State.BUSY  # idle -> busy
            chosen.last_session = session
        return chosen

    def release(self, worker: Worker, now: float) -> None:
        """Give a worker back after its call, dead or alive."""
        if worker.state is State.ENDED:
            self.forget(worker)
            return
        worker.state = State.IDLE
        worker.idle_since = now
        self.serve_waiting(worker)
        if worker.state is State.IDLE:
            self._making.freed()

    def forget(self, worker: Worker) -> None:
        """A worker is gone; who waits may make another."""
        if worker in self.workers:
            self.workers.remove(worker)
            self.serve_waiting()
            self._making.freed()

    def died(self, worker: Worker, how: str) -> Condition | None:
        """A worker died in its call; how the others are now, if that changed."""
        is_changed = not self._making.is_ours and self.strikes.died(worker.born_at, how, _now())
        self.forget(worker)
        self.serve_waiting()  # it may have been forgotten before it was counted
        return self.condition if is_changed else None

    def failed_again(self, how: str) -> Condition | None:
        """A worker could not be made of what was imported well before; how the others are now, if that changed."""
        is_changed = self.strikes.died(self.strikes.incidents, how, _now())
        self.serve_waiting()
        return self.condition if is_changed else None

    def forgive(self) -> None:
        """Let calls try it anew, whatever happened."""
        self.strikes.forgive()
        self.serve_waiting()

    def adopt(self, worker: Worker, now: float) -> None:
        """Take in a worker that has imported the generation already."""
        self._take_in(worker)
        self.release(worker, now)

    def retire(self) -> list[Worker]:
        """No call begins here any more; the idle workers, which may go now."""
        self.is_retired = True
        self._queue.refuse(lambda: RetiredError(self.generation.module))
        return list(self.idle)

    def let_go(self, oldest: float) -> list[Worker]:
        """The workers that have been idle since before `oldest`; they take no call any more."""
        if self.settings.stateful:
            return []
        return _ended(each for each in self.idle if each.idle_since < oldest)

    def let_spinning_go(self, number: int) -> Worker | None:
        """The worker of this number, if it is idle but works on; it takes no call any more."""
        if self.settings.stateful:
            return None  # what goes on in the only worker of a module is the module's own business
        return next(iter(_ended(each for each in self.idle if each.number == number)), None)

    def asking(self, worker: Worker) -> None:
        """A worker waits for its client from now on, so there is room for another; or it goes on."""
        if worker.is_asking:
            self.serve_waiting()

    def spare(self) -> list[Worker]:
        """The idle workers that were only made while others waited for their clients; they take no call any more.

        The ones that were there first stay: a module that keeps state has it in those.
        """
        if len(self.workers) <= self.settings.workers:
            return []
        engaged = [each for each in self.workers if each.state is not State.ENDED and not each.is_asking]
        return _ended(each for each in engaged[self.settings.workers :] if each.state is State.IDLE)

    def hold(self, *, held: bool) -> None:
        """Let no call begin for a while, or let them go on."""
        self.is_held = held
        self.serve_waiting()

    def serve_waiting(self, worker: Worker | None = None) -> None:
        """Give an idle worker, and the leave to make others, to the sessions whose turn it is."""
        if self.is_held or not self.waiting:
            return
        if worker is not None and worker.state is State.IDLE and (waiter := self._queue.next()) is not None:
            worker.state = State.BUSY  # idle -> busy
            waiter.set_result(worker)
        while self.waiting and self._may_make() and (waiter := self._queue.next()) is not None:
            self._granted += 1
            waiter.set_result(None)
        self._refuse_in_vain()

    def _refuse_in_vain(self) -> None:
        """Where no worker is left and none may be made, nobody waits."""
        condition = self.condition
        if condition is not None and not self.engaged and not self.strikes.may_try(_now()):
            self._queue.refuse(lambda: ToolError(condition.told(self.generation.module)))

    def _may_make(self) -> bool:
        """Whether another worker may be made."""
        is_wanted = not self.is_held and self.engaged < self.settings.workers
        return is_wanted and self.strikes.may_try(_now()) and self._making.has_room(self)

    async def _new_or_waited(self, session: str) -> Worker | None:
        condition = self.condition
        if condition is not None and not self.engaged and not self.strikes.may_try(_now()):
            raise ToolError(condition.told(self.generation.module))
        if not self.waiting and self._may_make():
            return await self._new()
        worker = await self._wait(session)
        if worker is None and not (self.is_retired or self.is_held):
            return await self._new()
        return worker

    async def _new(self) -> Worker:
        self._hiring += 1
        born_at = self.strikes.incidents
        try:
            worker = await self._making.hire()
        except BaseException:
            self._hiring -= 1
            self.serve_waiting()
            raise
        self._hiring -= 1
        worker.born_at = born_at
        self._take_in(worker)
        worker.state = State.BUSY  # idle -> busy
        return worker

    def _take_in(self, worker: Worker) -> None:
        self.is_proven = True
        self.workers.append(worker)
        worker.when_dead(lambda: self.forget(worker))  # idle ones die too, and must not keep their place

    async def _wait(self, session: str) -> Worker | None:
        """A worker that became idle, or None for the leave to make one. Raises ToolError, RetiredError."""
        waiter = self._queue.join(session)
        if waiter is None:
            raise ToolError(busy_text(self.generation.module, self._queue, len(self.workers)))
        too_long = asyncio.get_running_loop().call_later(WAIT_LIMIT, self._give_up, waiter)
        try:
            worker = await waiter
        except BaseException:
            self._queue.leave(session, waiter)
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._hand_on(waiter.result())
            raise
        finally:
            too_long.cancel()
        if worker is None:
            self._granted -= 1
        return worker

    def _give_up(self, waiter: Waiter) -> None:
        """A call has waited for too long."""
        if not waiter.done():
            waiter.set_exception(ToolError(waited_text(self.generation.module, len(self.workers))))

    def _hand_on(self, worker: Worker | None) -> None:
        """What was given to a call that doesn't want it any more goes to the next."""
        if worker is None:
            self._granted -= 1
        elif worker.state is not State.ENDED:
            worker.state = State.IDLE
        self.serve_waiting(worker)


def _ended(workers: Iterable[Worker]) -> list[Worker]:
    found = list(workers)
    for worker in found:
        worker.state = State.ENDED  # idle -> ended
    return found


def _now() -> float:
    return asyncio.get_running_loop().time()
