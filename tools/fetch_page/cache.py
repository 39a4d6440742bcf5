"""Pages that were fetched, in the user's cache directory, for whichever of the workers is asked next.

An entry is one file: a digest, and on the next line the page as JSON. It is put in place whole, by
a rename, so nobody sees half of one; what is found broken all the same is fetched again and replaced.
The cache never gets in the way of a fetch: what can't be read is a miss, what can't be kept isn't.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from .addresses import Network
from .fetching import Page
from .urls import Url

FORMAT: Final = 2
"""Counted up when entries change, so that none is read by a version that takes it otherwise."""

TTL: Final = 3600.0
"""Seconds that a page is served from here."""

MAX_ENTRIES: Final = 500
"""More pages than an hour of work reads; a directory of so many files is listed within a millisecond."""

MAX_BYTES: Final = 64 * 1024 * 1024
"""Bytes of all entries: sixteen of the largest, which hardly any are."""

MAX_ENTRY: Final = 4 * 1024 * 1024
"""Bytes of one entry that are read: JSON takes up to six for a character, though hardly ever more than three."""

DRAFT_SECONDS: Final = 600.0
"""The age of a file that somebody began and never put in place: writing one takes milliseconds."""

ENTRY: Final = re.compile(r"[0-9a-f]{64}")
DRAFT: Final = re.compile(r"\.[0-9a-f]{64}\.[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Hit:
    """A page that was kept, and how old it is."""

    page: Page
    age: float  # seconds


@dataclass(frozen=True, slots=True)
class File:
    """An entry as it lies on the disk."""

    written: float
    size: int
    name: str


@dataclass(frozen=True, slots=True)
class Cache:
    """The cache in one directory; None where there is no place for one."""

    directory: Path | None
    ttl: float = TTL
    max_entries: int = MAX_ENTRIES
    max_bytes: int = MAX_BYTES
    now: Callable[[], float] = time.time

    def find(self, key: str) -> Hit | None:
        """The page under a key, if it is there, in order, and not too old."""
        if self.directory is None:
            return None
        try:
            with opened(self.directory) as directory:
                written, page = decoded(key, read_file(key, directory))
        except (OSError, ValueError):
            return None
        age = self.now() - written
        return Hit(page, age) if 0 <= age < self.ttl else None  # below 0: the clock was set back

    def keep(self, key: str, page: Page) -> None:
        """Keep a page under a key, and let go of what there is too much of."""
        if self.directory is None or not page.storable:
            return
        written = self.now()
        try:
            make_private(self.directory)
            with opened(self.directory) as directory:
                os.fchmod(directory, 0o700)
                write_file(key, encoded(key, page, written), written, directory)
                self._prune(directory)
        except OSError as error:
            why = f"fetch_page: {self.directory} can't be used as a cache: {error.strerror or error}"
            print(why, file=sys.stderr)  # noqa: T201 - the module's log

    def _prune(self, directory: int) -> None:
        """Remove what is out of date, and the oldest of what is more than there may be."""
        entries = 0
        size = 0
        for file in sorted(files_in(directory), key=lambda file: file.written, reverse=True):
            if DRAFT.fullmatch(file.name):
                if not self._is_younger(file, DRAFT_SECONDS):
                    remove(file.name, directory)
                continue
            entries, size = entries + 1, size + file.size
            if entries > self.max_entries or size > self.max_bytes or not self._is_younger(file, self.ttl):
                entries, size = entries - 1, size - file.size
                remove(file.name, directory)

    def _is_younger(self, file: File, seconds: float) -> bool:
        """Whether a file's age is less; one from the future, before the clock was set back, is too old."""
        return -1 < self.now() - file.written < seconds  # others write while this goes on


def cache_directory(environ: Mapping[str, str]) -> Path | None:
    """Where the user's cache is (the XDG Base Directory Specification); None for a user with no home."""
    named = Path(environ.get("XDG_CACHE_HOME", ""))
    base = named if named.is_absolute() else Path("~/.cache").expanduser()
    return base / "mcppd" / "fetch_page" if base.is_absolute() else None


def key_of(url: Url, allowed: Iterable[Network]) -> str:
    """What a page is kept under: what a private address showed is for those alone who may connect to it."""
    return sha256(" ".join([str(FORMAT), *map(str, allowed), str(url)]).encode()).hexdigest()


def encoded(key: str, page: Page, written: float) -> bytes:
    """An entry's bytes."""
    value = {
        "written": float(written),
        "url": page.url,
        "content_type": page.content_type,
        "text": page.text,
        "whole": page.whole,
    }
    content = json.dumps(value, ensure_ascii=False).encode()
    return digest(key, content) + b"\n" + content


def decoded(key: str, data: bytes) -> tuple[float, Page]:
    """When a page was fetched, and the page. Raises ValueError for what is no entry of this key."""
    said, _, content = data.partition(b"\n")
    if said != digest(key, content):
        raise ValueError("it isn't what was written")
    match json.loads(content):
        case {
            "written": float(written),
            "url": str(url),
            "content_type": str(content_type),
            "text": str(text),
            "whole": bool(whole),
        }:
            return written, Page(url, content_type, text, whole)
    raise ValueError("it isn't an entry as this version writes it")


def digest(key: str, content: bytes) -> bytes:
    """What shows that an entry is whole, and in its place."""
    return sha256(key.encode() + content).hexdigest().encode()


@contextmanager
def opened(directory: Path) -> Iterator[int]:
    """The descriptor of the cache directory, if it is the user's own: others could put pages there."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise PermissionError(f"{directory} belongs to somebody else")
        yield descriptor
    finally:
        os.close(descriptor)


def make_private(directory: Path) -> None:
    """Make a directory, and those above it, for the user alone."""
    if not directory.parent.exists():
        make_private(directory.parent)
    directory.mkdir(0o700, exist_ok=True)


def read_file(name: str, directory: int) -> bytes:
    """The content of a plain file of a size that entries have. Raises OSError or ValueError."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe in its place must not be waited for
    with open(os.open(name, flags, dir_fd=directory), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ValueError("it is no file")
        return file.read(MAX_ENTRY)


def write_file(name: str, data: bytes, written: float, directory: int) -> None:
    """Put a file in its place, whole or not at all."""
    draft = f".{name}.{secrets.token_hex(8)}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        with open(os.open(draft, flags, 0o600, dir_fd=directory), "wb") as file:
            file.write(data)
            file.flush()
            os.utime(file.fileno(), (written, written))
        publish(draft, name, directory)
    except BaseException:
        remove(draft, directory)
        raise


def publish(draft: str, name: str, directory: int) -> None:
    """Rename a draft; a directory that stands in its place goes, since nothing of ours puts one there."""
    try:
        os.replace(draft, name, src_dir_fd=directory, dst_dir_fd=directory)
    except IsADirectoryError:
        shutil.rmtree(name, ignore_errors=True, dir_fd=directory)
        os.replace(draft, name, src_dir_fd=directory, dst_dir_fd=directory)


def files_in(directory: int) -> Iterator[File]:
    """The entries and drafts in a directory; other files are left alone."""
    with os.scandir(directory) as found:
        for entry in found:
            if not (ENTRY.fullmatch(entry.name) or DRAFT.fullmatch(entry.name)):
                continue
            with suppress(OSError):  # another worker has removed it
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISREG(status.st_mode):
                    yield File(status.st_mtime, status.st_size, entry.name)


def remove(name: str, directory: int) -> None:
    """Remove a file, if nobody else has."""
    with suppress(OSError):
        os.unlink(name, dir_fd=directory)
