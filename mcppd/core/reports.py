"""Reports: what a reload changed, for the log, `help`, the live view and whoever asked for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcppd.core.catalog import Catalog, Module
from mcppd.core.report_words import fields_words, shortened

MARKS_SHOWN: Final = 12
"""Names in a line of one sign; a new module may have a hundred, and JSON has them all."""

MODULES_SHOWN: Final = 8
"""Modules in a line, beside those that are broken; a checkout or a start may change a thousand. JSON has them all."""

DIGITS: Final = 12
"""Hexadecimal digits of a digest, as the status shows it."""


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """What a reload did to one module.

    What came, went or changed is named as `items.reported_name` has it; `fields` says of what changed which members
    of its definition are others, as `inputSchema.properties.who`.
    """

    name: str
    old: int | None  # generations; None where there was or is none
    new: int | None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    fault: str | None = None
    old_digest: str | None = None  # of the files of each generation, in hexadecimal, as the status has it
    new_digest: str | None = None
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

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
        return [mark for sign, every in self._signed() for mark in self._marks(sign, every)]

    def as_json(self) -> dict[str, Any]:
        """The same as the control socket sends it."""
        return {
            "name": self.name,
            "old": self.old,
            "new": self.new,
            "old_digest": self.old_digest,
            "new_digest": self.new_digest,
            "added": list(self.added),
            "removed": list(self.removed),
            "changed": list(self.changed),
            "fields": {name: list(fields) for name, fields in self.fields.items()},
            "fault": self.fault,
        }

    def _signed(self) -> Iterable[tuple[str, tuple[str, ...]]]:
        return (("+", self.added), ("-", self.removed), ("~", self.changed))

    def _marks(self, sign: str, every: Sequence[str]) -> list[str]:
        hidden = len(every) - MARKS_SHOWN
        shown = every if hidden <= 1 else every[:MARKS_SHOWN]
        marks = [sign + shortened(each) + fields_words(self.fields.get(each, ())) for each in shown]
        return marks + ([f"{sign}{hidden} more"] if hidden > 1 else [])


@dataclass(frozen=True, slots=True)
class Report:
    """What one reload did.

    The stages, in the order in which a reload has them: noticed (from the first event to the beginning of the work),
    read, judged (the manifests), prepared (compiled, and imported where the module was in use), published, notified;
    and waited (for a save to be finished, or for other files of it). All in seconds, `seconds` is their sum.
    """

    at: str
    seconds: float
    modules: tuple[ModuleChange, ...]
    list_changed: bool
    notified: int = 0  # sessions
    stages: Mapping[str, float] = field(default_factory=dict)
    before: Report | None = None  # where this one found nothing to do: the last one that did

    def __str__(self) -> str:
        changes = "; ".join(self._shown()) or "nothing changed"
        told = f", {self.notified} session{'s'[: self.notified != 1]} notified" if self.list_changed else ""
        return f"{changes} ({self.seconds * 1000:.0f} ms{told})"

    def _shown(self) -> Iterable[str]:
        sound = [change for change in self.modules if not change.fault]
        hidden = sound[MODULES_SHOWN:] if len(sound) > MODULES_SHOWN + 1 else []
        yield from (str(change) for change in self.modules if change not in hidden)
        if hidden:
            yield f"{len(hidden)} modules more"

    def with_broken(self, catalog: Catalog) -> Report:
        """The same, with every module that is broken now, whether this reload found it so or one before."""
        told = {change.name for change in self.modules}
        broken = (
            module for module in catalog.modules if module.fault is not None and module.name not in told
        )
        return replace(self, modules=(*self.modules, *map(_broken, broken)))

    def of_module(self, name: str) -> Report:
        """The same, of one module only."""
        return replace(self, modules=tuple(change for change in self.modules if change.name == name))

    def as_json(self) -> dict[str, Any]:
        """The report as the control socket sends it."""
        report = {
            "at": self.at,
            "seconds": self.seconds,
            "modules": [change.as_json() for change in self.modules],
            "list_changed": self.list_changed,
            "notified": self.notified,
            "stages": dict(self.stages),
        }
        return report if self.before is None else {**report, "before": self.before.as_json()}


def _broken(module: Module) -> ModuleChange:
    digest = digest_shown(module)
    return ModuleChange(
        module.name,
        module.number,
        module.number,
        fault=str(module.fault),
        old_digest=digest,
        new_digest=digest,
    )


def digest_shown(module: Module | None) -> str | None:
    """As much of the digest of what a module serves as people are shown."""
    generation = module.generation if module is not None else None
    return generation.digest[:DIGITS] if generation is not None else None
