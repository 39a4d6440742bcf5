"""A slot: what one module directory serves now, and what it is about to serve."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from mcppd.core.catalog import Module, Offer, Settings
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.items import Item, in_directory
from mcppd.core.kinds import Kind
from mcppd.core.limits import UNSAID, of_tool, over
from mcppd.core.manifest import Manifest
from mcppd.core.modules import DEFAULT_WORKERS
from mcppd.core.registry import Entry
from mcppd.core.unmatched import unmatched
from mcppd.reloading.loaded import Loaded, counted, is_made_of, is_same


@dataclass(slots=True, eq=False)
class Candidate:
    """A newer version of a module, on its way to being served."""

    loaded: Loaded
    module: Module  # as it will be served if it turns out good
    task: asyncio.Task[Fault | None]
    is_served: bool = False  # served already, while it is being compiled: nothing was served before it
    begun: float = field(default_factory=time.monotonic)

    def is_for(self, loaded: Loaded) -> bool:
        """Whether it is made of just these files, run in this way."""
        return _matches(self.module, self.loaded.entry, loaded)


@dataclass(slots=True, eq=False)
class Slot:
    """One module directory."""

    loaded: Loaded
    numbers: int = 0  # generations made so far
    served: Module | None = None
    served_entry: Entry | None = None
    before: Module | None = None  # served before a version that has never been imported; to fall back to
    candidate: Candidate | None = None
    compared: Loaded | None = None  # the files that were last held against what is served
    broken: Loaded | None = None  # the newest version that turned out bad
    fault: Fault | None = None  # why
    since: str = ""
    tries: int = 0  # in a row that failed for nothing that is in its files
    is_to_be_tried: bool = False  # somebody wants to know whether what was found broken still is
    is_held: bool = False  # a newer version waits for what is saved elsewhere
    losing_since: float | None = (
        None  # monotonic seconds: when a newer version was first seen to take something away
    )
    _agreed: tuple[Loaded, Module | None] | None = None  # files, and what is served and is made of them
    _shown: tuple[tuple[Module, Fault, str], Module] | None = (
        None  # what was made of what; so it stays one value
    )

    @property
    def name(self) -> str:
        """The name of what is served, or else of what lies on the disk."""
        return self.served.name if self.served is not None else self.loaded.name

    @property
    def is_underway(self) -> bool:
        """Whether a newer version is being prepared, or waits for what is saved elsewhere."""
        return self.candidate is not None or self.is_held

    def shown(self) -> Module | None:
        """What is served, with what is wrong with anything newer."""
        if self.served is None or self.fault is None:
            return self.served
        parts = (self.served, self.fault, self.since)
        if self._shown is None or self._shown[0] != parts:
            self._shown = parts, replace(self.served, fault=self.fault, since=self.since)
        return self._shown[1]

    def modules(self) -> Iterator[Module]:
        """Every version that is served, is about to be, or is there to fall back to."""
        candidate = self.candidate.module if self.candidate is not None else None
        return (module for module in (self.served, self.before, candidate) if module is not None)

    def serves(self, loaded: Loaded) -> bool:
        """Whether what is served is made of just these files, run in this way."""
        return self.served is not None and _matches(self.served, self.served_entry, loaded)

    def is_settled(self, loaded: Loaded) -> bool:
        """Whether it was found before, and needn't be again, that these files are what is served."""
        if self.candidate is not None or self.fault is not None or self._agreed is None:
            return False
        return self._agreed[0] is loaded and self._agreed[1] is self.served

    def settle(self, loaded: Loaded) -> None:
        """These files are what is served: nothing is wrong any more."""
        self._agreed = loaded, self.served
        if self.served is not None and self.served.generation is not None:
            self.served.generation.found.update(loaded.own_files)
        self.mend()

    def differing(self, loaded: Loaded) -> frozenset[str]:
        """The files in which a new reading differs from what is served."""
        generation = self.served.generation if self.served is not None else None
        if generation is None:
            return frozenset()
        old: dict[str, object] = {**counted(generation, loaded), **generation.data}
        new: dict[str, object] = {**loaded.files, **loaded.data}
        return frozenset(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))

    def is_known_broken(self, loaded: Loaded) -> bool:
        """Whether just these files turned out bad already."""
        return self.broken is not None and is_same(self.broken, loaded)

    def mistake_in(self, loaded: Loaded, offers: tuple[Offer, ...]) -> Fault | None:
        """The fault by which a new manifest would take what works away (D7); a removal on purpose has none."""
        served, manifest = self.served, loaded.manifest
        if served is None or served.generation is None or manifest is None:
            return None
        lost = _good(served.offers, served.items) - _good(offers, manifest.items)
        known = {fault.message for fault in served.faults}
        nameless = [fault for fault in manifest.faults if fault.message not in known] if lost else []
        return next(
            (each.fault for each in _all(offers, manifest.items) if each.fault and _identity(each) in lost),
            next(iter(nameless), None),
        )

    def loses(self, loaded: Loaded, offers: tuple[Offer, ...]) -> bool:
        """Whether a new version has another name, or no longer all that is served of the module."""
        served, manifest = self.served, loaded.manifest
        if served is None or served.generation is None or manifest is None:
            return False
        return loaded.name != served.name or not _good(served.offers, served.items) <= _good(
            offers, manifest.items
        )

    def has_other_manifest(self, loaded: Loaded) -> bool:
        """Whether a new version says something else of itself than what is served."""
        generation = self.served.generation if self.served is not None else None
        path = loaded.manifest_file
        return generation is None or generation.files.get(path) != loaded.files.get(path)

    def next_number(self) -> int:
        """The number of a new generation."""
        self.numbers += 1
        return self.numbers

    def drop_candidate(self) -> Candidate | None:
        """Give up what is on its way: something newer is there."""
        candidate, self.candidate = self.candidate, None
        if candidate is not None:
            candidate.task.cancel()
        return candidate

    def break_with(self, loaded: Loaded, fault: Fault, now: str) -> None:
        """Note that the newest version is bad; what was served goes on."""
        if self.fault is None:
            self.since = now
        self.broken, self.fault = loaded, fault

    def mend(self) -> None:
        """What is served is the newest version again."""
        self.broken, self.fault, self.since, self.tries = None, None, "", 0


def _good(offers: Iterable[Offer], items: Iterable[Item]) -> set[tuple[Kind, str]]:
    """What of a module can be used."""
    return {_identity(each) for each in _all(offers, items) if each.fault is None}


def _all(offers: Iterable[Offer], items: Iterable[Item]) -> tuple[Offer | Item, ...]:
    return (*offers, *items)


def _identity(each: Offer | Item) -> tuple[Kind, str]:
    return ("tools", each.name) if isinstance(each, Offer) else (each.kind, each.key)


def _matches(module: Module, entry: Entry | None, loaded: Loaded) -> bool:
    generation = module.generation
    return generation is not None and entry == loaded.entry and is_made_of(generation, loaded)


def module_of(loaded: Loaded, generation: Generation | None, offers: tuple[Offer, ...]) -> Module:
    """A module to serve, out of what was loaded."""
    entry, manifest = loaded.entry, loaded.manifest
    items = manifest.items if manifest else ()
    settings = _settings(entry, manifest)
    return Module(
        name=loaded.name,
        directory=loaded.directory,
        about=manifest.about or "" if manifest else "",
        scope=manifest.scope if manifest else "local",
        settings=settings,
        generation=generation,
        offers=tuple(offer for offer in offers if entry_allows(entry, offer.name)),
        items=tuple(in_directory(item, loaded.directory) for item in items),
        lists_resources=loaded.lists_resources,
        faults=(
            *(manifest.faults if manifest else ()),
            *(each.fault for each in _all(offers, items) if each.fault),
        ),
        warnings=(*manifest.warnings, *_unmatched(entry, manifest)) if manifest else (),
    )


def _unmatched(entry: Entry, manifest: Manifest) -> Iterable[Fault]:
    """What the registry says of tools that the module doesn't have; a glob's may be those of another module."""
    return () if entry.is_glob else unmatched(entry, [tool.name for tool in manifest.tools])


def _settings(entry: Entry, manifest: Manifest | None) -> Settings:
    said, tools = (manifest.limits, manifest.tools) if manifest else (UNSAID, ())
    limits = over(entry.limits, said)
    return Settings(
        timeout=limits.timeout,
        import_timeout=limits.import_timeout,
        memory=limits.memory,
        processes=limits.processes,
        output=limits.output,
        workers=limits.workers or DEFAULT_WORKERS,
        queue=limits.queue,
        of_tools={
            tool.name: of_tool(tool.name, entry.limits, entry.of_tools, said, tool.limits) for tool in tools
        },
        overlap=entry.overlap,
        python=entry.python,
        env=entry.env,
        pass_env=entry.pass_env,
        fail_when_broken=entry.on_broken == "fail",
        stateful=limits.workers == 1,
    )


def entry_allows(entry: Entry, tool: str) -> bool:
    """Whether the registry's `tools: {allow, deny}` lets a tool through."""
    allowed = entry.allow is None or any(fnmatchcase(tool, pattern) for pattern in entry.allow)
    return allowed and not any(fnmatchcase(tool, pattern) for pattern in entry.deny)
