"""`help`, the tool that is always there: what is served, and what modules say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import orjson

from mcppd.core import builtin, help_text
from mcppd.core.catalog import Catalog, Tool
from mcppd.core.errors import SHOWN, ToolError
from mcppd.core.help_text import HelpText
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
        """The overview, or with `tool` what is known of anything by its name or URI. Raises ToolError."""

        async def use(seen: Seen) -> ToolResult:
            wanted = arguments.get("tool")
            said = (
                await self._of(origin, seen.catalog, str(wanted)) if wanted else self._overview(seen.catalog)
            )
            return text_result(said.text, said.display)

        return await attempted(self._served, None, use, "what `help` is asked for")

    def _overview(self, catalog: Catalog) -> HelpText:
        modules = [self._as_it_is(module) for module in catalog.modules]
        return help_text.overview(catalog, self._served.last_reload, self._notes(catalog), modules)

    async def _of(self, origin: Origin, catalog: Catalog, wanted: str) -> HelpText:
        """What there is to say of a name or a URI: of a tool before a module, and of all else after it."""
        for definition in (builtin.HELP_DEFINITION, builtin.CALL_TOOL_DEFINITION):
            if definition["name"] == wanted:
                return help_text.of_builtin(definition)
        found = catalog.called(wanted)
        module = catalog.module(wanted)
        if module is not None and not (found and isinstance(found[0], Tool)):
            return help_text.of_module(catalog, self._as_it_is(module), await self._info(origin, module))
        if not found:
            raise ToolError(_unknown(catalog, wanted))
        module = found[0].module
        some = [each for each in found if each.module is module]
        return help_text.of_some(self._as_it_is(module), some, await self._info(origin, module))

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


def _unknown(catalog: Catalog, wanted: str) -> str:
    text = f"Error: there is no tool, prompt, resource or module {wanted[:SHOWN]!r}"
    if (when := catalog.removed.get(wanted)) is not None:
        text += f" (removed by the reload at {when})"
    return text + nearest_text(catalog.nearest_of_all(wanted))


def nearest_text(nearest: Sequence[str]) -> str:
    """How a message about a name that isn't there goes on."""
    return f". Did you mean {', '.join(nearest)}?" if nearest else ". `help` lists what is there."
