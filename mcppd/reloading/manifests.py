"""The last good manifests, kept over a restart of the daemon: their names, not their code (D7)."""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import replace

from mcppd.core.errors import FaultError
from mcppd.core.manifest import parse_manifest
from mcppd.core.yaml import read_yaml
from mcppd.reloading.keeping import write_whole
from mcppd.reloading.loaded import MANIFEST, Loaded


class KeptManifests:
    """A directory of the manifests that were served last, one for each module directory."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._written: dict[str, bytes] = {}

    def keep(self, loaded: Loaded) -> None:
        """Note a manifest that is being served; a disk that refuses costs only the names after a restart."""
        text = loaded.files[os.path.join(loaded.directory, MANIFEST)]
        path = self._path(loaded.directory)
        if self._written.get(path) == text:
            return
        self._written[path] = text
        write_whole(path, text)

    def recall(self, loaded: Loaded) -> Loaded:
        """The same with the manifest that was served last, if there is one that can be read."""
        path = self._path(loaded.directory)
        with contextlib.suppress(OSError, FaultError), open(path, "rb") as file:
            return replace(loaded, manifest=parse_manifest(read_yaml(file.read(), path)))
        return loaded

    def _path(self, directory: str) -> str:
        name = hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:16]
        return os.path.join(self._directory, f"{name}.yaml")
