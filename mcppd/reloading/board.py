"""The board: what lay on the disk when it was last read, and beside it what each module serves.

It answers from what it holds and from stamps; it changes nothing that is served.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from mcppd.core.catalog import Module
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.reloading import stamps
from mcppd.reloading.loader import Scan
from mcppd.reloading.slots import Slot


class Board:
    """The last scan, and a slot for each module directory in it."""

    def __init__(self) -> None:
        self.scan = Scan(is_young=True)  # unsettled until the first pass is through
        self.slots: dict[str, Slot] = {}
        self.joined: dict[str, frozenset[str]] = {}  # files from elsewhere that a module imported
        self.in_judgement: frozenset[str] | None = None  # directories, while a pass has them judged

    def take(self, scan: Scan) -> list[Slot]:
        """Take in a new scan; the slots of directories that are gone."""
        self.scan = scan
        for loaded in scan.modules:
            self.slots.setdefault(loaded.directory, Slot(loaded)).loaded = loaded
        gone = self.slots.keys() - {loaded.directory for loaded in scan.modules}
        for directory in gone:
            self.joined.pop(directory, None)
        return [self.slots.pop(directory) for directory in gone]

    def note_joined(self, generation: Generation) -> bool:
        """Files from elsewhere belong to a module from now on; whether some are new."""
        inside = generation.directory + os.sep
        outside = frozenset(path for path in generation.files if not path.startswith(inside))
        is_new = outside != self.joined.get(generation.directory, frozenset())
        self.joined[generation.directory] = outside
        return is_new

    def unsettled(self, directory: str | None) -> str | None:
        """Why what is served may not be what is on the disk: "changed", "busy", or None (D19).

        Looks at one module, or without one at everything.
        """
        scan = self.scan
        if stamps.differing(scan.stamps) or (directory is None and stamps.differing(scan.places)):
            return "changed"
        slots: Iterable[Slot] = self.slots.values()
        busy = scan.is_young or self.in_judgement is not None
        if directory is not None:
            slots = [slot] if (slot := self.slots.get(directory)) else []
            busy = not slots or directory in (self.in_judgement or ())
        for slot in slots:
            if reason := self._slot_unsettled(slot):
                return reason
        return "busy" if busy else None

    def modules(self) -> list[Module]:
        """The modules in registry order, each with its fault; a name that is taken is a fault of the second."""
        taken: dict[str, str] = {}
        found = []
        for loaded in self.scan.modules:
            if (module := self.slots[loaded.directory].shown()) is None:
                continue
            if module.name in taken:
                text = f"the name {module.name!r} is taken by {taken[module.name]}: give one of them another"
                fault = Fault(text, module.directory)
                module = replace(
                    module, name=module.directory, generation=None, offers=(), items=(), fault=fault
                )
            taken.setdefault(module.name, module.directory)
            found.append(module)
        return found

    def warnings(self) -> list[Fault]:
        """What is wrong with the registry."""
        scan = self.scan
        of_registry = (*scan.registry.faults, *scan.registry.warnings) if scan.registry is not None else ()
        return [*([scan.fault] if scan.fault else []), *of_registry, *scan.warnings]

    def paths_to_watch(self, registry: str) -> tuple[frozenset[str], frozenset[str]]:
        """(every path whose change matters, every directory in which one may appear)."""
        places = self.scan.places
        links = {link for path in (*self.scan.stamps, registry) for link in stamps.links_on(path)}
        wanted = {*map(os.path.dirname, self.scan.stamps), *places, *links}
        known = {*self.scan.stamps, *wanted}
        for loaded in self.scan.modules:
            known.update(loaded.stamps, loaded.places)
            wanted.update(
                loaded.places, map(os.path.dirname, loaded.stamps), stamps.links_on(loaded.directory)
            )
        return frozenset(known), frozenset(map(stamps.nearest_directory, wanted))

    def _slot_unsettled(self, slot: Slot) -> str | None:
        loaded = slot.loaded
        if stamps.differing(loaded.stamps) or (slot.fault is not None and stamps.differing(loaded.places)):
            return "changed"
        if not self.joined.get(loaded.directory, frozenset()) <= loaded.stamps.keys():
            return "changed"  # files that were imported a moment ago are not watched over yet
        on_its_way = slot.candidate is not None and not slot.candidate.is_served
        return "busy" if on_its_way or loaded.is_young else None
