"""Readings: what manifests came to, kept on disk by their bytes, since reading a thousand tools takes a second."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import io
import os
import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import mcppd.core
from mcppd.core.catalog import Offer
from mcppd.core.faults import Fault
from mcppd.core.items import Item
from mcppd.core.limits import Limits, ToolLimits
from mcppd.core.manifest import Manifest, ToolDefinition
from mcppd.reloading.keeping import write_whole

FILES_KEPT: Final = 4000
"""Manifests; more than anybody has, some tens of megabytes."""
DIGEST: Final = 32
"""Bytes of a digest, which stands before the rest: a disk may keep half of a file."""
READERS: Final = ("PyYAML", "jsonschema")
"""Packages whose other version may read the same bytes in another way."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What one manifest came to: itself, and the tools it offers, those with a bad schema quarantined."""

    manifest: Manifest
    offers: tuple[Offer, ...]


_CLASSES: Final = (Reading, Manifest, ToolDefinition, Limits, ToolLimits, Offer, Item, Fault)
KEPT: Final = {(each.__module__, each.__qualname__): each for each in _CLASSES}
"""The classes that a reading is made of. A file that names anything else is not one of ours."""


class Readings:
    """A directory of readings, one file for each manifest; losing any costs only time."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._rules = b""

    def recall(self, path: str, content: bytes) -> Reading | None:
        """What a manifest of this path and these bytes came to, if that is kept and whole."""
        try:
            with open(self._path(path, content), "rb") as file:
                digest, kept = file.read(DIGEST), file.read()
            reading = _Reader(io.BytesIO(kept)).load() if digest == _digest(kept) else None
        except (OSError, pickle.UnpicklingError):
            return None
        return reading if isinstance(reading, Reading) else None

    def keep(self, path: str, content: bytes, reading: Reading) -> None:
        """Keep one; a disk that refuses costs only time at the next start."""
        kept = pickle.dumps(reading, pickle.HIGHEST_PROTOCOL)
        write_whole(self._path(path, content), _digest(kept) + kept)

    def prune(self) -> None:
        """Remove the oldest, where there are too many."""
        with contextlib.suppress(OSError):
            files = sorted(os.scandir(self._directory), key=lambda entry: entry.stat().st_mtime)
            for entry in files[:-FILES_KEPT]:
                os.unlink(entry.path)

    def _path(self, path: str, content: bytes) -> str:
        self._rules = self._rules or _rules()
        whole = hashlib.sha256(self._rules)
        for part in (os.fsencode(path), content):
            whole.update(b"%d:" % len(part) + part)
        return os.path.join(self._directory, whole.hexdigest()[:32])


def _digest(kept: bytes) -> bytes:
    return hashlib.sha256(kept).digest()


def _rules() -> bytes:
    """What else decides what bytes come to: this version of our own reading, the packages' and Python's."""
    own = sorted(_sources(os.path.dirname(mcppd.core.__file__)))
    packages = [importlib.metadata.version(name) for name in READERS]
    return hashlib.sha256(repr((own, packages, sys.version)).encode()).digest()


def _sources(directory: str) -> Iterator[tuple[str, int, int]]:
    for entry in os.scandir(directory):
        if entry.name.endswith(".py"):
            found = entry.stat()
            yield entry.name, found.st_size, found.st_mtime_ns


class _Reader(pickle.Unpickler):
    """Reads nothing but values of JSON and the classes of a reading, whatever a file asks for."""

    def find_class(self, module: str, name: str) -> Any:
        try:
            return KEPT[module, name]
        except KeyError:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a reading") from None
