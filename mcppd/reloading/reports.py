"""What differs between two catalogs, as a report tells it."""

from __future__ import annotations

from mcppd.core.catalog import Catalog, Module, Tool
from mcppd.core.reports import ModuleChange, Report

__all__ = ["Report", "compare"]


def compare(old: Catalog, new: Catalog) -> tuple[ModuleChange, ...]:
    """What differs between two catalogs, module by module."""
    before = {module.name: module for module in old.modules}
    after = {module.name: module for module in new.modules}
    tools_before, tools_after = _by_module(old), _by_module(new)
    changes = [
        _change(
            name, before.get(name), after.get(name), tools_before.get(name, {}), tools_after.get(name, {})
        )
        for name in sorted(before | after)
    ]
    return tuple(change for change in changes if change is not None)


def _change(
    name: str, before: Module | None, after: Module | None, old: dict[str, Tool], new: dict[str, Tool]
) -> ModuleChange | None:
    change = ModuleChange(
        name,
        before.number if before is not None else None,
        after.number if after is not None else None,
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(old.keys() - new.keys())),
        tuple(
            sorted(each for each in old.keys() & new.keys() if old[each].appearance != new[each].appearance)
        ),
        str(after.fault) if after is not None and after.fault else None,
    )
    is_same = (
        before is not None and after is not None and before.fault == after.fault and change.old == change.new
    )
    return None if is_same and not (change.added or change.removed or change.changed) else change


def _by_module(catalog: Catalog) -> dict[str, dict[str, Tool]]:
    grouped: dict[str, dict[str, Tool]] = {}
    for tool in catalog.listed:
        grouped.setdefault(tool.module.name, {})[tool.name] = tool
    return grouped
