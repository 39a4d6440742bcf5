"""The publisher: puts another catalog in place of the one that is served, and says what that changed (D6, D8)."""

from __future__ import annotations

import logging
import operator
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final

from mcppd.core.catalog import Catalog, build_catalog
from mcppd.core.events import Reloaded, Tell, ignore
from mcppd.core.faults import Fault
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.modules import Module
from mcppd.core.reports import Report
from mcppd.core.succession import succeeding
from mcppd.reloading.laps import Laps
from mcppd.reloading.reports import apart, compare, differences, joined

logger = logging.getLogger("mcppd.registry")

OURSELVES: Final = "mcppd"
"""Who says what no module is to blame for."""
REPORTS_KEPT: Final = 16
"""Reports that are remembered: whoever asks for a reload is told of all that came while it waited."""
REMOVED_KEPT: Final = 1000
"""Names of removed tools that are remembered, to say when they went."""


class Publisher:
    """Owns the catalog: the only one who puts another in its place."""

    def __init__(self) -> None:
        self.catalog = Catalog((), ())
        self.reports: deque[Report] = deque(maxlen=REPORTS_KEPT)  # the last one last
        self.tell: Callable[[Collection[Kind]], int] = lambda _: (
            0
        )  # of kinds whose list changed; how many were told
        self.log: Callable[[str, str, str], None] = lambda *_: None  # (level, who says it, text), to clients
        self.events: Tell = ignore
        self._removed: dict[str, str] = {}
        self._is_first = True

    @property
    def last_report(self) -> Report | None:
        """What the last reload did, if there was one."""
        return self.reports[-1] if self.reports else None

    def report_after(self, known: Report | None, before: Catalog, seconds: float) -> Report:
        """What was done, with what is broken, since a report was the last one and a catalog was served."""
        reports = [*takewhile(lambda each: each is not known, reversed(self.reports))][::-1]
        if reports:
            report = joined(reports, compare(before, self.catalog))
        else:  # also where the watcher was first
            report = Report(clock(), seconds, (), list_changed=False, before=known)
        return report.with_broken(self.catalog)

    def publish(self, modules: Sequence[Module], warnings: Sequence[Fault], laps: Laps) -> bool:
        """Serve these modules from now on; False where that is what is served already."""
        is_first, self._is_first = self._is_first, False  # nobody can have seen another list
        old = self.catalog
        if not is_first and _is_served(old, modules, warnings):
            return False
        new = succeeding(old, modules, warnings) or build_catalog(modules, warnings)
        found = differences(old, new)
        new.take_after(old, [kind for kind in KINDS if kind not in found.kinds])
        changes = compare(old, new, found)
        if not changes and old.warnings == new.warnings and _made_of(old) == _made_of(new):
            return False
        kinds = changed_kinds(old, new)
        self._note_removed(old, new)
        self.catalog = replace(new, removed=dict(self._removed))
        laps.lap("published")
        notified = self.tell(kinds) if kinds and not is_first else 0
        laps.lap("notified")
        if changes:
            report = Report(clock(), laps.seconds, changes, bool(kinds), notified, laps.stages)
            self.reports.append(report)
            self.events(Reloaded(report))
        for level, name, text in news(old, new):
            self.log(level, name, text)
            if name == OURSELVES:  # what modules do stands in the report
                logger.warning("%s", text)
        return True

    def _note_removed(self, old: Catalog, new: Catalog) -> None:
        for tool in apart(old.listed, new.listed)[0]:
            for name in (tool.name, tool.full_name):
                if new.find(name) is None:
                    self._removed[name] = clock()
        for name in [name for name in self._removed if new.find(name) is not None]:
            del self._removed[name]
        while len(self._removed) > REMOVED_KEPT:
            del self._removed[next(iter(self._removed))]


def news(old: Catalog, new: Catalog) -> Iterator[tuple[str, str, str]]:
    """(level, module, text) of each module that broke or was repaired, and of each new warning about the registry."""
    gone, come = apart(old.modules, new.modules)
    before = {module.name: module for module in gone}
    for module in come:
        known = before.get(module.name)
        was = known.fault if known is not None else None
        if module.fault is not None and module.fault != was:
            yield _of_broken(module)
        elif module.fault is None and was is not None:
            yield "info", module.name, f"module {module.name!r} is repaired"
    for warning in new.warnings:
        if warning not in old.warnings:
            yield "warning", OURSELVES, str(warning)


def _of_broken(module: Module) -> tuple[str, str, str]:
    if module.state == "broken":
        text = f"what is saved of module {module.name!r} does not load, its last good version answers: {module.fault}"
        return "warning", module.name, text
    return "error", module.name, f"module {module.name!r} can't answer: {module.fault}"


def _is_served(catalog: Catalog, modules: Sequence[Module], warnings: Sequence[Fault]) -> bool:
    """Whether a catalog is just of these modules: seen at a glance, though there are many."""
    is_same = len(modules) == len(catalog.modules) and all(map(operator.is_, modules, catalog.modules))
    return is_same and list(warnings) == list(catalog.warnings)


def _made_of(catalog: Catalog) -> list[tuple[str, int]]:
    """(directory, generation) of each module: a renamed directory may hold the same generation's number."""
    return [(module.directory, id(module.generation)) for module in catalog.modules]


def changed_kinds(old: Catalog, new: Catalog) -> set[Kind]:
    """The kinds whose lists have changed (D8).

    Of the resources that only code knows, other code is all that can be seen here, so it counts as a change.
    """
    kinds = {kind for kind in KINDS if old.fingerprints[kind] != new.fingerprints[kind]}
    if _listing_code(old) != _listing_code(new):
        kinds.add("resources")
    return kinds


def _listing_code(catalog: Catalog) -> set[tuple[str, str]]:
    """(name, digest) of each module that knows resources only at run time."""
    return {
        (module.name, module.generation.digest)
        for module in catalog.modules
        if module.lists_resources and module.generation is not None
    }


def clock() -> str:
    """The time of day, for people."""
    return time.strftime("%H:%M:%S")
