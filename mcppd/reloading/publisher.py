"""The publisher: puts another catalog in place of the one that is served, and says what that changed (D6, D8)."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Final

from mcppd.core.catalog import Catalog, build_catalog
from mcppd.core.events import Reloaded, Tell, ignore
from mcppd.core.faults import Fault
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.modules import Module
from mcppd.core.reports import Report
from mcppd.reloading.reports import compare

logger = logging.getLogger("mcppd.registry")

OURSELVES: Final = "mcppd"
"""Who says what no module is to blame for."""
REMOVED_KEPT: Final = 1000
"""Names of removed tools that are remembered, to say when they went."""


class Publisher:
    """Owns the catalog: the only one who puts another in its place."""

    def __init__(self) -> None:
        self.catalog = Catalog((), ())
        self.last_report: Report | None = None
        self.tell: Callable[[Collection[Kind]], int] = lambda _: (
            0
        )  # of kinds whose list changed; how many were told
        self.log: Callable[[str, str, str], None] = lambda *_: None  # (level, who says it, text), to clients
        self.events: Tell = ignore
        self._removed: dict[str, str] = {}
        self._is_first = True

    def publish(self, modules: Sequence[Module], warnings: Sequence[Fault], started: float) -> bool:
        """Serve these modules from now on; False where that is what is served already.

        `started` is when the reload began, in seconds of the monotonic clock.
        """
        is_first, self._is_first = self._is_first, False  # nobody can have seen another list
        old = self.catalog
        new = build_catalog(modules, warnings)
        changes = compare(old, new)
        if not changes and old.warnings == new.warnings and _made_of(old) == _made_of(new):
            return False
        kinds = changed_kinds(old, new)
        self._note_removed(old, new)
        self.catalog = replace(new, removed=dict(self._removed))
        notified = self.tell(kinds) if kinds and not is_first else 0
        if changes:
            self.last_report = Report(clock(), time.monotonic() - started, changes, bool(kinds), notified)
            self.events(Reloaded(self.last_report))
        for level, name, text in news(old, new):
            self.log(level, name, text)
            if name == OURSELVES:  # what modules do stands in the report
                logger.warning("%s", text)
        return True

    def _note_removed(self, old: Catalog, new: Catalog) -> None:
        for tool in old.listed:
            for name in (tool.name, tool.full_name):
                if new.find(name) is None:
                    self._removed[name] = clock()
        for name in [name for name in self._removed if new.find(name) is not None]:
            del self._removed[name]
        while len(self._removed) > REMOVED_KEPT:
            del self._removed[next(iter(self._removed))]


def news(old: Catalog, new: Catalog) -> Iterator[tuple[str, str, str]]:
    """(level, module, text) of each module that broke or was repaired, and of each new warning about the registry."""
    before = {module.name: module for module in old.modules}
    for module in new.modules:
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


def nothing_changed(started: float) -> Report:
    """The report of a reload that found nothing to do."""
    return Report(clock(), time.monotonic() - started, (), list_changed=False)


def clock() -> str:
    """The time of day, for people."""
    return time.strftime("%H:%M:%S")
