"""A generation: one version of one module, as the bytes it is made of (D5)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


def digest_of(files: Iterable[tuple[str, bytes]]) -> str:
    """The hexadecimal digest of files (path, content), whatever their order."""
    whole = hashlib.sha256()
    for path, content in sorted(files):
        whole.update(f"{len(path)}:{path}:{len(content)}:".encode("utf-8", "surrogateescape"))
        whole.update(content)
    return whole.hexdigest()


@dataclass(slots=True, eq=False)
class Generation:
    """The bytes that one version of a module is made of; compared by identity.

    `files` maps absolute paths to contents and holds the manifest, the entry file and every
    source file known so far; a file that a worker imports for the first time joins it.
    """

    module: str  # the module's name
    number: int  # counted from 1 for each module
    directory: str  # the module's directory, absolute
    entry: str  # the file that is the module's package: `<directory>/mcpptool.py`
    digest: str
    files: dict[str, bytes]
    python: str | None = None  # an interpreter of the module's own
    search: tuple[str, ...] = ()  # directories put at the end of the module search path
    warning: str | None = None  # why its initialize() failed, if it did
    missed: set[str] = field(default_factory=set)  # paths at which its imports looked for files in vain
    found: set[str] = field(default_factory=set)  # files of its directory that were seen to lie there
    folders: frozenset[str] = frozenset()  # directories where imports had once found nothing
    written: set[str] = field(default_factory=set)  # paths of files that its own code wrote
    data: Mapping[str, str] = field(default_factory=dict)  # digests of the data files that `watch:` names

    def meet(self, missed: Iterable[object], written: Iterable[object]) -> None:
        """Take in the paths that its code looked for in vain, and those that it wrote."""
        self.missed.update(path for path in missed if isinstance(path, str))
        self.written.update(path for path in written if isinstance(path, str))

    def join(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Take in files that a worker imported; what is there already stays as it is."""
        for path, content in files:
            self.files.setdefault(path, content)
