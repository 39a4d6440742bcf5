"""Importing from the snapshot (D5): the finder that goes first, its loader, and what goes around them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import (
    BuiltinImporter,
    FrozenImporter,
    ModuleSpec,
    PathFinder,
    SourceFileLoader,
    SourcelessFileLoader,
)
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any, Final

from .snapshot import Snapshot

machinery: Any = sys.modules["_frozen_importlib_external"]  # what the import system itself is made of
_INSTALLED: Final = ("site-packages", "dist-packages")


@dataclass(frozen=True, slots=True)
class Place:
    """Where the author's module is, and under which name it is imported."""

    name: str  # mcpp_tools.<identifier>
    entry: str  # the file that is the package
    directory: str
    search: Sequence[str]  # further directories on the module search path


class SnapshotLoader(SourceFileLoader):
    """Loads one of the person's files from the bytes of the snapshot; no bytecode file is read or written."""

    def __init__(self, name: str, path: str, snapshot: Snapshot, *, package: bool) -> None:
        super().__init__(name, path)
        self._snapshot = snapshot
        self._package = package

    def is_package(self, fullname: str) -> bool:
        """Whether it is a package: the entry file is one whatever its name."""
        return self._package

    def get_code(self, fullname: str) -> CodeType:
        """The compiled source."""
        return self._snapshot.code(self.path)

    def get_data(self, path: Any) -> bytes:
        """The bytes of a file: sources as the snapshot has them, data files from the disk."""
        content = self._snapshot.content(os.fspath(path))
        return super().get_data(path) if content is None else content


class SnapshotFinder:
    """The first finder of all: finds what is the person's own, and leaves the rest to the others."""

    def __init__(self, snapshot: Snapshot, place: Place) -> None:
        self._snapshot = snapshot
        self._place = place

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the import system asks of a finder (PEP 451)."""
        if fullname == self._place.name:
            return self._spec(fullname, self._place.entry, [self._place.directory])
        if path is None and (BuiltinImporter.find_spec(fullname) or FrozenImporter.find_spec(fullname)):
            return None
        if path is not None and not any(map(self._may_hold_own, path)):
            return None  # a package that is installed: most of what is ever looked for
        return self._search(fullname, sys.path if path is None else path)

    def _search(self, fullname: str, entries: Sequence[str]) -> ModuleSpec | None:
        """Walk the search path as PathFinder does, with the snapshot laid over each directory."""
        portions: list[str] = []
        kept = False  # some portion of a namespace package is in the snapshot
        leftover: str | None = None  # a bytecode file whose source is gone
        bases = []  # where it would be
        for entry in entries:
            folder = _absolute(entry)
            if folder is None:
                continue
            base = os.path.join(folder, fullname.rpartition(".")[2])
            bases.append(base)
            found = self._in_snapshot(fullname, base) or PathFinder.find_spec(fullname, [entry])
            if found is not None and found.loader is not None:
                if isinstance(found.loader, SourcelessFileLoader) and self._is_own(found.origin, ".pyc"):
                    leftover = found.origin
                    continue
                return self._own(found) or (found if leftover else None)
            kept = kept or self._snapshot.has_folder(base)
            portions += [base] if self._snapshot.has_folder(base) else _locations(found)
        if kept:
            return self._namespace(fullname, portions)
        if not portions:
            for base in bases:
                self._snapshot.miss(base)
        if leftover:  # raised here, since the finders after this one would use the file
            text = f"No module named {fullname!r} (its source is gone, and {leftover} is not used)"
            raise ModuleNotFoundError(text, name=fullname)
        return None

    def _in_snapshot(self, fullname: str, base: str) -> ModuleSpec | None:
        initial = os.path.join(base, "__init__.py")
        if self._snapshot.known(initial) is not None:
            return self._spec(fullname, initial, [base])
        if self._snapshot.known(base + ".py") is not None:
            return self._spec(fullname, base + ".py", None)
        return None

    def _own(self, found: ModuleSpec) -> ModuleSpec | None:
        """The spec of a file of the person's own, with our loader; None for everything else."""
        if isinstance(found.loader, SnapshotLoader):
            return found
        if not (isinstance(found.loader, SourceFileLoader) and self._is_own(found.origin, ".py")):
            return None
        locations = found.submodule_search_locations
        return self._spec(found.name, str(found.origin), None if locations is None else list(locations))

    def _spec(self, fullname: str, path: str, locations: list[str] | None) -> ModuleSpec | None:
        loader = SnapshotLoader(fullname, path, self._snapshot, package=locations is not None)
        return spec_from_file_location(fullname, path, loader=loader, submodule_search_locations=locations)

    def _namespace(self, fullname: str, portions: list[str]) -> ModuleSpec:
        spec = ModuleSpec(fullname, None, is_package=True)
        # the import system's own kind of path, since importlib.resources asks for it by name
        spec.submodule_search_locations = machinery._NamespacePath(fullname, portions, self.find_spec)  # noqa: SLF001 - there is no public one
        return spec

    def _may_hold_own(self, entry: object) -> bool:
        folder = _absolute(entry)
        return folder is not None and self._snapshot.is_own(os.path.join(folder, "any.py"))

    def _is_own(self, origin: str | None, suffix: str) -> bool:
        return origin is not None and self._snapshot.is_own(origin.removesuffix(suffix) + ".py")


def install(snapshot: Snapshot, place: Place) -> None:
    """Let everything that is imported from now on come from the snapshot first."""
    parent = ModuleType(place.name.rpartition(".")[0])
    parent.__path__ = []
    sys.modules[parent.__name__] = parent
    sys.meta_path.insert(0, SnapshotFinder(snapshot, place))
    _extend_path(place)
    _watch_detours(snapshot)


def _extend_path(place: Place) -> None:
    """The module's directory comes after the standard library and before what is installed."""
    installed = [at for at, entry in enumerate(sys.path) if entry.endswith(_INSTALLED)]
    sys.path.insert(min(installed, default=len(sys.path)), place.directory)
    sys.path.extend(place.search)


def _watch_detours(snapshot: Snapshot) -> None:
    """Note the person's files that are loaded around the finder, and keep bytecode files away from them."""
    cache_from_source: Callable[..., str] = machinery.cache_from_source
    open_code: Callable[[str], Any] = io.open_code

    def note(path: object) -> bool:
        whole = _absolute(path)
        if whole is None or not snapshot.is_own(whole):
            return False
        snapshot.note(whole)
        return True

    def own_files_have_no_cache(path: Any, *arguments: Any, **options: Any) -> str:
        if note(os.fspath(path)):
            raise NotImplementedError  # what the import system takes as: there is no cache
        return cache_from_source(path, *arguments, **options)

    def open_code_and_note(path: str) -> Any:
        note(path)
        return open_code(path)

    machinery.cache_from_source = own_files_have_no_cache
    io.open_code = open_code_and_note  # runpy reads through it
    sys.dont_write_bytecode = False  # for what is installed; -B is for what is imported before this


def _absolute(path: object) -> str | None:
    """An absolute path; None for what is no path as text."""
    if not isinstance(path, str):
        return None
    try:
        return os.path.abspath(path)
    except FileNotFoundError:  # a relative one, and the working directory is gone
        return None


def _locations(found: ModuleSpec | None) -> list[str]:
    return list(found.submodule_search_locations or ()) if found else []
