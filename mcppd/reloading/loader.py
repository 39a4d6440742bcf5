"""The loader: reads the registry and the modules' files as they are on the disk now. Runs off the event loop.

It decides nothing about what is served; it reuses what hasn't changed.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation, digest_of
from mcppd.core.items import needs
from mcppd.core.manifest import Manifest, parse_manifest
from mcppd.core.modules import Offer
from mcppd.core.registry import Entry, Registry, parse_registry
from mcppd.core.yaml import read_yaml
from mcppd.reloading.readings import Readings
from mcppd.reloading.stamps import Stamp, differing, is_young, source_files, stamp

MANIFEST: Final = "tool.yaml"
ENTRY: Final = "mcpptool.py"
SOURCES_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of all source files of a module: they are held in memory and sent to each worker."""
FILES_LIMIT: Final = 2000
"""Source files of a module: each is looked at before a call."""
_ESCAPED: Final = re.compile(r"\[([*?[])\]")
"""A character that `glob.escape` made plain."""
_LISTING: Final = b"list_resources"
"""The function of a module that knows resources only at run time."""
READ_TRIES: Final = 3
"""How often a file that changes while it is read is read again before the next pass has to do it."""


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """A module's directory as it lay on the disk; compared by identity."""

    directory: str
    entry: Entry
    stamps: Mapping[str, Stamp]  # of every file it is made of
    places: Mapping[str, Stamp]  # of every directory a file of it may appear in
    files: Mapping[str, bytes]
    data: Mapping[str, str]  # digests of the files that `watch:` names
    manifest: Manifest | None
    fault: Fault | None
    is_young: bool
    offers: tuple[Offer, ...] | None = None  # what the manifest came to, where that is kept from before

    @property
    def manifest_file(self) -> str:
        """The path of its manifest, which may be missing."""
        return os.path.join(self.directory, MANIFEST)

    @property
    def name(self) -> str:
        """The module's name; its directory's, where no manifest says one."""
        return self.manifest.name if self.manifest is not None else os.path.basename(self.directory)

    @property
    def lists_resources(self) -> bool:
        """Whether its code may know resources that no manifest names; found out without running any."""
        return _LISTING in self.files.get(os.path.join(self.directory, ENTRY), b"")

    def generation(self, number: int) -> Generation:
        """A generation made of these bytes."""
        every = [*self.files.items(), *((path, digest.encode()) for path, digest in self.data.items())]
        return Generation(
            module=self.name,
            number=number,
            directory=self.directory,
            entry=os.path.join(self.directory, ENTRY),
            digest=digest_of(every),
            files=dict(self.files),
            python=_interpreter(self.entry.python),
            data=self.data,
        )


@dataclass(frozen=True, slots=True)
class Scan:
    """Everything as it was on the disk at one moment."""

    registry: Registry | None = None
    fault: Fault | None = None  # of the registry; what it said before still holds
    stamps: Mapping[str, Stamp] = field(default_factory=dict)  # of the registry
    places: Mapping[str, Stamp] = field(default_factory=dict)  # of the directories that globs look into
    modules: tuple[Loaded, ...] = ()
    warnings: tuple[Fault, ...] = ()
    is_young: bool = False


class Loader:
    """Reads one registry and its modules."""

    def __init__(
        self,
        path: str,
        environ: Mapping[str, str],
        preferred: str | None = None,
        readings: Readings | None = None,
    ) -> None:
        """`preferred` is read instead of `path` as soon as it is there: the person's own over the bundled one."""
        self.path = path
        self._readings = readings
        self._preferred = preferred
        self._environ = environ

    def check_registry(self) -> None:
        """Raise FaultError if there is no registry that can be read."""
        _, fault, _ = self._registry(Scan())
        if fault is not None:
            raise FaultError(fault)

    def scan(self, before: Scan, joined: Mapping[str, frozenset[str]]) -> Scan:
        """Read what is new since `before`; `joined` are the files outside a module's directory that it imported."""
        registry, fault, stamps = self._registry(before)
        entries = registry.entries if registry is not None else ()
        known = {loaded.directory: loaded for loaded in before.modules}
        places: dict[str, Stamp] = {}
        modules: dict[str, Loaded | None] = {}  # None: claimed by an entry that is not enabled
        warnings: list[Fault] = []
        named = {
            entry.path for entry in entries if not entry.is_glob
        }  # its own entry holds, wherever it stands
        for entry in entries:
            for directory in self._directories(entry, places, warnings):
                if directory in modules or (entry.is_glob and directory in named):
                    continue
                extra = joined.get(directory, frozenset())
                modules[directory] = (
                    load(directory, entry, known.get(directory), extra, self._readings)
                    if entry.enabled
                    else None
                )
        found = tuple(loaded for loaded in modules.values() if loaded is not None)
        young = any(loaded.is_young for loaded in found) or is_young((*stamps.values(), *places.values()))
        return Scan(registry, fault, stamps, places, found, tuple(warnings), young)

    def _registry(self, before: Scan) -> tuple[Registry | None, Fault | None, dict[str, Stamp]]:
        """The registry; the former one with the fault where it can't be read now."""
        seen = self._stamps()
        if before.registry is not None and before.stamps == seen and not before.is_young:
            return before.registry, before.fault, seen
        directory = self._environ.get("MCPP_BASE_DIR") or os.path.dirname(self.path)
        try:
            document = read_yaml(_read(self.path), self.path)
            home = os.path.expanduser("~")
            registry = parse_registry(document, directory=directory, environ=self._environ, home=home)
        except OSError as error:
            return before.registry, Fault(f"can't be read: {error.strerror}", self.path), seen
        except FaultError as error:
            return before.registry, error.fault, seen
        return _with_common_options(registry), None, seen

    def _stamps(self) -> dict[str, Stamp]:
        """The stamps that tell whether the registry has changed; the preferred one takes over here."""
        if self._preferred is not None and stamp(self._preferred) is not None:
            self.path, self._preferred = self._preferred, None
        paths = [self.path] if self._preferred is None else [self.path, self._preferred]
        return {path: stamp(path) for path in paths}

    def _directories(self, entry: Entry, places: dict[str, Stamp], warnings: list[Fault]) -> Iterator[str]:
        """The module directories an entry names; looked-into directories are noted in `places`."""
        if not entry.is_glob:
            found = [entry.path]
        else:
            parent = _fixed_part(entry.path)
            places[parent] = stamp(parent)
            found = sorted(path.rstrip("/") for path in glob.glob(entry.path, recursive=True))
            found = [
                path for path in found if os.path.isdir(path) and not os.path.basename(path).startswith(".")
            ]
            places.update({path: stamp(path) for path in found if not _has_manifest(path)})
            found = [path for path in found if _has_manifest(path) or os.path.basename(path).startswith("_")]
        for path in found:
            if not os.path.basename(path).startswith("_"):
                yield path
            elif not entry.is_glob:  # below a glob it is where templates are expected
                warnings.append(Fault(f"{path} is ignored: its name begins with _ (a template)"))


def _with_common_options(registry: Registry) -> Registry:
    """The registry with what holds for all modules in each entry."""
    entries = (
        replace(
            entry,
            env={**registry.env, **entry.env},
            pass_env=tuple(dict.fromkeys((*registry.pass_env, *entry.pass_env))),
        )
        for entry in registry.entries
    )
    return replace(registry, entries=tuple(entries))


def load(
    directory: str,
    entry: Entry,
    known: Loaded | None,
    joined: Iterable[str] = (),
    readings: Readings | None = None,
) -> Loaded:
    """Read a module's directory, or reuse what is known of it."""
    if known is not None and _is_current(known, entry, joined):
        return known
    for _ in range(READ_TRIES):
        loaded = _load(directory, entry, joined)
        if not differing(loaded.stamps):
            break
    if known is not None and is_same(known, loaded):
        return replace(loaded, manifest=known.manifest, fault=known.fault, offers=known.offers)
    return _with_manifest(loaded, readings)


def _is_current(known: Loaded, entry: Entry, joined: Iterable[str]) -> bool:
    """Whether nothing on the disk has changed since a directory was read."""
    if known.entry != entry or known.is_young or not set(joined) <= known.stamps.keys():
        return False
    return not differing(known.stamps) and not differing(known.places)


def is_made_of(generation: Generation, loaded: Loaded) -> bool:
    """Whether a generation is made of exactly the files that were loaded."""
    seen = {path: content for path, content in generation.files.items() if path in loaded.stamps}
    return seen == loaded.files and generation.data == loaded.data


def is_same(known: Loaded, loaded: Loaded) -> bool:
    """Whether two readings of a directory found the same."""
    content = (known.entry, known.files, known.data) == (loaded.entry, loaded.files, loaded.data)
    return content and (loaded.manifest is not None or loaded.fault is None or loaded.fault == known.fault)


def _load(directory: str, entry: Entry, joined: Iterable[str]) -> Loaded:
    stamps: dict[str, Stamp] = {}
    places: dict[str, Stamp] = {}
    files: dict[str, bytes] = {}
    fault = entry.fault
    size = 0
    for path in [os.path.join(directory, MANIFEST), *_sources(directory, places), *joined]:
        stamps[path] = stamp(path)
        size += (stamps[path] or (0, 0, 0, 0))[2]
        if size > SOURCES_LIMIT or len(stamps) > FILES_LIMIT:
            fault = Fault(
                f"the module has more than {FILES_LIMIT} source files or {SOURCES_LIMIT >> 20} MiB of them: "
                "move what isn't its code out of its directory",
                directory,
            )
            break
        try:
            files[path] = _read(path)
        except OSError as error:
            if path.endswith(MANIFEST):
                fault = fault or _unreadable(directory, path, error)
    for pattern in entry.watch:
        places[_fixed_part(pattern)] = stamp(_fixed_part(pattern))
    data = {
        path: _digest(path, stamps)
        for pattern in entry.watch
        for path in sorted(glob.glob(pattern, recursive=True))
    }
    # editors that move the old file away before they write the new one leave a moment without any
    is_whole = os.path.join(directory, ENTRY) in files and os.path.join(directory, MANIFEST) in files
    young = is_young(stamps.values() if is_whole else (*stamps.values(), *places.values()))
    return Loaded(directory, entry, stamps, places, files, data, None, fault, young)


def _with_manifest(loaded: Loaded, readings: Readings | None) -> Loaded:
    path = loaded.manifest_file
    if path not in loaded.files:
        return loaded
    reading = readings.recall(path, loaded.files[path]) if readings is not None else None
    try:
        manifest = reading.manifest if reading else parse_manifest(read_yaml(loaded.files[path], path))
    except FaultError as error:
        return replace(loaded, fault=loaded.fault or error.fault)
    fault = loaded.fault
    if fault is None and os.path.join(loaded.directory, ENTRY) not in loaded.files:
        needed = " and ".join(f"`{each}`" for each in needs(manifest.tools, manifest.items))
        if needed:
            fault = Fault(
                f"there is no {ENTRY} beside {MANIFEST}: write it, with {needed} in it", loaded.directory
            )
    return replace(loaded, manifest=manifest, fault=fault, offers=reading.offers if reading else None)


def _sources(directory: str, places: dict[str, Stamp]) -> Iterator[str]:
    if not os.path.isdir(directory):
        places[directory] = stamp(directory)
        return
    for path, is_directory in source_files(directory):
        if is_directory:
            places[path] = stamp(path)
        else:
            yield path


def _unreadable(directory: str, path: str, error: OSError) -> Fault:
    """Why there is no manifest."""
    if os.path.isdir(directory):
        return Fault(f"can't be read: {error.strerror}", path)
    what = "is not a directory" if os.path.exists(directory) else "does not exist"
    return Fault(f"{what}: a module's `path:` is the directory that holds its {MANIFEST}", directory)


def _digest(path: str, stamps: dict[str, Stamp]) -> str:
    stamps[path] = stamp(path)
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(SOURCES_LIMIT + 1)


def _interpreter(python: str | None) -> str | None:
    """The interpreter that `python:` names, directly or as a virtual environment."""
    return os.path.join(python, "bin", "python") if python is not None and os.path.isdir(python) else python


def _has_manifest(directory: str) -> bool:
    return os.path.exists(os.path.join(directory, MANIFEST))


def _fixed_part(pattern: str) -> str:
    """The directory above the first part of a pattern that isn't a plain name."""
    fixed: list[str] = []
    for part in pattern.split("/"):
        plain = _ESCAPED.sub(r"\1", part)
        if glob.escape(plain) != part:
            break
        fixed.append(plain)
    return "/".join(fixed) or "/"
