"""What differs between two catalogs, and what several reloads came to, as a report tells it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from mcppd.core.catalog import Catalog, Module
from mcppd.core.differences import differing_fields
from mcppd.core.errors import UnknownModuleError
from mcppd.core.items import reported_name
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.names import nearest
from mcppd.core.reports import ModuleChange, Report, digest_shown
from mcppd.core.served import Served

A = TypeVar("A")


@dataclass(frozen=True, slots=True)
class Differences:
    """What clients see otherwise in one catalog than in another, by module and then by its name in reports."""

    gone: Mapping[str, Mapping[str, Served]]  # what looked as it did before; of what changed too
    come: Mapping[str, Mapping[str, Served]]  # what looks as it does now
    kinds: frozenset[Kind]


def differences(old: Catalog, new: Catalog) -> Differences:
    """What clients see otherwise; tools first, each kind in order. It takes next to nothing for what is the same."""
    gone: dict[str, dict[str, Served]] = {}
    come: dict[str, dict[str, Served]] = {}
    kinds: set[Kind] = set()
    for kind in KINDS:
        before, after = (
            {each.key: each for each in every} for every in apart(old.of_kind(kind), new.of_kind(kind))
        )
        for these, those, found in ((before, after, gone), (after, before, come)):
            for key, each in these.items():
                other = those.get(key)
                if other is None or not _is_alike(each, other):
                    found.setdefault(each.module.name, {})[reported_name(kind, key)] = each
                    kinds.add(kind)
    return Differences(gone, come, frozenset(kinds))


def apart(old: Iterable[A], new: Iterable[A]) -> tuple[list[A], list[A]]:
    """Those of each that are not among the others, by identity: what stays the very same needn't be compared."""
    olds, news = [*old], [*new]
    before, after = set(olds), set(news)
    return [each for each in olds if each not in after], [each for each in news if each not in before]


def _is_alike(one: Served, other: Served) -> bool:
    """Whether two of one name are the same to clients, and of one module."""
    return one.module.name == other.module.name and one.appearance == other.appearance


def compare(old: Catalog, new: Catalog, found: Differences | None = None) -> tuple[ModuleChange, ...]:
    """What differs between two catalogs, module by module; `found` where it is known what clients see of it."""
    found = differences(old, new) if found is None else found
    before, after = ({each.name: each for each in every} for every in apart(old.modules, new.modules))
    changes = (
        _change(name, before.get(name), after.get(name), found.gone.get(name, {}), found.come.get(name, {}))
        for name in sorted(before.keys() | after.keys() | found.gone.keys() | found.come.keys())
    )
    return tuple(change for change in changes if change is not None)


def joined(reports: Sequence[Report], changes: tuple[ModuleChange, ...]) -> Report:
    """One report for several reloads, one after the other, that came to these changes together."""
    stages: dict[str, float] = {}
    for report in reports:
        for stage, seconds in report.stages.items():
            stages[stage] = stages.get(stage, 0.0) + seconds
    return replace(
        reports[-1],
        seconds=sum(report.seconds for report in reports),
        modules=changes,
        list_changed=any(report.list_changed for report in reports),
        notified=max(report.notified for report in reports),
        stages=stages,
    )


def only(report: Report, name: str, before: Catalog, after: Catalog) -> Report:
    """What a report says of one module, which was or is there. Raises UnknownModuleError."""
    known = [module.name for module in (*after.modules, *before.modules)]
    if name not in known:
        raise UnknownModuleError(name, nearest(name, known))
    return report.of_module(name)


def _change(
    name: str,
    before: Module | None,
    after: Module | None,
    old: Mapping[str, Served],
    new: Mapping[str, Served],
) -> ModuleChange | None:
    changed = tuple(each for each in new if each in old)
    change = ModuleChange(
        name,
        before.number if before is not None else None,
        after.number if after is not None else None,
        tuple(each for each in new if each not in old),
        tuple(each for each in old if each not in new),
        changed,
        str(after.fault) if after is not None and after.fault else None,
        digest_shown(before),
        digest_shown(after),
        {each: differing_fields(old[each].advertised, new[each].advertised) for each in changed},
    )
    is_same = (
        before is not None and after is not None and before.fault == after.fault and change.old == change.new
    )
    return None if is_same and not (change.added or change.removed or change.changed) else change
