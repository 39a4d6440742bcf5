"""Room: how many workers there may be, of all modules together.

The first worker of a module always has a place, so no module ever waits for another's; those that keep state, which
can't be let go, and our own don't count.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Final

from mcppd.workers.bounds import machine_memory
from mcppd.workers.crew import Crew
from mcppd.workers.worker import Worker

WORKERS_PER_CORE: Final = 16
"""Tools mostly wait for disks, networks and other programs; of more that compute, each only takes time from others."""
MEMORY_PER_WORKER: Final = 128 * 1024**2
"""Bytes: what a worker with a few large libraries in it takes."""
LEAST: Final = 8
"""So many there may be on the smallest machine."""


def most_workers() -> int:
    """How many workers a machine such as this one has room for."""
    by_cores = WORKERS_PER_CORE * len(os.sched_getaffinity(0))
    return max(LEAST, min(by_cores, machine_memory() // MEMORY_PER_WORKER))


class Room:
    """Gives out places."""

    def __init__(
        self, crews: Callable[[], Collection[Crew]], let_go: Callable[[Crew, Worker], None], most: int
    ) -> None:
        self._crews = crews
        self._let_go = let_go  # ends an idle worker, whose place another gets
        self._most = most
        self._short: dict[Crew, None] = {}  # crews that were refused a place, in that order

    def take(self, crew: Crew) -> bool:
        """Whether a crew may make another worker; an idle one of another module goes for it."""
        taken = sum(each.places for each in self._crews() if not each.is_exempt)
        if taken < self._most or crew.is_exempt:
            return True
        idle = self._oldest_idle(crew)
        if idle is not None:
            self._let_go(*idle)
        is_swapped = idle is not None and taken <= self._most
        if is_swapped or not crew.engaged:
            return True
        self._short[crew] = (
            None  # also where first workers are more than there is room for: those go before others come
        )
        return False

    def freed(self) -> None:
        """A worker is gone, or has nothing to do: whoever was refused first may ask again."""
        for crew in list(self._short):
            del self._short[crew]
            if crew.waiting:
                crew.serve_waiting()
                return

    def _oldest_idle(self, crew: Crew) -> tuple[Crew, Worker] | None:
        """The worker of another crew that has been idle for longest."""
        idle = (
            (each, worker)
            for each in self._crews()
            if each is not crew and not each.is_exempt and not each.waiting
            for worker in each.idle
        )
        return min(idle, key=lambda found: found[1].idle_since, default=None)
