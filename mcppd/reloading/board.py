"""The board: what lay on the disk when it was last read, and beside it what each module serves.

It answers from what it holds and from stamps; it changes nothing that is served.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from mcppd.core.catalog import Module
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.reloading import stamps
from mcppd.reloading.loaded import Scan
from mcppd.reloading.own_changes import OwnChanges
from mcppd.reloading.owners import Owners
from mcppd.reloading.slots import Slot
from mcppd.reloading.sources import is_other_listing
from mcppd.reloading.stamps import Stamp


class Board:
    """The last scan, and a slot for each module directory in it."""

    def __init__(self) -> None:
        self.scan = Scan(is_young=True)  # unsettled until the first pass is through
        self.slots: dict[str, Slot] = {}
        self.joined: dict[str, frozenset[str]] = {}  # files from elsewhere that a module imported
        self.in_judgement: frozenset[str] | None = None  # directories, while a pass has them judged
        self.own_changes = OwnChanges()
        self._published: dict[str, Module | None] = {}  # what is served, by directory and in order
        self.owners = Owners()

    def take(self, scan: Scan) -> list[Slot]:
        """Take in a new scan; the slots of directories that are gone."""
        self.scan = scan
        self.owners.take(scan)
        for loaded in scan.modules:
            slot = self.slots.get(loaded.directory)
            if slot is None:
                self.slots[loaded.directory] = Slot(loaded)
            else:
                slot.loaded = loaded
        gone = self.slots.keys() - {loaded.directory for loaded in scan.modules}
        self.own_changes.forget(gone)
        for directory in gone:
            self.joined.pop(directory, None)
        return [self.slots.pop(directory) for directory in gone]

    def note_joined(self, generation: Generation) -> bool:
        """Files from elsewhere belong to a module from now on, and those that it looked for; whether some are new."""
        inside = generation.directory + os.sep
        outside = frozenset(path for path in generation.files if not path.startswith(inside))
        every = outside | generation.missed
        is_new = every != self.joined.get(generation.directory, frozenset())
        self.joined[generation.directory] = every
        is_ignored = self.own_changes.written(generation.directory, generation.written)
        return is_new or is_ignored

    def compared(self, directory: str | None) -> Iterator[str]:
        """The paths that `unsettled` looks at, of one module or of all."""
        yield from self.scan.stamps
        yield from self.scan.places
        for slot in self._slots_of(directory):
            yield from slot.loaded.stamps
            yield from slot.loaded.places

    def unsettled(self, directory: str | None, seen: Mapping[str, Stamp] = stamps.NOTHING_SEEN) -> str | None:
        """Why what is served may not be what is on the disk: "changed", "busy", or None (D19).

        Looks at one module, or without one at everything; what was `seen` a moment ago isn't looked at again.
        """
        scan = self.scan
        if stamps.differing(scan.stamps, seen) or self.has_other_places(seen):
            return "changed"
        slots = self._slots_of(directory)
        if directory is None:
            busy = scan.is_young or self.in_judgement is not None
            busy = busy or list(self._published) != [loaded.directory for loaded in scan.modules]
        else:
            busy = not slots or directory in (self.in_judgement or ())
        for slot in slots:
            if reason := self._slot_unsettled(slot, seen):
                return reason
        return "busy" if busy else None

    def has_other_places(self, seen: Mapping[str, Stamp] = stamps.NOTHING_SEEN) -> bool:
        """Whether a module may have come or gone, which may be the one that has a name from now on."""
        return stamps.differing(self.scan.places, seen)

    def published(self) -> None:
        """What the slots show is what is served from now on."""
        directories = [loaded.directory for loaded in self.scan.modules]
        self._published = {directory: self.slots[directory].shown() for directory in directories}

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
        """What is wrong with the registry, and what isn't looked at any more."""
        scan = self.scan
        of_registry = (*scan.registry.faults, *scan.registry.warnings) if scan.registry is not None else ()
        return [
            *([scan.fault] if scan.fault else []),
            *of_registry,
            *scan.warnings,
            *self.own_changes.warnings(),
        ]

    def young(self) -> frozenset[str] | None:
        """The directories of the modules that can't be believed yet, or wait for such; None: the registry can't."""
        scan = self.scan
        if scan.has_young_registry or scan.has_young_places:
            return None
        return frozenset(
            each.directory for each in scan.modules if each.is_young or self.slots[each.directory].is_held
        )

    def _slots_of(self, directory: str | None) -> Collection[Slot]:
        if directory is None:
            return self.slots.values()
        slot = self.slots.get(directory)
        return () if slot is None else (slot,)

    def _slot_unsettled(self, slot: Slot, seen: Mapping[str, Stamp]) -> str | None:
        loaded = slot.loaded
        if stamps.differing(loaded.stamps, seen):
            return "changed"
        if stamps.differing(loaded.places, seen) and (
            slot.fault is not None or not seen.keys().isdisjoint(loaded.places) or is_other_listing(loaded)
        ):
            return "changed"
        if not self.joined.get(loaded.directory, frozenset()) <= loaded.stamps.keys():
            return "changed"  # files that were imported a moment ago are not watched over yet
        on_its_way = slot.candidate is not None and not slot.candidate.is_served
        is_unpublished = slot.shown() is not self._published.get(loaded.directory)
        return "busy" if is_unpublished or on_its_way or loaded.is_young or slot.is_held else None
