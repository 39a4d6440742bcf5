"""Contents: the bytes of a file, or what tells them from others. Off the event loop."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from typing import Final

from mcppd.reloading.shortage import unless_short
from mcppd.reloading.stamps import Stamp, stamp

SOURCES_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of all source files of a module: they are held in memory and sent to each worker."""
HASHED_LIMIT: Final = 64 * 1024 * 1024
"""Bytes of a data file that are compared, in a twentieth of a second; a larger one is told from another by when it was
saved, and how long it is."""
NOTHING: Final = hashlib.sha256().hexdigest()
"""The digest of an empty file."""


def digest(path: str, stamps: dict[str, Stamp]) -> str:
    """What tells the bytes of a data file from others; the stamp that it had before is noted. Raises ShortageError."""
    found = stamps[path] = stamp(path)
    if found is not None and found[2] > HASHED_LIMIT:
        return f"size {found[2]}, saved at {found[0]}"
    try:
        with _opened(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {error.strerror}"


def read(path: str) -> bytes:
    """The bytes of a file, as many as matter. Raises OSError, ShortageError."""
    with _opened(path) as file:
        return file.read(SOURCES_LIMIT + 1)


def _opened(path: str) -> io.BufferedReader:
    """A file to read; a pipe or a device, which may never end, is none. Raises OSError, ShortageError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        unless_short(error)
        raise
    file = open(descriptor, "rb")  # noqa: SIM115 - the caller's
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is no regular file", path)
    return file
