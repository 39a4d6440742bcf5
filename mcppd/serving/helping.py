"""`help`, the tool that is always there: what is served, and what modules say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from mcppd.core import help_text
from mcppd.core.catalog import Catalog
from mcppd.core.errors import ToolError
from mcppd.core.modules import Module
from mcppd.core.results import ToolResult, text_result
from mcppd.serving.attempts import Seen, attempted
from mcppd.serving.callers import Origin
from mcppd.serving.seams import Calls, Served


class Help:
    """Answers calls of `help`."""

    def __init__(self, served: Served, calls: Calls, notes: Callable[[Catalog], Iterable[str]]) -> None:
        self._served = served
        self._calls = calls
        self._notes = notes  # what else a person should know of

    async def answer(self, origin: Origin, arguments: Mapping[str, Any]) -> ToolResult:
        """The overview, or with `tool` what is known of a tool or a module. Raises ToolError."""

        async def use(seen: Seen) -> ToolResult:
            wanted = arguments.get("tool")
            if not wanted:
                notes = self._notes(seen.catalog)
                modules = [self._as_it_is(module) for module in seen.catalog.modules]
                said = help_text.overview(seen.catalog, self._served.last_reload, notes, modules)
                return text_result(said.text, said.display)
            tool = seen.catalog.find(wanted) if isinstance(wanted, str) else None
            module = tool.module if tool is not None else seen.catalog.module(str(wanted))
            if module is None:
                nearest = nearest_text(seen.catalog.nearest(str(wanted)))
                raise ToolError(f"Error: there is no tool or module {wanted!r}{nearest}")
            info = await self._info(origin, module)
            said = help_text.of_module(seen.catalog, self._as_it_is(module), tool, info)
            return text_result(said.text, said.display)

        return await attempted(self._served, None, use, "what `help` is asked for")

    def _as_it_is(self, module: Module) -> Module:
        """The module with how its workers are now."""
        condition = self._calls.workforce(module.generation).condition
        return module if condition is None else replace(module, condition=condition)

    async def _info(self, origin: Origin, module: Module) -> str:
        """What the module says of itself, or why it can't."""
        if module.state == "failed" or module.is_files_only:
            return ""
        try:
            result = await self._calls.get_info(module, await origin.context(module))
        except ToolError as error:
            return error.text
        items = orjson.loads(result.content)
        return "\n".join(item["text"] for item in items if item.get("type") == "text")


def nearest_text(nearest: Sequence[str]) -> str:
    """How a message about a name that isn't there goes on."""
    return f". Did you mean {', '.join(nearest)}?" if nearest else ". `help` lists what is there."
