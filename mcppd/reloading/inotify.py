"""inotify: what the system tells of directories, on a descriptor that an event loop can wait for (inotify(7))."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

MODIFY: Final = 0x002
ATTRIB: Final = 0x004
CLOSE_WRITE: Final = 0x008
MOVED_FROM: Final = 0x040
MOVED_TO: Final = 0x080
CREATE: Final = 0x100
DELETE: Final = 0x200
DELETE_SELF: Final = 0x400
MOVE_SELF: Final = 0x800
UNMOUNT: Final = 0x2000
OVERFLOW: Final = 0x4000
IGNORED: Final = 0x8000
ONLY_DIRECTORIES: Final = 0x0100_0000
MASK_ADD: Final = 0x2000_0000
WANTED: Final = (MODIFY | ATTRIB | CLOSE_WRITE | MOVED_FROM | MOVED_TO | CREATE | DELETE) | (
    DELETE_SELF | MOVE_SELF | ONLY_DIRECTORIES
)
"""All that can change what is read in a directory, or which directory is at its path."""
ON_THE_WAY: Final = DELETE_SELF | MOVE_SELF | ONLY_DIRECTORIES | MASK_ADD
"""All that can change which directory is at a path below this one, which may be watched for more by another name."""
GONE: Final = DELETE_SELF | MOVE_SELF | UNMOUNT | IGNORED
"""A watch that is at its end, or no longer where it was."""

_EVENT: Final = struct.Struct("iIII")
"""Watch, mask, cookie, length of the name that follows."""
_ROOM: Final = 64 * 1024
"""Bytes that are read at a time: some thousand events."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened in a watched directory, or (without a name) to it; watch -1 is the queue itself."""

    watch: int
    mask: int
    name: str


class Inotify:
    """One instance, closed by whoever opened it. Raises OSError where the system gives no more."""

    def __init__(self) -> None:
        self._library: Any = ctypes.CDLL(None, use_errno=True)
        self._library.inotify_add_watch.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
        self.descriptor: Final[int] = self._result(
            self._library.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK), "inotify"
        )

    def add(self, directory: str, mask: int = WANTED) -> int:
        """Watch a directory; the number of its watch, the same again for one that is watched. Raises OSError."""
        added = self._library.inotify_add_watch(self.descriptor, os.fsencode(directory), mask)
        return self._result(added, directory)

    def remove(self, watch: int) -> None:
        """Watch no longer; one that has ended by itself is no mistake."""
        self._library.inotify_rm_watch(self.descriptor, watch)

    def events(self) -> Iterator[Event]:
        """What has happened since the last time."""
        while True:
            try:
                data = os.read(self.descriptor, _ROOM)
            except BlockingIOError:
                return
            start = 0
            while start < len(data):
                watch, mask, _, length = _EVENT.unpack_from(data, start)
                start += _EVENT.size
                yield Event(watch, mask, os.fsdecode(data[start : start + length].rstrip(b"\0")))
                start += length

    def close(self) -> None:
        """End every watch."""
        os.close(self.descriptor)

    @staticmethod
    def _result(number: int, path: str) -> int:
        if number < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), path)
        return number
