"""Reports: what a reload changed, for the log, `help` and whoever asked for it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mcppd.core.catalog import Catalog, Module, Tool


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """What a reload did to one module."""

    name: str
    old: int | None  # generations; None where there was or is none
    new: int | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    fault: str | None = None

    def __str__(self) -> str:
        step = f"{self.name} {self.old or '-'}→{self.new or '-'}" if self.old != self.new else self.name
        marks = [f"{sign}{each}" for sign, every in self._signed() for each in every]
        return " ".join([step, *marks, *([f"BROKEN {self.fault}"] if self.fault else [])])

    def _signed(self) -> Iterable[tuple[str, tuple[str, ...]]]:
        return (("+", self.added), ("-", self.removed), ("~", self.changed))


@dataclass(frozen=True, slots=True)
class Report:
    """What one reload did."""

    at: str
    seconds: float
    modules: tuple[ModuleChange, ...]
    list_changed: bool
    notified: int = 0  # sessions

    def __str__(self) -> str:
        changes = "; ".join(map(str, self.modules)) or "nothing changed"
        told = f", {self.notified} sessions notified" if self.list_changed else ""
        return f"{changes} ({self.seconds * 1000:.0f} ms{told})"

    def as_json(self) -> dict[str, Any]:
        """The report as the control socket sends it."""
        modules = [
            {
                "name": change.name,
                "old": change.old,
                "new": change.new,
                "added": list(change.added),
                "removed": list(change.removed),
                "changed": list(change.changed),
                "fault": change.fault,
            }
            for change in self.modules
        ]
        return {"at": self.at, "seconds": self.seconds, "modules": modules, "notified": self.notified}


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
        _number(before),
        _number(after),
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


def _number(module: Module | None) -> int | None:
    return module.generation.number if module is not None and module.generation is not None else None


def _by_module(catalog: Catalog) -> dict[str, dict[str, Tool]]:
    grouped: dict[str, dict[str, Tool]] = {}
    for tool in catalog.listed:
        grouped.setdefault(tool.module.name, {})[tool.name] = tool
    return grouped
