"""What was read: a module's directory as it lay on the disk, and all of them at one moment."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from mcppd.core.faults import Fault
from mcppd.core.generation import Generation, digest_of
from mcppd.core.manifest import Manifest
from mcppd.core.modules import Offer
from mcppd.core.registry import Entry, Registry
from mcppd.reloading.stamps import YOUNG, Stamp

MANIFEST: Final = "tool.yaml"
ENTRY: Final = "mcpptool.py"
_LISTING: Final = b"list_resources"
"""The function of a module that knows resources only at run time."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A module's directory as it lay on the disk; compared by identity."""

    directory: str
    entry: Entry
    stamps: Mapping[str, Stamp]  # of every file it is made of, and of those it looked for in vain
    places: dict[str, Stamp]  # of every directory a file of it may appear in; noted anew where none did
    files: Mapping[str, bytes]
    data: Mapping[str, str]  # digests of the files that `watch:` names
    manifest: Manifest | None
    fault: Fault | None
    is_young: bool
    offers: tuple[Offer, ...] | None = None  # what the manifest came to, where that is kept from before
    links: frozenset[str] = frozenset()  # on the way to its files, and where they lead
    globbed: frozenset[str] = frozenset()  # directories in which `watch:` may find another file
    listing: frozenset[str] = frozenset()  # the sources and the data files that lay there
    folders: frozenset[str] = frozenset()  # directories among the paths at which imports had found nothing
    again: float | None = None  # monotonic seconds: when what was too much to be looked at is tried again

    @property
    def manifest_file(self) -> str:
        """The path of its manifest, which may be missing."""
        return os.path.join(self.directory, MANIFEST)

    @property
    def entry_file(self) -> str:
        """The path of the file that is run, which may be missing."""
        return os.path.join(self.directory, ENTRY)

    @property
    def name(self) -> str:
        """The module's name; its directory's, where no manifest says one."""
        return self.manifest.name if self.manifest is not None else os.path.basename(self.directory)

    @property
    def lists_resources(self) -> bool:
        """Whether its code may know resources that no manifest names; found out without running any."""
        return _LISTING in self.files.get(self.entry_file, b"")

    @property
    def own_files(self) -> Iterator[str]:
        """The files that lay in its directory."""
        return (path for path in self.files if path.startswith(self.directory + os.sep))

    def counts(self, path: str) -> bool:
        """Whether a file was looked at, or is held to be as it was known."""
        return path in self.stamps or path in self.files

    def generation(self, number: int) -> Generation:
        """A generation made of these bytes."""
        every = [*self.files.items(), *((path, digest.encode()) for path, digest in self.data.items())]
        return Generation(
            module=self.name,
            number=number,
            directory=self.directory,
            entry=self.entry_file,
            digest=digest_of(every),
            files=dict(self.files),
            python=_interpreter(self.entry.python),
            data=self.data,
            found=set(self.own_files),
            folders=self.folders,
        )


@dataclass(frozen=True, slots=True)
class Look:
    """What a scan is to look at."""

    joined: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By the directory of a module: files outside of it that it imported, or looked for."""
    ignored: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The same: files that no longer count, because it changes them itself."""
    youth: float = YOUNG
    """Seconds for which what was changed may be changed again unseen, or together with something else."""
    only: frozenset[str] | None = None
    """The directories of modules of which alone something may have changed; None: anything may have."""


@dataclass(frozen=True, slots=True)
class Scan:
    """Everything as it was on the disk at one moment."""

    registry: Registry | None = None
    fault: Fault | None = None  # of the registry; what it said before still holds
    stamps: Mapping[str, Stamp] = field(default_factory=dict)  # of the registry
    places: Mapping[str, Stamp] = field(default_factory=dict)  # of the directories that globs look into
    modules: tuple[Loaded, ...] = ()
    warnings: tuple[Fault, ...] = ()
    is_young: bool = False  # some of it can't be believed yet
    has_young_registry: bool = False  # the registry's own file
    has_young_places: bool = False  # a directory in which globs find modules
    links: frozenset[str] = frozenset()  # on the way to the registry, and where it lies


def is_made_of(generation: Generation, loaded: Loaded) -> bool:
    """Whether a generation is made of exactly the files that were loaded."""
    return (
        counted(generation, loaded) == loaded.files
        and generation.data == loaded.data
        and loaded.folders <= generation.folders
    )


def counted(generation: Generation, loaded: Loaded) -> dict[str, bytes]:
    """The files of a generation that were looked at, or lay in its directory once and may be gone.

    What else a worker imported isn't looked for: a module may make a file in a hidden place, import it and delete it.
    """
    files, found = generation.files, generation.found
    return {path: content for path, content in files.items() if loaded.counts(path) or path in found}


def is_same(known: Loaded, loaded: Loaded) -> bool:
    """Whether two readings of a directory found the same."""
    content = (known.entry, known.files, known.data) == (loaded.entry, loaded.files, loaded.data)
    content &= known.folders == loaded.folders
    content &= (known.again is None) == (loaded.again is None)
    return content and (loaded.manifest is not None or loaded.fault is None or loaded.fault == known.fault)


def _interpreter(python: str | None) -> str | None:
    """The interpreter that `python:` names, directly or as a virtual environment."""
    return os.path.join(python, "bin", "python") if python is not None and os.path.isdir(python) else python
