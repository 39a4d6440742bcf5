"""Reports: what a reload changed, for the log, `help`, the live view and whoever asked for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from mcppd.core.catalog import Catalog

SHORT: Final = 48
"""Characters of a name or URI in a line; what is longer is cut in its middle."""

MARKS_SHOWN: Final = 12
"""Names in a line of one sign; a new module may have a hundred, and JSON has them all."""


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """What a reload did to one module.

    What came, went or changed is named as `items.reported_name` has it.
    """

    name: str
    old: int | None  # generations; None where there was or is none
    new: int | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    fault: str | None = None

    def __str__(self) -> str:
        return " ".join([self.step, *self.marks, *([f"BROKEN {self.fault}"] if self.fault else [])])

    @property
    def step(self) -> str:
        """The module, with both generations if that changed."""
        if self.old == self.new:
            return (
                self.name
                if self.added or self.removed or self.changed or self.fault
                else f"{self.name} repaired"
            )
        if self.old is None:
            return f"{self.name} new, generation {self.new}"
        if self.new is None:
            return self.name if self.fault else f"{self.name} removed"
        return f"{self.name} {self.old}→{self.new}"

    @property
    def marks(self) -> list[str]:
        """What +came, -went and ~changed, as far as there is room in a line."""
        return [mark for sign, every in self._signed() for mark in _marks(sign, every)]

    def _signed(self) -> Iterable[tuple[str, tuple[str, ...]]]:
        return (("+", self.added), ("-", self.removed), ("~", self.changed))


def _marks(sign: str, every: Sequence[str]) -> list[str]:
    hidden = len(every) - MARKS_SHOWN
    shown = every if hidden <= 1 else every[:MARKS_SHOWN]
    return [sign + _short(each) for each in shown] + ([f"{sign}{hidden} more"] if hidden > 1 else [])


def _short(name: str) -> str:
    half = SHORT // 2
    return name if len(name) <= SHORT else f"{name[: half - 1]}…{name[-half:]}"


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
        told = f", {self.notified} session{'s'[: self.notified != 1]} notified" if self.list_changed else ""
        return f"{changes} ({self.seconds * 1000:.0f} ms{told})"

    def with_broken(self, catalog: Catalog) -> Report:
        """The same, with every module that is broken now, whether this reload found it so or one before."""
        told = {change.name for change in self.modules}
        broken = (
            module for module in catalog.modules if module.fault is not None and module.name not in told
        )
        more = (ModuleChange(each.name, each.number, each.number, fault=str(each.fault)) for each in broken)
        return replace(self, modules=(*self.modules, *more))

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
