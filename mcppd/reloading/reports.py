"""What differs between two catalogs, as a report tells it."""

from __future__ import annotations

from collections.abc import Mapping

from mcppd.core.catalog import Catalog, Module
from mcppd.core.items import reported_name
from mcppd.core.kinds import KINDS
from mcppd.core.reports import ModuleChange, Report

__all__ = ["Report", "compare"]


def compare(old: Catalog, new: Catalog) -> tuple[ModuleChange, ...]:
    """What differs between two catalogs, module by module."""
    before = {module.name: module for module in old.modules}
    after = {module.name: module for module in new.modules}
    shown_before, shown_after = _by_module(old), _by_module(new)
    changes = [
        _change(
            name, before.get(name), after.get(name), shown_before.get(name, {}), shown_after.get(name, {})
        )
        for name in sorted(before | after)
    ]
    return tuple(change for change in changes if change is not None)


def _change(
    name: str,
    before: Module | None,
    after: Module | None,
    old: Mapping[str, object],
    new: Mapping[str, object],
) -> ModuleChange | None:
    change = ModuleChange(
        name,
        before.number if before is not None else None,
        after.number if after is not None else None,
        tuple(each for each in new if each not in old),
        tuple(each for each in old if each not in new),
        tuple(each for each in new if each in old and old[each] != new[each]),
        str(after.fault) if after is not None and after.fault else None,
    )
    is_same = (
        before is not None and after is not None and before.fault == after.fault and change.old == change.new
    )
    return None if is_same and not (change.added or change.removed or change.changed) else change


def _by_module(catalog: Catalog) -> dict[str, dict[str, object]]:
    """How all that is listed looks to clients, by module and name: tools first, each kind in order."""
    grouped: dict[str, dict[str, object]] = {}
    for kind in KINDS:
        for each in catalog.of_kind(kind):
            grouped.setdefault(each.module.name, {})[reported_name(kind, each.key)] = each.appearance
    return grouped
