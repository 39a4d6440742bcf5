"""Calls of tools: looked up, validated, run; the notice of an older version added (D7)."""

from __future__ import annotations

from typing import Any

import orjson

from mcppd.core import builtin
from mcppd.core.catalog import CALL_TOOL, HELP, Catalog, Tool
from mcppd.core.effects import CallTool
from mcppd.core.errors import INVALID_PARAMS, SHOWN, ProtocolError, ToolError
from mcppd.core.results import ToolResult, error_result, with_item
from mcppd.serving.attempts import Seen, attempted, text_of_fault
from mcppd.serving.callers import Origin
from mcppd.serving.helping import Help, nearest_text
from mcppd.serving.seams import Calls, Served
from mcppd.serving.stored_results import StoredResults


class ToolCalls:
    """Answers tools/call."""

    def __init__(self, served: Served, calls: Calls, helping: Help, stored: StoredResults) -> None:
        self._served = served
        self._calls = calls
        self._help = helping
        self._stored = stored

    async def call(self, origin: Origin, effect: CallTool, size: int) -> ToolResult:
        """The result of a call of `size` bytes. Raises ToolError, ProtocolError, InputRequiredError."""
        name, arguments = effect.name, effect.arguments
        if name == CALL_TOOL:
            name, arguments = builtin.unpack_call(arguments)
        if name == HELP:
            return await self._help.answer(origin, arguments)

        async def use(seen: Seen) -> ToolResult:
            tool = _look_up(seen.catalog, name, by_call_tool=effect.name == CALL_TOOL)
            try:
                result = await self._run(origin, tool, arguments, size)
            except ToolError as error:
                result = error_result(error.text)  # failures say too which version they come from
            notice = seen.notice(tool.module)
            return result if notice is None else await self._with_notice(tool, result, notice)

        return await attempted(
            self._served,
            lambda catalog: tool.module if (tool := catalog.find(name)) else None,
            use,
            f"tool {name!r}",
        )

    async def _run(self, origin: Origin, tool: Tool, arguments: dict[str, Any], size: int) -> ToolResult:
        module = tool.module
        if module.state == "failed":
            raise ToolError(text_of_fault(module))
        if tool.offer.fault is not None:
            raise ToolError(f"Error: this tool can't be called: {tool.offer.fault}")
        context = await origin.context(module)
        accepted, faults = await self._calls.checks.accept(
            tool.input_schema, arguments, plain=tool.offer.plain_input, size=size
        )
        if faults:
            raise ToolError(
                f"Error: the arguments of {tool.name!r} do not fit its input schema:\n" + "\n".join(faults)
            )
        return await self._stored.noted(tool, await self._calls.call_tool(tool, accepted, context))

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


def _look_up(catalog: Catalog, name: str, *, by_call_tool: bool) -> Tool:
    tool = catalog.find(name)
    if tool is not None:
        return tool
    text = f"Unknown tool: {name[:SHOWN]}"
    if (when := catalog.removed.get(name)) is not None:
        text += f" (removed by the reload at {when})"
    text += nearest_text(catalog.nearest(name))
    if catalog.warnings:
        text += f" Something is wrong with the registry: {catalog.warnings[0]}"
    if by_call_tool:
        # the name is an argument here, and a bad argument is the tool's error, not the protocol's
        raise ToolError(f"Error: {text}")
    raise ProtocolError(INVALID_PARAMS, text, {"name": name, "nearest": catalog.nearest(name)})
