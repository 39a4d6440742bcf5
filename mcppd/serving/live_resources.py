"""Resources that only the code of modules knows: asked of those that have `list_resources`, at each list.

One module that fails or is slow takes nothing from the others; what is wrong with it is told to people.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcppd.core.catalog import Catalog
from mcppd.core.errors import McppdError, RetiredError, ToolError
from mcppd.core.modules import Module
from mcppd.serving.callers import Origin
from mcppd.serving.live_entries import read_entries
from mcppd.serving.seams import Calls

logger = logging.getLogger("mcppd.serving")

LIST_LIMIT: Final = 3.0
"""Seconds that a list waits for what modules know at run time: clients list while somebody waits for a first word."""


@dataclass(frozen=True, slots=True)
class Live:
    """One resource that a module listed at run time."""

    uri: str
    module: Module
    definition: Mapping[str, Any]


class LiveResources:
    """Asks modules for the resources that they know at run time."""

    def __init__(self, calls: Calls, tasks: asyncio.TaskGroup) -> None:
        self._calls = calls
        self._tasks = tasks
        self._late: dict[Module, asyncio.Task[bytes | McppdError]] = {}  # still asked, though nobody waits
        self._faults: dict[str, str] = {}  # by module
        self._owners: dict[str, str] = {}  # URI -> the module that listed it last, whoever asked

    def notes(self, catalog: Catalog) -> Iterable[str]:
        """What was wrong with the last lists of the modules that are served, for people."""
        known = {module.name for module in _asked(catalog)}
        self._faults = {name: fault for name, fault in self._faults.items() if name in known}
        return [f"Warning: resources of module {name}: {fault}" for name, fault in self._faults.items()]

    async def listed(self, origin: Origin, catalog: Catalog) -> list[Live]:
        """What modules list now, the first of each URI, in registry order. Raises RetiredError."""
        found = await self._listed_by(origin, _asked(catalog))
        self._owners = {each.uri: each.module.name for each in found}
        return found

    async def find(self, origin: Origin, catalog: Catalog, uri: str) -> Live | None:
        """Who lists a URI now: who did the last time is asked alone, before all of them are."""
        modules = _asked(catalog)
        last = [module for module in modules if module.name == self._owners.get(uri)]
        for asked in (last, modules):
            for each in await self._listed_by(origin, asked):
                if each.uri == uri:
                    return each
        return None

    # inside

    async def _listed_by(self, origin: Origin, modules: Collection[Module]) -> list[Live]:
        said = await self._ask_all(origin, modules) if modules else {}
        found: dict[str, Live] = {}
        for module in modules:
            for each in self._read(module, said.get(module)):
                found.setdefault(each.uri, each)
        return list(found.values())

    async def _ask_all(self, origin: Origin, modules: Collection[Module]) -> dict[Module, bytes | McppdError]:
        """What each module says within the limit; those that are slower aren't in it."""
        tasks = {module: self._tasks.create_task(self._ask(origin.silent, module)) for module in modules}
        try:
            done, slow = await asyncio.wait(tasks.values(), timeout=LIST_LIMIT)
        except asyncio.CancelledError:
            for task in tasks.values():
                task.cancel()
            raise
        for module, task in tasks.items():
            if task in slow:
                self._leave(module, task)
        return {module: task.result() for module, task in tasks.items() if task in done}

    def _leave(self, module: Module, task: asyncio.Task[bytes | McppdError]) -> None:
        """Wait no longer for a module, but let one question to it go on: it may be importing, for the next list."""
        if module in self._late:
            task.cancel()
            return
        self._late[module] = task
        task.add_done_callback(lambda _: self._late.pop(module, None))

    async def _ask(self, origin: Origin, module: Module) -> bytes | McppdError:
        if (late := self._late.get(module)) is not None:
            await asyncio.wait([late])
        try:
            return await self._calls.list_resources(module, await origin.context(module))
        except McppdError as error:
            return error

    def _read(self, module: Module, said: bytes | McppdError | None) -> list[Live]:
        """The good entries of a list; the fault of the module is what was wrong with it."""
        fault: str | None = None
        entries: list[Live] = []
        match said:
            case RetiredError():
                raise said
            case None:
                fault = f"list_resources() took longer than {LIST_LIMIT:g} s; what it knows is not listed"
            case ToolError(text=text):
                fault = text
            case McppdError():
                fault = str(said)
            case bytes():
                good, fault = read_entries(said)
                entries = [Live(each["uri"], module, each) for each in good]
        self._note(module, fault)
        return entries

    def _note(self, module: Module, fault: str | None) -> None:
        if fault is None:
            self._faults.pop(module.name, None)
        elif self._faults.get(module.name) != fault:
            self._faults[module.name] = fault
            logger.warning("resources of module %s: %s", module.name, fault)


def _asked(catalog: Catalog) -> list[Module]:
    """The modules that may know more at run time, in registry order."""
    return [module for module in catalog.modules if module.lists_resources and module.state != "failed"]
