"""What `mcppd status` and `mcppd list` tell of a catalog, as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcppd.core.builtin import CALL_TOOL_DEFINITION, HELP_DEFINITION
from mcppd.core.catalog import Catalog, Module, Tool
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation

CountWorkers = Callable[[Generation | None], int]
"""How many workers a generation has."""


def status_of(catalog: Catalog, count: CountWorkers) -> dict[str, Any]:
    """The modules with their states, the shadowed names and the warnings."""
    tools: dict[int, list[Tool]] = {}
    for tool in catalog.listed:
        tools.setdefault(id(tool.module), []).append(tool)
    return {
        "modules": [_module(module, tools.get(id(module), []), count) for module in catalog.modules],
        "shadowed": [
            {"tool": tool.own_name, "module": tool.module.name, "listed_as": tool.name}
            for tool in catalog.listed
            if tool.is_shadowed
        ],
        "warnings": [str(warning) for warning in catalog.warnings],
    }


def module_list(catalog: Catalog) -> list[dict[str, Any]]:
    """Every listed tool, the built-in ones last."""
    return [
        {
            "name": tool.name,
            "full_name": tool.full_name,
            "module": tool.module.name,
            "description": tool.offer.definition.get("description") or "",
            "inputSchema": tool.offer.shown.get("inputSchema"),
        }
        for tool in catalog.listed
    ] + [
        {
            "name": each["name"],
            "full_name": each["name"],
            "module": "mcppd",
            "description": each["description"],
            "inputSchema": each["inputSchema"],
        }
        for each in (HELP_DEFINITION, CALL_TOOL_DEFINITION)
    ]


def _module(module: Module, tools: list[Tool], count: CountWorkers) -> dict[str, Any]:
    generation = module.generation
    return {
        "name": module.name,
        "directory": module.directory,
        "state": module.state,
        "generation": generation.number if generation else None,
        "digest": generation.digest[:12] if generation else None,
        "scope": module.scope,
        "about": module.about,
        "tools": [tool.name for tool in tools],
        "workers": count(generation),
        "fault": _fault(module.fault),
        "since": module.since or None,
        "faults": [str(fault) for fault in module.faults],
        "warnings": module.all_warnings,
    }


def _fault(fault: Fault | None) -> dict[str, Any] | None:
    if fault is None:
        return None
    return {
        "message": fault.message,
        "file": fault.file,
        "line": fault.line,
        "column": fault.column,
        "source": fault.source,
    }
