"""Changeover: which version of each module is served next, by what lies on the disk and what became of preparing it.

A new version is proposed, prepared, then adopted or refused (D6, D7); what is on the board afterwards is published by
whoever asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, TypeAlias

from mcppd.core.faults import Fault
from mcppd.core.modules import Offer, make_offer
from mcppd.reloading.board import Board
from mcppd.reloading.loaded import Loaded
from mcppd.reloading.manifests import KeptManifests
from mcppd.reloading.preparing import Preparing
from mcppd.reloading.publisher import clock
from mcppd.reloading.seams import Pool
from mcppd.reloading.slots import Candidate, Slot, module_of
from mcppd.reloading.stamps import YOUNG

LOSING: Final = 0.25
"""Seconds for which what takes something away waits at most for other files that are being saved."""


Proposal: TypeAlias = tuple[Slot, Loaded, tuple[Offer, ...]]
"""A module's slot, what was read of it, and what that offers."""


class Changeover:
    """Takes each slot of a board from one version to the next."""

    def __init__(self, board: Board, pool: Pool, preparing: Preparing, kept: KeptManifests) -> None:
        self._board = board
        self._pool = pool
        self._preparing = preparing
        self._kept = kept

    @property
    def is_underway(self) -> bool:
        """Whether some newer version is being prepared, or waits for what is saved elsewhere."""
        return any(slot.is_underway for slot in self._board.slots.values())

    def changed(self) -> list[tuple[Slot, Loaded]]:
        """The slots for which something new lies on the disk."""
        changed = []
        for loaded in self._board.scan.modules:
            slot = self._board.slots[loaded.directory]
            slot.is_held = False
            if slot.is_settled(loaded):
                continue
            candidate = slot.candidate
            is_saved, slot.compared = slot.compared is not loaded, loaded
            if candidate is not None and candidate.is_for(loaded):
                continue
            if candidate is None and slot.is_known_broken(loaded):
                continue
            self._discard(slot.drop_candidate())
            if slot.serves(loaded) and not loaded.fault:
                slot.settle(loaded)
                if is_saved and slot.served is not None:  # though nothing in it is new
                    self._pool.forgive(slot.served.generation)
            else:
                changed.append((slot, loaded))
        return changed

    def propose(self, proposals: list[Proposal]) -> None:
        """Let the new versions whose turn it is be prepared."""
        for slot, loaded, offers in self._due(proposals):
            self._propose(slot, loaded, offers)

    async def together(self) -> None:
        """Wait until all that is new is ready, but not long."""
        candidates = [slot.candidate for slot in self._board.slots.values() if slot.candidate is not None]
        await self._preparing.together(candidates)

    def adopt(self) -> None:
        """Take over every candidate that is done."""
        for slot in self._board.slots.values():
            candidate = slot.candidate
            if candidate is None or not candidate.task.done():
                continue
            slot.candidate = None
            self._board.own_changes.prepared(slot.loaded.directory, time.monotonic() - candidate.begun)
            fault = candidate.task.result()
            if fault is not None:
                self._refuse(slot, candidate, fault)
            elif not candidate.is_served:
                self._serve(slot, candidate)

    def fall_back(self, slot: Slot, fault: Fault) -> bool:
        """What a slot serves can't be imported: the version before takes its place, if there is one."""
        assert slot.served is not None
        self._break_with(slot, slot.loaded, fault)
        before, slot.before = slot.before, None
        slot.served = before or replace(slot.served, generation=None)
        return before is not None

    def discard(self, slots: Iterable[Slot]) -> None:
        """These are gone, with what was on its way there."""
        for slot in slots:
            self._discard(slot.drop_candidate())

    def _due(self, proposals: list[Proposal]) -> list[Proposal]:
        """The new versions whose turn it is: where one takes something away, it may be saved elsewhere in a moment.

        Then all that changes what is listed waits until no file is young any more, and is one step.
        """
        now = time.monotonic()
        is_waiting, is_young = False, self._board.scan.is_young
        for slot, loaded, offers in proposals:
            since = slot.losing_since or (now if is_young else None)
            slot.losing_since = since = since if slot.loses(loaded, offers) else None
            is_waiting |= since is not None and now - since < (LOSING if is_young else YOUNG)
        for slot, loaded, _ in proposals:
            slot.is_held = is_waiting and slot.has_other_manifest(loaded)
        return [each for each in proposals if not each[0].is_held]

    def _propose(self, slot: Slot, loaded: Loaded, offers: tuple[Offer, ...]) -> None:
        """Let a new version be prepared; serve it right away where nothing else is there to serve."""
        if loaded.fault is not None:
            # a young one may be half written: the pass that comes when it is older decides
            if not loaded.is_young:
                self._break(slot, loaded, loaded.fault, offers)
            return
        mistake = slot.mistake_in(loaded, offers)
        if mistake is not None:
            if not loaded.is_young:
                self._break(slot, loaded, mistake, offers)
            return
        self._board.own_changes.reloaded(loaded.directory, slot.differing(loaded))
        module = module_of(loaded, loaded.generation(slot.next_number()), offers)
        is_tried, slot.is_to_be_tried = slot.is_to_be_tried, False
        if is_tried:
            slot.candidate = self._preparing.begin(loaded, module, slot.served, is_tried=True)
        elif slot.served is None or slot.served.generation is None:
            slot.candidate = self._preparing.begin(loaded, module, None)
            self._serve(slot, slot.candidate)
        else:
            slot.candidate = self._preparing.begin(loaded, module, slot.served)

    def _serve(self, slot: Slot, candidate: Candidate) -> None:
        old = slot.served
        is_unproven = (
            old is not None and old.generation is not None and not self._pool.is_proven(old.generation)
        )
        if slot.before is None or not is_unproven:
            slot.before = old if is_unproven else None
        slot.served, slot.served_entry = candidate.module, candidate.loaded.entry
        slot.mend()
        self._kept.keep(candidate.loaded)

    def _refuse(self, slot: Slot, candidate: Candidate, fault: Fault) -> None:
        if candidate.is_served and slot.served is candidate.module:
            slot.served = replace(candidate.module, generation=None)
        self._break_with(slot, candidate.loaded, fault)

    def _break_with(self, slot: Slot, loaded: Loaded, fault: Fault) -> None:
        slot.break_with(loaded, fault, clock())
        if fault.is_passing:
            self._preparing.again(slot)

    def _break(self, slot: Slot, loaded: Loaded, fault: Fault, offers: tuple[Offer, ...]) -> None:
        """A version that can't even be prepared: the one before goes on, or its names do."""
        slot.break_with(loaded, fault, clock())
        if slot.served is None:
            named = loaded if loaded.manifest is not None else self._kept.recall(loaded)
            if not offers and named.manifest is not None:
                offers = tuple(make_offer(tool.name, tool.definition) for tool in named.manifest.tools)
            slot.served, slot.served_entry = module_of(named, None, offers), loaded.entry

    def _discard(self, candidate: Candidate | None) -> None:
        if candidate is not None and not candidate.is_served and candidate.module.generation is not None:
            self._pool.retire(candidate.module.generation)
