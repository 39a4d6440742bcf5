"""Making workers: spawned with the environment of their module, and made ready for its calls."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mcppd.core import names
from mcppd.core.calls import AgentEnvironment, as_seconds, without
from mcppd.core.errors import ToolError
from mcppd.core.faults import Fault
from mcppd.core.modules import Module
from mcppd.workers.asking import Spawn
from mcppd.workers.bounds import import_limit, where_to_change
from mcppd.workers.crew import ImportFailedError
from mcppd.workers.deaths import WorkerEndedError
from mcppd.workers.outcomes import ended_text, last_words
from mcppd.workers.spawning import Spawner, SpawnerLostError, SpawnError
from mcppd.workers.worker import Watch, Worker

logger = logging.getLogger("mcppd.workers")

SPAWN_TRIES: Final = 3
"""A spawner that dies takes the workers that were being made with it; whoever asked asks again."""
PREPARE_TRIES: Final = 2
"""One that is killed while it imports says nothing of the module; a second one may have killed itself."""


class Hiring:
    """Makes workers."""

    def __init__(
        self, spawner: Spawner, logs: str, environment: Mapping[str, str], watch: Watch, spawn: Spawn
    ) -> None:
        self._spawner = spawner
        self._logs = logs
        self._environment = AgentEnvironment(environment, {})  # no agent's: the worker serves many
        self._watch = watch
        self._spawn = spawn

    async def hire(self, module: Module) -> Worker:
        """A worker that has imported a module. Raises ToolError."""
        worker, fault = await self.prepared(module, run=True, is_compiled=True)  # before it was served
        if fault is not None:
            self._spawn(worker.retire())
            raise ImportFailedError(f"module {module.name!r} can't be loaded: {fault}", fault)
        return worker

    async def prepared(
        self, module: Module, *, run: bool, is_compiled: bool = False
    ) -> tuple[Worker, Fault | None]:
        """A worker that has compiled a module, unless that was done, and with `run` imported it; what is wrong with it.

        Raises ToolError where there is no worker.
        """
        for tries in range(PREPARE_TRIES, 0, -1):
            worker = await self._spawned(module)
            fault = await self._prepare(worker, module, run=run, is_compiled=is_compiled)
            if fault is None or not fault.is_passing or tries == 1:
                break
            self._spawn(worker.retire())
        return worker, fault

    async def _spawned(self, module: Module) -> Worker:
        """A worker that holds the generation of a module. Raises ToolError."""
        assert module.generation is not None
        environment = self._environment.for_module(module.settings)
        log = str(Path(self._logs) / f"{names.wire_name(module.generation.module)}.log")
        for _ in range(SPAWN_TRIES):
            worker = Worker(module, self._spawner, self._watch)
            try:
                await worker.start(log, environment)
            except SpawnerLostError:
                continue
            except (SpawnError, OSError) as error:
                raise ToolError(f"no worker for module {module.name!r}: {error}") from None
            return worker
        raise ToolError(f"no worker for module {module.name!r}: the spawner ends again and again")

    async def _prepare(self, worker: Worker, module: Module, *, run: bool, is_compiled: bool) -> Fault | None:
        entry = worker.generation.entry
        limit = import_limit(module.settings)
        try:
            async with asyncio.timeout(limit):
                fault, warning = await worker.prepare(run=run, is_compiled=is_compiled)
        except TimeoutError:
            self._spawn(worker.end())
            text = f"the import{_by(worker)} took longer than {as_seconds(limit or 0.0)} and was ended"
            return Fault(f"{text}. {where_to_change('import_timeout')}", entry)
        except WorkerEndedError as error:
            how = ended_text(error, " during the import")
            text = f"the process{_by(worker)} {how}{last_words(error)}"
            return Fault(text, entry, is_passing=error.death.came_from_outside)
        except asyncio.CancelledError:
            self._spawn(worker.end())
            raise
        if warning:
            worker.generation.warning = warning
            shown = without(self._environment.secrets(module.settings), warning)
            logger.warning("module %s: initialize(): %s", module.name, shown)
        return fault


def _by(worker: Worker) -> str:
    """Which interpreter runs a worker, if it is the module's own."""
    python = worker.generation.python
    return f" by {python} (its `python:`)" if python else ""
