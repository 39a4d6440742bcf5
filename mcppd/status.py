"""What `mcppd status` and `mcppd list` tell of a catalog, as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from mcppd.core.builtin import CALL_TOOL_DEFINITION, HELP_DEFINITION
from mcppd.core.catalog import Catalog, Module
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.items import ITEM_KINDS
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.strikes import Workforce

WorkforceOf = Callable[[Generation | None], Workforce]
"""The workers of a generation, and the calls that wait for one."""


def status_of(catalog: Catalog, workforce: WorkforceOf) -> dict[str, Any]:
    """The modules with their states, the shadowed names and the warnings."""
    keys: dict[int, dict[Kind, list[str]]] = {}
    for kind in KINDS:
        for each in catalog.of_kind(kind):
            of_module = keys.setdefault(id(each.module), {})
            of_module.setdefault(kind, []).append(each.key)
    return {
        "modules": [
            _module(module, keys.get(id(module), {}), workforce(module.generation))
            for module in catalog.modules
        ],
        "shadowed": [*_shadowed(catalog)],
        "warnings": [str(warning) for warning in catalog.warnings],
    }


def listing(catalog: Catalog) -> dict[str, Any]:
    """Everything that is listed, by kind; the built-in tools last."""
    items = {
        str(kind): [{**each.advertised, "module": each.module.name} for each in catalog.of_kind(kind)]
        for kind in ITEM_KINDS
    }
    return {"tools": [*_tools(catalog)], **items}


def _tools(catalog: Catalog) -> Iterator[dict[str, Any]]:
    for tool in catalog.listed:
        yield {
            "name": tool.name,
            "full_name": tool.full_name,
            "module": tool.module.name,
            "description": tool.offer.definition.get("description") or "",
            "inputSchema": tool.offer.shown.get("inputSchema"),
        }
    for each in (HELP_DEFINITION, CALL_TOOL_DEFINITION):
        yield {
            "name": each["name"],
            "full_name": each["name"],
            "module": "mcppd",
            "description": each["description"],
            "inputSchema": each["inputSchema"],
        }


def _shadowed(catalog: Catalog) -> Iterator[dict[str, Any]]:
    """What is listed under its full name (`listed_as`) or not at all, since another module comes first."""
    for tool in catalog.listed:
        if tool.is_shadowed:
            yield _behind("tools", tool.own_name, tool.module, tool.name)
    for prompt in catalog.prompts:
        if prompt.is_shadowed:
            yield _behind("prompts", prompt.own_name, prompt.module, prompt.name)
    for each in catalog.shadowed:
        yield _behind(each.item.kind, each.key, each.module, None)


def _behind(kind: Kind, key: str, module: Module, listed_as: str | None) -> dict[str, Any]:
    return {"kind": kind, "name": key, "module": module.name, "listed_as": listed_as}


def _module(module: Module, keys: dict[Kind, list[str]], workforce: Workforce) -> dict[str, Any]:
    generation, condition = module.generation, workforce.condition
    of_workers = Fault(condition.text) if condition else None
    return {
        "name": module.name,
        "directory": module.directory,
        "state": replace(module, condition=condition).state,
        "generation": generation.number if generation else None,
        "digest": generation.digest[:12] if generation else None,
        "scope": module.scope,
        "about": module.about,
        **{kind: keys.get(kind, []) for kind in KINDS},
        "workers": workforce.workers,
        "busy": workforce.busy,
        "waiting": workforce.waiting,
        "retry_seconds": round(condition.seconds, 1) if condition and condition.state == "backoff" else None,
        "fault": _fault(module.fault or of_workers),
        "since": module.since or None,
        "faults": [str(each) for each in (*module.faults, of_workers if module.fault else None) if each],
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
