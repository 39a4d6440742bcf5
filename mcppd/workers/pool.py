"""The pool: runs calls on the workers of the generation they belong to, and ends what takes too long.

It knows modules, generations and workers; sessions and request ids are none of its business.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from mcppd.core.calls import CallContext
from mcppd.core.errors import McppdError, RetiredError, ToolError
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.modules import Module
from mcppd.core.results import ToolResult, error_result
from mcppd.core.served import Prompt, Tool
from mcppd.workers.checks import CHECKING, CheckingTools
from mcppd.workers.crew import Crew, ImportFailedError
from mcppd.workers.hiring import Hiring
from mcppd.workers.outcomes import body_of, died_text, result_of, surroundings, timed_out_text
from mcppd.workers.spawning import Spawner
from mcppd.workers.speech import pass_on
from mcppd.workers.worker import Watch, Worker, WorkerEndedError

IDLE_LIMIT: Final = 600.0
"""Seconds that a worker may be idle before it is let go; a fork takes a millisecond, an import perhaps more."""
IDLE_CHECK: Final = 60.0
"""Seconds between looks at idle workers, while there are any."""


class Listener(Protocol):
    """Who hears what running a generation brought to light."""

    def joined(self, generation: Generation) -> None:
        """A worker imported files that were not part of the generation."""

    def import_failed(self, generation: Generation, fault: Fault) -> bool:
        """The first call found that the generation can't be imported; whether another takes its place."""
        ...

    def resource_updated(self, generation: Generation, uri: str) -> None:
        """The module's code says that a resource has changed."""


class WorkerPool:
    """Everything that runs tool code."""

    def __init__(
        self, spawner: Spawner, logs: str, environment: Mapping[str, str], tasks: asyncio.TaskGroup
    ) -> None:
        self._spawner = spawner
        self._tasks = tasks
        self._crews: dict[Generation, Crew] = {}
        self._idle_timer: asyncio.TimerHandle | None = None
        watch = Watch(self._joined, pass_on, self._updated, self._asking, tasks.create_task)
        self._hiring = Hiring(spawner, logs, environment, watch, tasks.create_task)
        self.checks = CheckingTools(self._run_check)
        self.listener: Listener | None = None

    @property
    def spawner_pid(self) -> int | None:
        """The process id of the spawner, None while there is none."""
        return self._spawner.pid

    # calls

    async def call_tool(self, tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> ToolResult:
        """Run a tool. Raises ToolError for what the caller is told, RetiredError if nothing has begun.

        This and all that follow also raise whatever a question to the client ended the call with.
        """
        wants_structure = tool.output_schema is not None
        request = {"kind": "execute", "given": [tool.own_name, arguments], "structured": wants_structure}
        result = await self._call(tool.module, request, context)
        if not wants_structure or result.is_error:
            return result
        return await self._with_checked_structure(tool, result)

    async def get_prompt(self, prompt: Prompt, arguments: Mapping[str, str], context: CallContext) -> bytes:
        """A whole GetPromptResult as JSON text. Raises ToolError, RetiredError."""
        request = {"kind": "get_prompt", "given": [prompt.own_name, arguments]}
        return body_of(await self._call(prompt.module, request, context))

    async def read_resource(
        self,
        module: Module,
        uri: str,
        variables: Mapping[str, str],
        mime_type: str | None,
        context: CallContext,
    ) -> bytes | None:
        """The array of contents as JSON text, None if there is no such resource. Raises ToolError, RetiredError."""
        request = {"kind": "read_resource", "given": [uri, variables], "mime_type": mime_type}
        body = body_of(await self._call(module, request, context))
        return None if body == b"null" else body

    async def list_resources(self, module: Module, context: CallContext) -> bytes:
        """An array of the resources that the module knows of now, as JSON text. Raises ToolError, RetiredError."""
        return body_of(await self._call(module, {"kind": "list_resources", "given": []}, context))

    async def complete(
        self, module: Module, ref: Mapping[str, str], argument: Mapping[str, Any], context: CallContext
    ) -> bytes:
        """{values, total?, hasMore?} as JSON text. Raises ToolError, RetiredError."""
        return body_of(await self._call(module, {"kind": "complete", "given": [ref, argument]}, context))

    async def get_info(self, module: Module, context: CallContext) -> ToolResult:
        """What the module's `get_info` says; empty content if it has none."""
        return await self._call(module, {"kind": "get_info", "given": []}, context)

    async def _call(self, module: Module, request: dict[str, Any], context: CallContext) -> ToolResult:
        if module.generation is None:
            raise ToolError(f"module {module.name!r} can't be loaded: {module.fault}")
        limit = context.environment.time_limit(module.settings)
        return await self._run(module, request | surroundings(module, context, limit), context, limit)

    async def _run(
        self, module: Module, request: dict[str, Any], context: CallContext, limit: float | None
    ) -> ToolResult:
        generation = module.generation
        assert generation is not None
        crew = self._crew(module)
        try:
            worker = await crew.acquire(context.session)
        except ImportFailedError as error:
            if self.listener is not None and self.listener.import_failed(generation, error.fault):
                raise RetiredError(generation.module) from None
            raise
        try:
            answer = await worker.call(request, module, context, limit)
        except WorkerEndedError as error:
            crew.forget(worker)
            raise ToolError(died_text(request, generation, error)) from None
        except TimeoutError:
            self._tasks.create_task(self._end(crew, worker))
            raise ToolError(timed_out_text(request, generation, limit or 0.0)) from None
        except asyncio.CancelledError:
            self._tasks.create_task(self._wind_down(crew, worker))
            raise
        except McppdError:
            if worker.is_running:  # it was given up at a question, else the call could not even be sent
                self._tasks.create_task(self._wind_down(crew, worker))
            else:
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
        if module.is_files_only:
            return None
        try:
            worker = await self._hiring.spawned(module)
        except ToolError as error:
            return Fault(error.text, generation.entry)
        fault = await self._hiring.prepared(worker, module, run=run)
        if fault is None and run:
            self._crew(module).adopt(worker, _now())
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
        for generation in self._crews.keys() - {*kept, self.checks.module.generation}:
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

    def _crew(self, module: Module) -> Crew:
        assert module.generation is not None
        crew = self._crews.get(module.generation)
        if crew is None:
            crew = self._crews[module.generation] = Crew(
                module.generation, module.settings, lambda: self._hiring.hire(module)
            )
        return crew

    def _release(self, crew: Crew, worker: Worker) -> None:
        if crew.is_retired:
            self._tasks.create_task(self._retire(crew, worker))
        else:
            crew.release(worker, _now())
            self._let_spare_go(crew)
            self._watch_idle()

    def _asking(self, worker: Worker) -> None:
        """A call began to wait for its client, or goes on: while it waits, its worker isn't counted."""
        crew = self._crews.get(worker.generation)
        if crew is not None:
            crew.asking(worker)
            self._let_spare_go(crew)

    def _let_spare_go(self, crew: Crew) -> None:
        for worker in crew.spare():
            self._tasks.create_task(self._retire(crew, worker))

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

    async def _run_check(self, module: Module, request: dict[str, Any], context: CallContext) -> ToolResult:
        limit = context.environment.time_limit(CHECKING)
        request |= {"cwd": "/", "progress": False, "context": {}}
        return await self._run(module, request, context, limit)

    def _joined(self, generation: Generation) -> None:
        if self.listener is not None:
            self.listener.joined(generation)

    def _updated(self, generation: Generation, uri: str) -> None:
        if self.listener is not None:
            self.listener.resource_updated(generation, uri)


def _now() -> float:
    return asyncio.get_running_loop().time()
