"""The one way of a call: settled, looked up, validated, run; and lists and `help` beside it."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from mcppd.core import builtin
from mcppd.core.calls import AgentEnvironment, CallContext, Progress
from mcppd.core.catalog import CALL_TOOL, HELP, Catalog, Module, Tool
from mcppd.core.effects import CallTool, ListTools, ToolsPage
from mcppd.core.errors import INTERNAL_ERROR, INVALID_PARAMS, ProtocolError, RetiredError, ToolError
from mcppd.core.events import CallEnded, Tell
from mcppd.core.pages import page_of
from mcppd.core.results import ToolResult, error_result, text_result, with_item
from mcppd.core.session import Answer
from mcppd.core.workspace import Hints, choose_workspace
from mcppd.serving.seams import Calls, Served

logger = logging.getLogger("mcppd.calls")

ROOTS_LIMIT: Final = 1.0
"""Seconds a first call waits for the client's roots (CONTRACT: Workspace)."""
LOOKUPS: Final = 5
"""How often a call that found its generation replaced is looked up again: more saves than that in one wait are
no editing any more."""
ERROR_SHOWN: Final = 4000
"""Characters of what a caller was told that are told to a person too: more than fit on a screen."""
LOADING: Final = (
    "Notice: a newer save of module {!r} is still loading; this answer is from the version before."
)


@dataclass(slots=True, eq=False)
class Caller:
    """One connected client, as calls see it; changed by its connection only."""

    session: str
    environment: AgentEnvironment
    hints: Hints = field(default_factory=Hints)
    meta_tools: bool = False
    roots: tuple[str, ...] = ()
    roots_known: asyncio.Event = field(default_factory=asyncio.Event)


class Answers:
    """Answers what sessions ask."""

    def __init__(self, served: Served, calls: Calls, tell: Tell) -> None:
        self._served = served
        self._calls = calls
        self._tell = tell

    async def tools(self, caller: Caller, effect: ListTools) -> Answer:
        """A page of the list of tools."""
        await self._served.settled(None)
        client = effect.ticket.client
        shown = builtin.definitions(client.name if client else "", meta_tools=caller.meta_tools)
        try:
            return self._page(self._served.catalog, effect, shown)
        except ProtocolError as error:
            return error

    async def call(self, caller: Caller, effect: CallTool, size: int, progress: Progress | None) -> Answer:
        """The result of a call, whatever happens to it: the one place where exceptions become answers."""
        started = time.monotonic()
        answer: Answer
        try:
            answer = await self._call(caller, effect, size, progress)
        except ToolError as error:
            answer = error_result(error.text)
        except ProtocolError as error:
            answer = error
        except asyncio.CancelledError:
            self._tell(_ended(effect, started, "cancelled"))
            raise
        except Exception:
            logger.exception("call of %s failed inside mcppd", effect.name)
            answer = ProtocolError(INTERNAL_ERROR, "Internal error: see the daemon's log")
        self._tell(_ended(effect, started, *_outcome(answer)))
        return answer

    def _page(self, catalog: Catalog, effect: ListTools, shown: Any) -> ToolsPage:
        return page_of(catalog.encoded(effect.ticket.revision, shown), effect.cursor)

    async def _call(
        self, caller: Caller, effect: CallTool, size: int, progress: Progress | None
    ) -> ToolResult:
        name, arguments = effect.name, effect.arguments
        if name == CALL_TOOL:
            name, arguments = builtin.unpack_call(arguments)
        for _ in range(LOOKUPS):
            settled = await self._served.settled(None if name == HELP else name)
            tool = None
            try:
                if name == HELP:
                    return await self._help(caller, effect, arguments)
                tool = _look_up(self._served.catalog, name, by_call_tool=effect.name == CALL_TOOL)
                result = await self._run(tool, caller, effect, arguments, size, progress)
            except RetiredError:
                continue
            except ToolError as error:
                if tool is None:
                    raise
                result = error_result(error.text)  # failures say too which version they come from
            notice = tool.module.notice or (None if settled else LOADING.format(tool.module.name))
            return result if notice is None else await self._with_notice(tool, result, notice)
        raise ToolError(f"Error: tool {name!r} is being reloaded again and again; call it again in a moment.")

    async def _run(
        self,
        tool: Tool,
        caller: Caller,
        effect: CallTool,
        arguments: dict[str, Any],
        size: int,
        progress: Progress | None,
    ) -> ToolResult:
        module = tool.module
        if module.state == "failed":
            raise ToolError(f"Error: module {module.name!r} can't be loaded: {_shown_fault(module)}")
        if tool.offer.fault is not None:
            raise ToolError(f"Error: this tool can't be called: {tool.offer.fault}")
        context = await self._context(caller, effect, module, progress)
        accepted, faults = await self._calls.checks.accept(
            tool.input_schema, arguments, plain=tool.offer.plain_input, size=size
        )
        if faults:
            raise ToolError(
                f"Error: the arguments of {tool.name!r} do not fit its input schema:\n" + "\n".join(faults)
            )
        return await self._calls.call_tool(tool, accepted, context)

    async def _context(
        self, caller: Caller, effect: CallTool, module: Module, progress: Progress | None
    ) -> CallContext:
        if not caller.roots_known.is_set():
            try:
                async with asyncio.timeout(ROOTS_LIMIT):
                    await caller.roots_known.wait()
            except TimeoutError:
                caller.roots_known.set()  # a client that doesn't answer is asked for nothing more
        workspace = choose_workspace(caller.hints, caller.environment.get, caller.roots, module.scope)
        client = effect.ticket.client
        return CallContext(
            caller.session,
            client.name if client else "unknown",
            client.version if client else "",
            workspace,
            caller.environment,
            progress,
        )

    async def _with_notice(self, tool: Tool, result: ToolResult, notice: str) -> ToolResult:
        """The result with the notice as its last text, and inside its structure where the schema allows (D7)."""
        noted = with_item(result, notice)
        if result.structured is None:
            return noted
        value = orjson.loads(result.structured)
        if not isinstance(value, dict) or "_notice" in value:
            return noted
        structured = orjson.dumps(value | {"_notice": notice})
        try:
            faults = await self._calls.checks.check_value(
                tool.output_schema, structured, plain=tool.offer.plain_output
            )
        except ToolError:
            return noted
        return noted if faults else ToolResult(noted.content, noted.is_error, structured)

    async def _help(self, caller: Caller, effect: CallTool, arguments: dict[str, Any]) -> ToolResult:
        wanted = arguments.get("tool")
        catalog = self._served.catalog
        if not wanted:
            return text_result(builtin.overview(catalog, self._served.last_reload))
        tool = catalog.find(wanted) if isinstance(wanted, str) else None
        module = tool.module if tool is not None else catalog.module(str(wanted))
        if module is None:
            raise ToolError(f"Error: there is no tool or module {wanted!r}{_nearest(catalog, str(wanted))}")
        info = await self._info(caller, effect, module)
        return text_result(builtin.of_module(catalog, module, tool, info))

    async def _info(self, caller: Caller, effect: CallTool, module: Module) -> str:
        """What the module says of itself, or why it can't."""
        if module.state == "failed":
            return ""
        try:
            result = await self._calls.get_info(module, await self._context(caller, effect, module, None))
        except ToolError as error:
            return error.text
        items = orjson.loads(result.content)
        return "\n".join(item["text"] for item in items if item.get("type") == "text")


def _look_up(catalog: Catalog, name: str, *, by_call_tool: bool) -> Tool:
    tool = catalog.find(name)
    if tool is not None:
        return tool
    text = f"Unknown tool: {name}"
    if (when := catalog.removed.get(name)) is not None:
        text += f" (removed by the reload at {when})"
    text += _nearest(catalog, name)
    if catalog.warnings:
        text += f" Something is wrong with the registry: {catalog.warnings[0]}"
    if (
        by_call_tool
    ):  # the name is an argument here, and a bad argument is the tool's error, not the protocol's
        raise ToolError(f"Error: {text}")
    raise ProtocolError(INVALID_PARAMS, text, {"name": name, "nearest": catalog.nearest(name)})


def _nearest(catalog: Catalog, name: str) -> str:
    nearest = catalog.nearest(name)
    return f". Did you mean {', '.join(nearest)}?" if nearest else ". `help` lists what is there."


def _shown_fault(module: Module) -> str:
    assert module.fault is not None
    source = f"\n    {module.fault.source.strip()}" if module.fault.source else ""
    advice = "It loads by itself as soon as a repaired version is saved; after anything else, `mcppd reload`."
    return f"{module.fault}{source}\n{advice}"


def _outcome(answer: Answer) -> tuple[str, str]:
    """How a call ended, and what its caller was told if not well."""
    match answer:
        case ProtocolError(code=code, message=message):
            return f"error {code}", message
        case ToolResult(is_error=True):
            return "failed", _first_text(answer)
        case _:
            return "ok", ""


def _first_text(result: ToolResult) -> str:
    try:
        items = orjson.loads(result.content)
    except orjson.JSONDecodeError:  # numbers that only others read
        return ""
    return next((str(item["text"]) for item in items if item.get("type") == "text"), "")[:ERROR_SHOWN]


def _ended(effect: CallTool, started: float, outcome: str, error: str = "") -> CallEnded:
    client = effect.ticket.client
    agent = client.name if client else "unknown"
    inner = effect.arguments.get("name") if effect.name == CALL_TOOL else None
    tool = f"{inner} ({CALL_TOOL})" if isinstance(inner, str) else effect.name
    return CallEnded(agent, tool, time.monotonic() - started, outcome, error)
