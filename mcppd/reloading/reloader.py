"""The reloader: brings what is served in line with the files, pass by pass (D6, D7, D8).

A pass reads what is new on the disk, prepares what changed (compiles it; imports it, where the module was in
use), and publishes in one assignment. Passes run one at a time; a version that is slow to prepare is published by
a later pass, unless something newer has taken its place by then.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mcppd.core.catalog import Catalog
from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.modules import Module, Offer
from mcppd.core.reports import Report
from mcppd.reloading.board import Board
from mcppd.reloading.certainty import Certainty
from mcppd.reloading.changeover import Changeover
from mcppd.reloading.far_files import FarFiles
from mcppd.reloading.following import Following
from mcppd.reloading.laps import Laps
from mcppd.reloading.loaded import Loaded, Look
from mcppd.reloading.loader import Loader
from mcppd.reloading.manifests import KeptManifests
from mcppd.reloading.passes import Passes
from mcppd.reloading.preparing import Preparing
from mcppd.reloading.publisher import Publisher
from mcppd.reloading.reports import only
from mcppd.reloading.resource_files import ResourceFiles
from mcppd.reloading.seams import Pool
from mcppd.reloading.slots import Slot
from mcppd.reloading.stamps import SAVING, YOUNG
from mcppd.reloading.unread import Unread
from mcppd.reloading.verdicts import Verdicts
from mcppd.reloading.watcher import EVERYTHING, Watcher


class Reloader:
    """Owns the catalog: the only one who puts another in its place."""

    def __init__(
        self, loader: Loader, pool: Pool, verdicts: Verdicts, kept: KeptManifests, tasks: asyncio.TaskGroup
    ) -> None:
        self.publisher = Publisher()
        self.watcher = Watcher()
        self.files = ResourceFiles(tasks)
        self._loader = loader
        self._pool = pool
        self._verdicts = verdicts
        self._board = Board()
        self._passes = Passes(self._pass)
        self._laps = Laps()
        self._unread = Unread(self._board.owners, self._passes.want)
        self._changeover = Changeover(self._board, pool, Preparing(pool, tasks, self._passes), kept)
        self._far_files = FarFiles()
        self._certainty = Certainty(lambda: (self.watcher.heard(), self._passes.idle_since))

    # what the rest of the daemon asks

    async def settled(self, wanted: Callable[[Catalog], Module | None] | None) -> bool:
        """Wait until what is on the disk is what is served, for one module or for all; False if it took too long."""
        if (
            not self.watcher.far
            and self._passes.has_started
            and self._unsettled(self._directory(wanted)) is None
        ):
            return True  # as nearly always, and then nothing is to be waited for
        return await self._passes.settle(
            lambda: self._seen_unsettled(self._directory(wanted)),
            lambda: self._asked(self._directory(wanted)),
        )

    def _unsettled(self, directory: str | None) -> str | None:
        """Why a module, or anything at all, may not be served as it is on the disk; None where it is."""
        if directory is not None:
            return self._board.unsettled(directory)
        return self._certainty.unless_certain(lambda: self._board.unsettled(None))

    async def _seen_unsettled(self, directory: str | None) -> str | None:
        """The same, where a look may take long."""
        if not self.watcher.far:
            return self._unsettled(directory)
        seen = await self._far_files.look(self._board.compared(directory), self.watcher.far)
        return self._board.unsettled(directory, seen)

    def _asked(self, directory: str | None) -> frozenset[str] | None:
        """The modules that a pass has to look at for who asks about one; None: all, where there may be another."""
        return None if self.watcher.far or self._board.has_other_places() else _only(directory)

    async def reload(self, name: str | None = None) -> Report:
        """Look at everything again, also at what was found broken, and say what changed; of one module, or of all.

        Raises UnknownModuleError.
        """
        before, known = self.catalog, self.publisher.last_report
        self._forgive(name)
        started = time.monotonic()
        await self._passes.another()
        await self.settled(None)
        report = self.publisher.report_after(known, before, time.monotonic() - started)
        return report if name is None else only(report, name, before, self.catalog)

    def _forgive(self, name: str | None) -> None:
        """Let what was found broken be tried again: a module, or all of them."""
        slots = [each for each in self._board.slots.values() if name in (None, each.name)]
        for slot in slots:
            slot.is_to_be_tried = slot.broken is not None
            slot.broken = None
            if name is not None and slot.served is not None and slot.served.generation is not None:
                self._pool.forgive(slot.served.generation)
        self._loader.forgive()
        self._board.own_changes.forget([slot.loaded.directory for slot in slots])
        if name is None:
            self._pool.forgive()

    @property
    def catalog(self) -> Catalog:
        """What is served now."""
        return self.publisher.catalog

    @property
    def last_reload(self) -> str | None:
        """What the last reload did, for people."""
        report = self.publisher.last_report
        return f"{report.at} {report}" if report is not None else None

    @property
    def registry(self) -> str:
        """The file that the registry is read from."""
        return self._loader.path

    @property
    def registry_text(self) -> str:
        """The instructions that the registry gives to every client."""
        registry = self._board.scan.registry
        return registry.instructions if registry is not None else ""

    @property
    def registry_fault(self) -> Fault | None:
        """What is wrong with the registry as it lies on the disk."""
        return self._board.scan.fault

    # what the pool tells

    def joined(self, generation: Generation) -> None:
        """A worker imported files of the person's own from elsewhere: from now on they belong to the module."""
        if self._board.note_joined(generation):
            self._passes.want(only=_only(generation.directory))

    def import_failed(self, generation: Generation, fault: Fault) -> bool:
        """The first call found that a generation can't be imported; whether another takes its place."""
        slot = self._board.slots.get(generation.directory)
        if slot is None or slot.served is None:
            return False
        if slot.served.generation is not generation:
            return True
        has_another = self._changeover.fall_back(slot, fault)
        self._publish(Laps())
        self._passes.want(only=_only(generation.directory))  # what it falls back to may have other files
        return has_another

    def resource_updated(self, generation: Generation, uri: str) -> None:
        """The code of a module says that a resource of its changed."""
        self.files.tell(uri)

    # passes

    async def start(self) -> None:
        """The first pass; raises FaultError if there is no registry that can be read."""
        await self._pass()
        if self._board.scan.registry is None and self._board.scan.fault is not None:
            raise FaultError(self._board.scan.fault)
        self._passes.started()

    async def run(self) -> None:
        """Make passes for ever, as they are wanted."""
        await self._passes.run()

    async def follow(self) -> None:
        """Want a pass whenever the watcher sees something that matters, and look at the files of resources."""
        await Following(self.watcher, self._board.owners.watched, self._see).run()

    def _see(self, paths: frozenset[str], matters: bool) -> None:  # noqa: FBT001 - the shape of Following's tell
        self.files.look(paths)
        if paths is EVERYTHING:
            self._passes.want()
        elif matters:
            self._unread.told(paths, self.watcher.woken)

    def _directory(self, wanted: Callable[[Catalog], Module | None] | None) -> str | None:
        """The directory of the module that is asked about, None where there is none."""
        module = wanted(self.catalog) if wanted is not None else None
        return module.directory if module is not None else None

    async def _pass(self) -> None:
        laps, board, errand = self._laps, self._board, self._passes.take_errand()
        laps.begin(errand.noticed)
        began = time.monotonic()
        youth = SAVING if self.watcher.is_fine else YOUNG
        look = Look(dict(board.joined), board.own_changes.ignored, youth, errand.only)
        with self._unread.reading():
            scan = await asyncio.to_thread(self._loader.scan, board.scan, look)
        self._changeover.discard(board.take(scan))
        self._unread.read(scan)
        changed = self._changeover.changed()
        laps.lap("read")
        offers = await self._judged(changed)
        laps.lap("judged")
        prepared = iter(offers)
        self._changeover.propose(
            [(slot, loaded, next(prepared) if loaded.manifest else ()) for slot, loaded in changed]
        )
        self._watch()
        await self._changeover.together()
        self._changeover.adopt()
        await self.files.follow(board.modules())
        laps.lap("prepared")
        is_published = self._publish(laps)
        self._watch()
        if not (self._changeover.is_underway or (board.scan.is_young and not is_published)):
            laps.end()
        if board.scan.is_young or any(slot.is_held for slot in board.slots.values()):
            self._passes.want_at(began + youth, board.young())

    def _watch(self) -> None:
        """Watch where anything may change: of what is on the disk, and of what is served."""
        self.watcher.watch(self._board.owners.watched().directories | self.files.directories)

    async def _judged(self, changed: list[tuple[Slot, Loaded]]) -> list[tuple[Offer, ...]]:
        """What the manifests of new versions offer; meanwhile they are under way, but in no slot yet."""
        self._board.in_judgement = frozenset(loaded.directory for _, loaded in changed)
        try:
            return await self._verdicts.offers(loaded for _, loaded in changed)
        finally:
            self._board.in_judgement = None

    # publishing

    def _publish(self, laps: Laps) -> bool:
        """Put what the slots serve in place of the catalog; False where that changes nothing."""
        is_other = self.publisher.publish(self._board.modules(), self._board.warnings(), laps)
        self._board.published()
        if not is_other:
            return False
        served = [module for slot in self._board.slots.values() for module in slot.modules()]
        self._pool.retire_all_but(module.generation for module in served if module.generation is not None)
        return True


def _only(directory: str | None) -> frozenset[str] | None:
    """A module to look at; without one it is everything."""
    return None if directory is None else frozenset((directory,))
