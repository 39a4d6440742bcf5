"""Preparing: new versions are compiled, and imported where the module was in use, before any of them is served (D6)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterable
from typing import Final

from mcppd.core.faults import Fault
from mcppd.core.modules import Module
from mcppd.reloading.loaded import Loaded
from mcppd.reloading.passes import Passes
from mcppd.reloading.seams import Pool
from mcppd.reloading.slots import Candidate, Slot

logger = logging.getLogger("mcppd.reload")

AT_ONCE: Final = 8
"""Versions that are prepared at the same time: enough for one slow import not to hold up a start, few processes."""
TOGETHER: Final = 1.0
"""Seconds in which all that changed in one save is published in one step; what is slower follows by itself."""

AGAIN: Final = 1.0
"""Seconds until a version is tried once more for which the machine had no room."""
AGAIN_LATE: Final = 60.0
"""The same after many tries, each of which starts a process."""


class Preparing:
    """Has new versions prepared, and waits for those that were saved together."""

    def __init__(self, pool: Pool, tasks: asyncio.TaskGroup, passes: Passes) -> None:
        self._pool = pool
        self._tasks = tasks
        self._passes = passes
        self._room = asyncio.Semaphore(AT_ONCE)
        self._is_waiting = False

    def begin(
        self, loaded: Loaded, module: Module, served: Module | None, *, is_tried: bool = False
    ) -> Candidate:
        """Begin with a version that is to take the place of another; with no other it is served already.

        One that `is_tried` is imported in any case, and served only if that goes well.
        """
        task = self._tasks.create_task(self._prepare(module, served, is_tried))
        return Candidate(loaded, module, task, is_served=served is None and not is_tried)

    async def together(self, candidates: Iterable[Candidate]) -> None:
        """Wait until all that is new is ready, but not long, and not while something newer lies on the disk."""
        candidates = [*candidates]
        if not (waited := _waited_for(candidates)):
            return
        self._is_waiting = True
        news = self._tasks.create_task(self._passes.news.wait())
        try:
            while waited and not news.done():
                left = max(waited.values()) - time.monotonic()
                await asyncio.wait({*waited, news}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                waited = _waited_for(candidates)
        finally:
            self._is_waiting = False
            news.cancel()  # also where a stop cancels the pass: whoever waits for the tasks waits for this one

    def again(self, slot: Slot) -> None:
        """Try a version once more that failed for nothing that is in its files; soon, and then ever more rarely."""
        wait = min(AGAIN * 2**slot.tries, AGAIN_LATE)
        slot.tries += 1
        asyncio.get_running_loop().call_later(wait, self._try, slot, slot.broken)

    def _try(self, slot: Slot, broken: Loaded | None) -> None:
        if slot.broken is broken:  # else there is something newer
            slot.broken = None
            self._passes.want(only=frozenset((slot.loaded.directory,)))

    async def _prepare(self, module: Module, served: Module | None, is_tried: bool) -> Fault | None:  # noqa: FBT001
        """Compile a version, and import it if the one before was in use; wakes the next pass."""
        old = served.generation if served is not None else None
        run = is_tried or (old is not None and self._pool.is_proven(old))
        fault: Fault | None = Fault("could not be prepared: see the daemon's log", module.directory)
        try:
            if run and old is not None and not module.settings.overlap:
                await self._pool.hold(old)
            async with self._room:
                fault = await self._pool.prepare(module, run=run)
        except Exception:
            logger.exception("module %s: preparing it failed", module.name)
        finally:
            if fault is not None and old is not None:
                self._pool.unhold(old)
            if not self._is_waiting:  # else the pass that waits takes it over
                self._passes.wake()
        return fault


def _waited_for(candidates: Iterable[Candidate]) -> dict[asyncio.Task[Fault | None], float]:
    """What is being prepared and not served yet, with when it is waited for no longer; it has had its time once."""
    now = time.monotonic()
    waits = {each.task: each.begun + TOGETHER for each in candidates if not each.is_served}
    return {task: until for task, until in waits.items() if until > now and not task.done()}
