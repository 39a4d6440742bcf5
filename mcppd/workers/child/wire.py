"""The wire to the daemon: frames of a JSON head and a blob, over a descriptor that nobody else knows.

No thread reads it: it is read between calls, and polled when a call asks whether it was cancelled.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import select
import struct
import threading
import traceback
from collections import deque
from collections.abc import Mapping
from os import read, write  # bound here: what an author patches later does not reach the wire
from typing import Any, Final, NamedTuple

from .footing import identity
from .signals import held_signals, hold_signals, release_signals
from .values import json_of, value_of

MAX_FRAME: Final = 64 * 1024 * 1024
"""Bytes of a head or of a blob: as long as the longest line that the daemon takes from an agent."""

_HEADER: Final = struct.Struct(">II")
_CHUNK: Final = 64 * 1024  # bytes of one read; a larger buffer is mapped and unmapped for each
_HIGH: Final = 500  # a descriptor above those that tools use, below the usual limit of 1024
_NUMBER: Final = re.compile(rb'"id":\s*(\d+)')


class FrameTooLongError(ValueError):
    """A frame is longer than MAX_FRAME."""


class Frame(NamedTuple):
    """One message: what it says, and the bytes that came with it."""

    head: Mapping[str, Any]
    blob: bytes = b""


class Wire:
    """Both directions of the wire."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = _hide(descriptor)
        self._identity = identity(self._descriptor)
        self._incoming = bytearray()
        self._lock = threading.Lock()  # a tool's own threads may report progress
        self.speaking = (
            threading.RLock()
        )  # of what a call says; a signal handler may speak while its tool does
        self._coming = _polled(self._descriptor)  # two, since none can be used by two threads at once
        self._there = _polled(self._descriptor)
        self.waiting: deque[Frame] = deque()
        self.ended = False
        self.is_lost = False  # a tool closed it
        self.is_copy = False  # this is a forked copy of the worker
        os.register_at_fork(after_in_child=self._abandon)

    def fileno(self) -> int:
        """The descriptor, for an event loop to watch."""
        return self._descriptor

    def send(self, head: Mapping[str, Any], blob: bytes = b"") -> None:
        """Send one frame, whole; nothing happens once the daemon is gone. Raises FrameTooLongError."""
        data = _encode(head, blob)
        with held_signals(), self._lock:
            self._write(data)

    def answer(self, head: Mapping[str, Any], blob: bytes = b"") -> None:
        """The same between an author's code and the next request, when signals are held anyway."""
        data = _encode(head, blob)
        with self._lock:
            self._write(data)

    def receive(self) -> Frame | None:
        """The next frame; None at the end of the wire."""
        while not self.waiting:
            if self.ended:
                return None
            # nobody else reads now, a call that is over leaves the wire alone: so what is there stays there
            if self._wait() and self._read():
                self._take_in()
        return self.waiting.popleft()

    def check(self) -> None:
        """See whether it is still there: what stands in its place now is a file of a tool's."""
        if not self.ended and identity(self._descriptor) != self._identity:
            self.ended = self.is_lost = True

    def poll(self) -> None:
        """Take in what has come, without waiting."""
        with held_signals():
            self._take_in()

    def take(self, number: int) -> list[Mapping[str, Any]]:
        """What waits for the call that runs, cancellations and replies, taken out."""
        if not self.waiting:
            return []
        taken = [
            frame
            for frame in tuple(self.waiting)
            if frame.head.get("op") in ("cancel", "reply") and frame.head.get("id") == number
        ]
        for frame in taken:
            self.waiting.remove(frame)
        return [frame.head for frame in taken]

    def _wait(self) -> bool:
        """Wait until there is something to read; False if a signal interrupted it, and perhaps there is nothing."""
        is_there = False
        try:
            release_signals()
            is_there = bool(self._coming.poll())
        except BaseException:  # noqa: BLE001 - Ctrl-C between two calls, or a handler that an author left behind
            traceback.print_exc()
        finally:
            hold_signals()
        return is_there

    def _take_in(self) -> None:
        with self._lock:
            while not self.ended and self._there.poll(0) and self._read():
                pass  # there may be more

    def _read(self) -> bool:
        """Take in what is there; whether there may be more."""
        try:
            data = read(self._descriptor, _CHUNK)
        except OSError as error:
            self._fail(error)
            return False
        if not data:
            self.ended = True
            return False
        self._incoming += data
        while frame := self._cut():
            self.waiting.append(frame)
        return len(data) == _CHUNK

    def _cut(self) -> Frame | None:
        """The first frame of what came in, taken out, if it is whole."""
        incoming = self._incoming
        if len(incoming) < _HEADER.size:
            return None
        text_size, blob_size = _HEADER.unpack_from(incoming)
        text_end = _HEADER.size + text_size
        end = text_end + blob_size
        if len(incoming) < end:
            return None
        text = bytes(incoming[_HEADER.size : text_end])
        blob = bytes(incoming[text_end:end]) if blob_size else b""
        del incoming[:end]
        return Frame(_decode(text), blob)

    def _write(self, data: bytes) -> None:
        rest: bytes | memoryview = data
        while rest and not self.ended:
            try:
                written = write(self._descriptor, rest)
            except OSError as error:
                self._fail(error)
                return
            if written == len(rest):  # as nearly always: nothing to cut off
                return
            rest = memoryview(rest)[written:]

    def _fail(self, error: OSError) -> None:
        """It can't be used any more: closed by a tool, or reset, and then there is no daemon behind it."""
        self.ended = True
        self.is_lost = error.errno not in (errno.ECONNRESET, errno.EPIPE)

    def _abandon(self) -> None:
        """In a forked copy of this process: the wire is not its own, it must never speak."""
        self.ended = self.is_copy = True
        self._lock, self.speaking = (
            threading.Lock(),
            threading.RLock(),
        )  # threads that are not here may hold them
        with contextlib.suppress(OSError):
            os.close(self._descriptor)


def _polled(descriptor: int) -> select.poll:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return poll


def _hide(descriptor: int) -> int:
    """The same wire under a high number that no program started from here inherits."""
    try:
        hidden = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
    except OSError:  # the limit of descriptors is lower than that
        hidden = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(descriptor)
    return hidden


def _encode(head: Mapping[str, Any], blob: bytes) -> bytes:
    """A frame."""
    text = json_of(head).encode("utf-8", "replace")
    longest = max(len(text), len(blob))
    if longest > MAX_FRAME:
        raise FrameTooLongError(f"{longest} bytes are more than the limit of {MAX_FRAME}")
    return _HEADER.pack(len(text), len(blob)) + text + blob


def _decode(text: bytes) -> Mapping[str, Any]:
    """The head; one that can't be read is still told by its number, so that it gets an answer."""
    try:
        head: dict[str, Any] = value_of(text)
    except (ValueError, RecursionError) as error:
        found = _NUMBER.search(text)
        return {"op": "unreadable", "id": int(found[1]) if found else None, "why": str(error)}
    return head
