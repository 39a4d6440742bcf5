"""The pool: runs calls on the workers of the generation they belong to, and ends what takes too long.

It knows modules, generations and workers; sessions and request ids are none of its business.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from mcppd.core import names
from mcppd.core.calls import AgentEnvironment, CallContext
from mcppd.core.catalog import Module, Settings, Tool
from mcppd.core.errors import McppdError, RetiredError, ToolError
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.results import ToolResult, error_result
from mcppd.workers.checks import CheckingTools
from mcppd.workers.crew import Crew, ImportFailedError
from mcppd.workers.outcomes import died_text, last_words, result_of, surroundings, timed_out_text
from mcppd.workers.spawning import Spawner, SpawnerLostError, SpawnError
from mcppd.workers.worker import Watch, Worker, WorkerEndedError

logger = logging.getLogger("mcppd.workers")

IMPORT_LIMIT: Final = 30.0
"""Seconds that a module may take to be imported; heavy libraries need some, a hang needs an end."""
IDLE_LIMIT: Final = 600.0
"""Seconds that a worker may be idle before it is let go; a fork takes a millisecond, an import perhaps more."""
IDLE_CHECK: Final = 60.0
"""Seconds between looks at idle workers, while there are any."""


SPAWN_TRIES: Final = 3
"""A spawner that dies takes the workers that were being made with it; whoever asked asks again."""


SEVERITIES: Final = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "notice": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": logging.CRITICAL,
    "emergency": logging.CRITICAL,
}
"""MCP's levels of log messages (RFC 5424) as Python's."""

CHECKING: Final = Settings(workers=2)
"""How the checking workers are run: two, so that one hostile value doesn't stop everybody's."""


class Listener(Protocol):
    """Who hears what running a generation brought to light."""

    def joined(self, generation: Generation) -> None:
        """A worker imported files that were not part of the generation."""

    def import_failed(self, generation: Generation, fault: Fault) -> bool:
        """The first call found that the generation can't be imported; whether another takes its place."""
        ...


class WorkerPool:
    """Everything that runs tool code."""

    def __init__(
        self, spawner: Spawner, logs: str, environment: Mapping[str, str], tasks: asyncio.TaskGroup
    ) -> None:
        self._spawner = spawner
        self._logs = logs
        self._import_environment = AgentEnvironment(environment, {})  # no agent's: the worker serves many
        self._tasks = tasks
        self._crews: dict[Generation, Crew] = {}
        self._idle_timer: asyncio.TimerHandle | None = None
        self._watch = Watch(self._joined, _log)
        self.checks = CheckingTools(self._run_check)
        self.listener: Listener | None = None

    @property
    def spawner_pid(self) -> int | None:
        """The process id of the spawner, None while there is none."""
        return self._spawner.pid

    # calls

    async def call_tool(self, tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Run a tool. Raises ToolError for what the caller is told, RetiredError if nothing has begun."""
        module = tool.module
        request = {"kind": "execute", "tool": tool.own_name, "arguments": arguments}
        wants_structure = tool.output_schema is not None
        result = await self._call(module, request | {"structured": wants_structure}, context)
        if not wants_structure or result.is_error:
            return result
        return await self._with_checked_structure(tool, result)

    async def get_info(self, module: Module, context: CallContext) -> ToolResult:
        """What the module's `get_info` says; empty content if it has none."""
        return await self._call(
            module, {"kind": "get_info", "tool": "", "arguments": {}, "structured": False}, context
        )

    async def _call(self, module: Module, request: dict[str, Any], context: CallContext) -> ToolResult:
        if module.generation is None:
            raise ToolError(f"module {module.name!r} can't be loaded: {module.fault}")
        limit = context.environment.time_limit(module.settings)
        request |= surroundings(module, context, limit)
        return await self._run(module.generation, module.settings, request, context, limit)

    async def _run(
        self,
        generation: Generation,
        settings: Settings,
        request: dict[str, Any],
        context: CallContext,
        limit: float | None,
    ) -> ToolResult:
        crew = self._crew(generation, settings)
        try:
            worker = await crew.acquire(context.session)
        except ImportFailedError as error:
            if self.listener is not None and self.listener.import_failed(generation, error.fault):
                raise RetiredError(generation.module) from None
            raise
        environment = context.environment.for_module(settings)
        try:
            answer = await worker.call(request, environment, context.progress, limit)
        except WorkerEndedError as error:
            crew.forget(worker)
            raise ToolError(died_text(request, generation, error)) from None
        except TimeoutError:
            self._tasks.create_task(self._end(crew, worker))
            raise ToolError(timed_out_text(request, generation, limit or 0.0)) from None
        except asyncio.CancelledError:
            self._tasks.create_task(self._wind_down(crew, worker))
            raise
        except McppdError:  # the call could not even be sent
            self._release(crew, worker)
            raise
        self._release(crew, worker)
        return result_of(answer)

    async def _with_checked_structure(self, tool: Tool, result: ToolResult) -> ToolResult:
        if result.structured is None:
            return error_result(
                f"tool {tool.name!r} declares an outputSchema, but its result has no structured content: "
                "return a dict as `result`, or `structuredContent`"
            )
        faults = await self.checks.check_value(
            tool.output_schema, result.structured, plain=tool.offer.plain_output
        )
        if faults:
            return error_result(
                f"the result of tool {tool.name!r} does not fit its own outputSchema:\n" + "\n".join(faults)
            )
        return result

    # generations

    async def prepare(self, module: Module, *, run: bool) -> Fault | None:
        """Compile a generation, and with `run` import it in a worker that is then ready for its calls."""
        generation = module.generation
        assert generation is not None
        try:
            worker = await self._spawned(generation, module.settings)
        except ToolError as error:
            return Fault(error.text, generation.entry)
        fault = await self._prepared(worker, run=run)
        if fault is None and run:
            self._crew(generation, module.settings).adopt(worker, _now())
            self._watch_idle()
        else:
            self._tasks.create_task(worker.retire())
        return fault

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
            self._tasks.create_task(self._retire(crew, worker))

    def retire_all_but(self, kept: Iterable[Generation]) -> None:
        """Retire every generation but these, and our own."""
        for generation in self._crews.keys() - {*kept, self.checks.generation}:
            self.retire(generation)

    def count(self, generation: Generation | None) -> int:
        """How many workers a generation has."""
        crew = self._crews.get(generation) if generation is not None else None
        return len(crew.workers) if crew else 0

    def is_proven(self, generation: Generation) -> bool:
        """Whether the generation has been imported without a fault."""
        crew = self._crews.get(generation)
        return crew is not None and crew.is_proven

    def close(self) -> None:
        """End every worker."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        self._spawner.close()

    # workers

    def _crew(self, generation: Generation, settings: Settings) -> Crew:
        crew = self._crews.get(generation)
        if crew is None:
            crew = self._crews[generation] = Crew(
                generation, settings, lambda: self._hire(generation, settings)
            )
        return crew

    async def _hire(self, generation: Generation, settings: Settings) -> Worker:
        worker = await self._spawned(generation, settings)
        fault = await self._prepared(worker, run=True)
        if fault is not None:
            self._tasks.create_task(worker.retire())
            raise ImportFailedError(f"module {generation.module!r} can't be loaded: {fault}", fault)
        return worker

    async def _spawned(self, generation: Generation, settings: Settings) -> Worker:
        environment = self._import_environment.for_module(settings)
        log = str(Path(self._logs) / f"{names.wire_name(generation.module)}.log")
        for _ in range(SPAWN_TRIES):
            worker = Worker(generation, self._spawner, self._watch)
            try:
                await worker.start(log, environment)
            except SpawnerLostError:
                continue
            except SpawnError as error:
                raise ToolError(f"no worker for module {generation.module!r}: {error}") from None
            return worker
        raise ToolError(f"no worker for module {generation.module!r}: the spawner ends again and again")

    async def _prepared(self, worker: Worker, *, run: bool) -> Fault | None:
        entry = worker.generation.entry
        try:
            async with asyncio.timeout(IMPORT_LIMIT):
                fault, warning = await worker.prepare(run=run)
        except TimeoutError:
            self._tasks.create_task(worker.end())
            return Fault(f"the import took longer than {IMPORT_LIMIT:g} s and was ended", entry)
        except WorkerEndedError as error:
            return Fault(f"the process {error.death} during the import{last_words(error)}", entry)
        except asyncio.CancelledError:
            self._tasks.create_task(worker.end())
            raise
        if warning:
            worker.generation.warning = warning
            logger.warning("module %s: initialize(): %s", worker.generation.module, warning)
        return fault

    def _release(self, crew: Crew, worker: Worker) -> None:
        if crew.is_retired:
            self._tasks.create_task(self._retire(crew, worker))
        else:
            crew.release(worker, _now())
            self._watch_idle()

    async def _retire(self, crew: Crew, worker: Worker) -> None:
        await worker.retire()
        crew.forget(worker)

    async def _end(self, crew: Crew, worker: Worker) -> None:
        await worker.end()
        crew.forget(worker)

    async def _wind_down(self, crew: Crew, worker: Worker) -> None:
        if await worker.wind_down():
            self._release(crew, worker)
        else:
            crew.forget(worker)

    async def _let_go_when_idle(self, crew: Crew, worker: Worker) -> None:
        with contextlib.suppress(WorkerEndedError):
            await worker.idle()
        await self._retire(crew, worker)

    def _watch_idle(self) -> None:
        if self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(IDLE_CHECK, self._let_idle_go)

    def _let_idle_go(self) -> None:
        self._idle_timer = None
        oldest = _now() - IDLE_LIMIT
        for crew in self._crews.values():
            for worker in crew.let_go(oldest):
                self._tasks.create_task(self._retire(crew, worker))
        if any(crew.workers for crew in self._crews.values()):
            self._watch_idle()

    # what comes back

    async def _run_check(
        self, generation: Generation, request: dict[str, Any], context: CallContext
    ) -> ToolResult:
        limit = context.environment.time_limit(CHECKING)
        request |= {"cwd": "/", "progress": False, "context": {}}
        return await self._run(generation, CHECKING, request, context, limit)

    def _joined(self, generation: Generation) -> None:
        if self.listener is not None:
            self.listener.joined(generation)


def _now() -> float:
    return asyncio.get_running_loop().time()


def _log(generation: Generation, said: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """Log what a tool says with context["log"], from the level on that its agent asked for (CONTRACT)."""
    level = SEVERITIES.get(str(said.get("level")).lower(), logging.INFO)
    wanted = SEVERITIES.get(environment.get("MCPP_LOG_LEVEL", "").lower(), logger.getEffectiveLevel())
    if level >= wanted:
        text = f"module {generation.module}: {said.get('data')}"
        logger.handle(logger.makeRecord(logger.name, level, "", 0, text, (), None))
