"""Crews: the workers of all generations, who makes them, who lets them go, and the room that they share."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from typing import Final

from mcppd.core.generation import Generation
from mcppd.core.modules import Module
from mcppd.core.strikes import Workforce
from mcppd.workers.crew import Crew, Making
from mcppd.workers.deaths import WorkerEndedError
from mcppd.workers.hiring import Hiring
from mcppd.workers.room import Room, most_workers
from mcppd.workers.worker import State, Worker

logger = logging.getLogger("mcppd.workers")

IDLE_LIMIT: Final = 600.0
"""Seconds that a worker may be idle before it is let go; a fork takes a millisecond, an import perhaps more."""
SPINNING: Final = (
    "a worker is replaced: it kept a processor busy though no call ran in it (a thread left behind?)"
)
SPOILT: Final = "its worker is replaced, so that no other call finds it so"
SPOILT_STAYS: Final = "its worker stays all the same, since there is only this one (`workers: 1`)"
IDLE_CHECK: Final = 60.0
"""Seconds between looks at idle workers, while there are any."""


class Crews:
    """The crews of one daemon, by generation."""

    def __init__(self, tasks: asyncio.TaskGroup, ours: Generation | None) -> None:
        """`ours` is the generation in which nothing of an author's runs."""
        self._tasks = tasks
        self._ours = ours
        self._crews: dict[Generation, Crew] = {}
        self._idle_timer: asyncio.TimerHandle | None = None
        self._room = Room(self._crews.values, self._make_room, most_workers())

    def of(self, module: Module, hiring: Hiring) -> Crew:
        """The crew of the generation of a module, made where there is none."""
        assert module.generation is not None
        crew = self._crews.get(module.generation)
        if crew is None:
            making = Making(
                lambda: hiring.hire(module),
                self._room.take,
                self._room.freed,
                is_ours=module.generation is self._ours,
            )
            crew = self._crews[module.generation] = Crew(module.generation, module.settings, making)
        return crew

    # generations

    async def hold(self, generation: Generation) -> None:
        """Let no call of a generation begin, and wait until its workers are gone (overlap: false)."""
        crew = self._crews.get(generation)
        if crew is None:
            return
        crew.hold(held=True)
        while crew.workers:
            for worker in list(crew.workers):
                await self._let_go_when_idle(crew, worker)

    def unhold(self, generation: Generation) -> None:
        """The calls of a generation may begin again: the next one didn't come to be."""
        if crew := self._crews.get(generation):
            crew.hold(held=False)

    def retire(self, generation: Generation) -> None:
        """A generation is no longer served: idle workers go now, the others after their call."""
        crew = self._crews.pop(generation, None)
        if crew is None:
            return
        for worker in crew.retire():
            self._tasks.create_task(self.let_go(crew, worker))

    def retire_all_but(self, kept: Iterable[Generation]) -> None:
        """Retire every generation but these, and our own."""
        for generation in self._crews.keys() - {*kept, self._ours}:
            self.retire(generation)

    def workforce(self, generation: Generation | None) -> Workforce:
        """The workers of a generation, and the calls that wait for one."""
        crew = self._crews.get(generation) if generation is not None else None
        if crew is None:
            return Workforce()
        busy = sum(each.state is State.BUSY for each in crew.workers)
        return Workforce(len(crew.workers), busy, crew.waiting, crew.condition)

    def forgive(self, generation: Generation | None = None) -> None:
        """Let calls try again what died again and again: one generation, or without one all of them."""
        for crew in list(self._crews.values()):
            if generation is None or crew.generation is generation:
                crew.forgive()

    def is_proven(self, generation: Generation) -> bool:
        """Whether the generation has been imported without a fault."""
        crew = self._crews.get(generation)
        return crew is not None and crew.is_proven

    def close(self) -> None:
        """Look after nothing any more."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()

    # workers

    def _make_room(self, crew: Crew, worker: Worker) -> None:
        """End an idle worker, whose place another module needs."""
        worker.state = State.ENDED  # idle -> ended
        self._tasks.create_task(self.let_go(crew, worker))

    def release(self, crew: Crew, worker: Worker) -> None:
        if crew.is_retired:
            self._tasks.create_task(self.let_go(crew, worker))
        else:
            crew.release(worker, _now())
            self._let_spare_go(crew)
            self.watch_idle()

    def asking(self, worker: Worker) -> None:
        """A call began to wait for its client, or goes on: while it waits, its worker isn't counted."""
        crew = self._crews.get(worker.generation)
        if crew is not None:
            crew.asking(worker)
            self._let_spare_go(crew)

    def spinning(self, number: int) -> None:
        """A worker works on without a call: a thread was left behind. Another takes its place."""
        for crew in self._crews.values():
            if (worker := crew.let_spinning_go(number)) is not None:
                logger.warning("module %s: %s", crew.generation.module, SPINNING)
                self._tasks.create_task(self.let_go(crew, worker))

    def spoilt(self, worker: Worker, why: str) -> None:
        """A call did something to its worker that can't be put back; unless it keeps a state, it ends by itself."""
        crew = self._crews.get(worker.generation)
        then = SPOILT_STAYS if crew is not None and crew.settings.stateful else SPOILT
        logger.warning("module %s: a call %s; %s", worker.generation.module, why, then)

    def _let_spare_go(self, crew: Crew) -> None:
        for worker in crew.spare():
            self._tasks.create_task(self.let_go(crew, worker))

    async def let_go(self, crew: Crew, worker: Worker) -> None:
        await worker.retire()
        crew.forget(worker)

    async def end(self, crew: Crew, worker: Worker) -> None:
        await worker.end()
        crew.forget(worker)

    async def wind_down(self, crew: Crew, worker: Worker) -> None:
        if await worker.wind_down():
            self.release(crew, worker)
        else:
            crew.forget(worker)

    async def _let_go_when_idle(self, crew: Crew, worker: Worker) -> None:
        with contextlib.suppress(WorkerEndedError):
            await worker.idle()
        await self.let_go(crew, worker)

    def watch_idle(self) -> None:
        if self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(IDLE_CHECK, self._let_idle_go)

    def _let_idle_go(self) -> None:
        self._idle_timer = None
        oldest = _now() - IDLE_LIMIT
        for crew in self._crews.values():
            for worker in crew.let_go(oldest):
                self._tasks.create_task(self.let_go(crew, worker))
        if any(crew.workers for crew in self._crews.values()):
            self.watch_idle()


def _now() -> float:
    return asyncio.get_running_loop().time()
