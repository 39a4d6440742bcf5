"""The pool: runs calls on the workers of the generation they belong to, and ends what takes too long.

It knows modules, generations and workers; sessions and request ids are none of its business.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol

from mcppd.core.calls import CallContext
from mcppd.core.errors import McppdError, RetiredError, ToolError
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.limits import ToolLimits
from mcppd.core.modules import Module
from mcppd.core.results import ToolResult, error_result
from mcppd.core.served import Prompt, Tool
from mcppd.core.strikes import Condition, Workforce
from mcppd.workers.checks import CHECKING, CheckingTools
from mcppd.workers.crew import Crew, ImportFailedError
from mcppd.workers.crews import Crews
from mcppd.workers.deaths import WorkerEndedError
from mcppd.workers.hiring import Hiring
from mcppd.workers.outcomes import (
    body_of,
    died_text,
    how_text,
    output_limits,
    result_of,
    surroundings,
    timed_out_text,
)
from mcppd.workers.spawning import Spawner
from mcppd.workers.speech import pass_on
from mcppd.workers.worker import Watch, Worker

logger = logging.getLogger("mcppd.workers")

UNREAD_TRIES: Final = 3
"""Workers that a call is given to, each of which ends before it has read it: idle ones may all die at once."""


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
        self.checks = CheckingTools(self._run_check)
        self._crews = Crews(tasks, self.checks.module.generation)
        spawner.looking.spinning = self._crews.spinning
        watch = Watch(
            self._joined,
            pass_on,
            self._updated,
            self._crews.asking,
            self._crews.spoilt,
            tasks.create_task,
        )
        self._hiring = Hiring(spawner, logs, environment, watch, tasks.create_task)
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
        limits = tool.module.settings.of_tool(tool.own_name)
        request = {
            "kind": "execute",
            "given": [tool.own_name, arguments],
            "structured": wants_structure,
            **output_limits(limits),
        }
        result = await self._call(tool.module, request, context, limits)
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

    async def _call(
        self,
        module: Module,
        request: dict[str, Any],
        context: CallContext,
        limits: ToolLimits | None = None,
    ) -> ToolResult:
        if module.generation is None:
            raise ToolError(f"module {module.name!r} can't be loaded: {module.fault}")
        limit = context.environment.time_limit(limits.timeout if limits else module.settings.timeout)
        request.update(surroundings(module, context, limit))
        return await self._run(module, request, context, limit)

    async def _run(
        self,
        module: Module,
        request: dict[str, Any],
        context: CallContext,
        limit: float | None,
        tries: int = UNREAD_TRIES,
    ) -> ToolResult:
        generation = module.generation
        assert generation is not None
        crew = self._crews.of(module, self._hiring)
        try:
            worker = crew.take_idle(context.session) or await self._acquired(crew, context)
        except ImportFailedError as error:
            if crew.is_proven:  # what it needs outside of its own files isn't there any more
                _note(module, crew.failed_again(f"it can't be imported any more: {error.fault}"))
            elif self.listener is not None and self.listener.import_failed(generation, error.fault):
                raise RetiredError(generation.module) from None
            raise
        context.spent.has_begun = True
        try:
            answer = await worker.call(request, module, context, limit)
        except WorkerEndedError as error:
            if error.is_unread and tries > 1:  # it was at its end before the call came
                crew.forget(worker)
                context.spent.has_begun = False
                return await self._run(module, request, context, limit, tries - 1)
            if error.death.status is None:  # its spawner went, which is no fault of the module's
                crew.forget(worker)
            else:
                _note(module, crew.died(worker, how_text(request, error)))
            raise ToolError(died_text(request, generation, error)) from None
        except TimeoutError:
            self._tasks.create_task(self._crews.end(crew, worker))
            raise ToolError(timed_out_text(request, generation, limit or 0.0)) from None
        except asyncio.CancelledError:
            self._tasks.create_task(self._crews.wind_down(crew, worker))
            raise
        except McppdError:
            if worker.is_running:  # it was given up at a question, else the call could not even be sent
                self._tasks.create_task(self._crews.wind_down(crew, worker))
            else:
                self._crews.release(crew, worker)
            raise
        crew.strikes.forgive()
        self._crews.release(crew, worker)
        return result_of(answer)

    async def _acquired(self, crew: Crew, context: CallContext) -> Worker:
        """A worker for a call; the time until it is there is noted."""
        started = _now()
        try:
            return await crew.acquire(context.session)
        finally:
            context.spent.waited += _now() - started

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
            worker, fault = await self._hiring.prepared(module, run=run)
        except ToolError as error:
            return Fault(error.text, generation.entry, is_passing=True)
        if fault is None and run:
            self._crews.of(module, self._hiring).adopt(worker, _now())
            self._crews.watch_idle()
        else:
            self._tasks.create_task(worker.retire())
        return fault

    async def hold(self, generation: Generation) -> None:
        """Let no call of a generation begin, and wait until its workers are gone (overlap: false)."""
        await self._crews.hold(generation)

    def unhold(self, generation: Generation) -> None:
        """The calls of a generation may begin again: the next one didn't come to be."""
        self._crews.unhold(generation)

    def retire(self, generation: Generation) -> None:
        """A generation is no longer served: idle workers go now, the others after their call."""
        self._crews.retire(generation)

    def retire_all_but(self, kept: Iterable[Generation]) -> None:
        """Retire every generation but these, and our own."""
        self._crews.retire_all_but(kept)

    async def renew(self, module: Module) -> Fault | None:
        """Replace every worker of a module: idle ones go now, the others after their call, and one new one comes.

        Where two may not live at the same time (overlap: false) it comes when the others have gone.
        """
        assert module.generation is not None
        if not module.settings.overlap:
            await self.hold(module.generation)
        self.retire(module.generation)
        return await self.prepare(module, run=True)

    def workforce(self, generation: Generation | None) -> Workforce:
        """The workers of a generation, and the calls that wait for one."""
        return self._crews.workforce(generation)

    def forgive(self, generation: Generation | None = None) -> None:
        """Let calls try again what died again and again: one generation, or without one all of them."""
        self._crews.forgive(generation)

    def is_proven(self, generation: Generation) -> bool:
        """Whether the generation has been imported without a fault."""
        return self._crews.is_proven(generation)

    def close(self) -> None:
        """End every worker."""
        self._crews.close()
        self._spawner.close()

    # what comes back

    async def _run_check(self, module: Module, request: dict[str, Any], context: CallContext) -> ToolResult:
        limit = context.environment.time_limit(CHECKING.timeout)
        request |= {"cwd": "/", "progress": False, "context": {}}
        return await self._run(module, request, context, limit)

    def _joined(self, generation: Generation) -> None:
        if self.listener is not None:
            self.listener.joined(generation)

    def _updated(self, generation: Generation, uri: str) -> None:
        if self.listener is not None:
            self.listener.resource_updated(generation, uri)


def _note(module: Module, condition: Condition | None) -> None:
    """What people have to know of workers that died again and again."""
    if condition is not None:
        pause = f" for {condition.seconds:g} s" if condition.seconds else ""
        logger.warning("module %s: %s No call is let through%s", module.name, condition.text, pause)


def _now() -> float:
    return asyncio.get_running_loop().time()
