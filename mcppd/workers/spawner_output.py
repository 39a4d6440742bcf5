"""What workers print: appended to a capped log, and its end kept for the report of a death."""

from __future__ import annotations

import contextlib
import os
from typing import Final

LOG_CAP: Final = 1024 * 1024
"""Bytes of a log before it becomes the older one: more than a person scrolls through, and no disk fills."""
TAIL: Final = 2000
"""Characters of the last output that go into the report of a death: a traceback, not a novel."""

_MODE: Final = 0o600


class OutputLog:
    """A file that is appended to, with one older file `.1`; what the disk refuses is lost."""

    def __init__(self, path: str) -> None:
        self.users = 0  # workers that write to it
        self._path = path
        self._file: int | None = None
        self._size = 0

    def append(self, data: bytes) -> None:
        """Append what a worker printed."""
        try:
            self._make_room(len(data))
            if self._file is not None:
                self._size += os.write(self._file, data)
        except OSError:
            self.close()

    def close(self) -> None:
        """Close the file; the next output opens it again."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                os.close(self._file)
        self._file = None

    def _make_room(self, size: int) -> None:
        if self._file is not None and not os.fstat(self._file).st_nlink:
            self.close()  # somebody removed it
        if self._file is None:
            self._open()
        if self._size + size > LOG_CAP:
            os.replace(self._path, f"{self._path}.1")
            self.close()
            self._open()

    def _open(self) -> None:
        os.makedirs(os.path.dirname(self._path), exist_ok=True)  # 0700 by the spawner's umask
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        self._file = os.open(self._path, flags, _MODE)
        os.fchmod(self._file, _MODE)
        self._size = os.fstat(self._file).st_size


class Logs:
    """The logs in use, one for each path however many workers write to it."""

    def __init__(self) -> None:
        self._logs: dict[str, OutputLog] = {}

    def take(self, path: str) -> OutputLog:
        """The log at a path, for one more worker."""
        log = self._logs.setdefault(path, OutputLog(path))
        log.users += 1
        return log

    def give_back(self, path: str) -> None:
        """A worker doesn't write to it any more."""
        log = self._logs[path]
        log.users -= 1
        if not log.users:
            log.close()
            del self._logs[path]


def last_characters(tail: bytes) -> str:
    """The end of an output as text."""
    return tail.decode("utf-8", "replace")[-TAIL:]
