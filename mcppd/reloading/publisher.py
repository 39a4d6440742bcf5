"""The publisher: puts another catalog in place of the one that is served, and says what that changed (D6, D8)."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Final

from mcppd.core.catalog import Catalog, build_catalog
from mcppd.core.events import Reloaded, Tell, ignore
from mcppd.core.faults import Fault
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.modules import Module
from mcppd.core.reports import Report
from mcppd.reloading.reports import compare

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
        if not changes and old.warnings == new.warnings:
            return False
        kinds = changed_kinds(old, new)
        self._note_removed(old, new)
        self.catalog = replace(new, removed=dict(self._removed))
        notified = self.tell(kinds) if kinds and not is_first else 0
        if changes:
            self.last_report = Report(clock(), time.monotonic() - started, changes, bool(kinds), notified)
            self.events(Reloaded(self.last_report))
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
