"""Bytes into lines and lines into bytes: the two streams between which everything goes.

The host's descriptors are shared with others, so they stay blocking: each is asked first, then given no more than it
surely takes. Lines are passed on whole or not at all, so that a daemon that ends in the middle of one tears nothing.
"""

from __future__ import annotations

import posix
from _stat import S_ISREG
from select import POLLOUT, poll

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from collections.abc import Callable
    from typing import Final

STDIN: Final = 0
STDOUT: Final = 1
# Linux gives a pipe 64 KiB, so one read empties it.
READ_BYTES: Final = 64 * 1024
# PIPE_BUF (pipe(7)): a pipe or socket that polls as writable takes this much without blocking.
WRITE_BYTES: Final = 4096
WRITABLE: Final = [(STDOUT, POLLOUT)]
# What the daemon takes of a line, without its newline (D13); nothing longer is held.
LINE_BYTES: Final = 64 * 1024 * 1024
OVERLONG_LINE: Final = (
    b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":'
    b'"Parse error: a line may have %d bytes at most; send large values as files"}}\n' % LINE_BYTES
)


class Cutter:
    """Cuts what comes in pieces into lines, each with its newline; linear, however it comes."""

    __slots__ = ("_held", "_is_skipping", "_limit", "_tell")

    def __init__(self, limit: int | None = None, tell: Callable[[], object] = lambda: None) -> None:
        """Of a line that goes over the limit it tells, and leaves it out."""
        self._held = bytearray()
        self._limit = limit
        self._tell = tell
        self._is_skipping = False

    def cut(self, data: bytes) -> list[bytes]:
        """The lines that this piece completes."""
        start = 0
        lines = []
        if self._held or self._is_skipping:
            start = data.find(b"\n") + 1
            if not start:
                self._hold(data)
                return []
            self._hold(data[:start])
            lines = [bytes(self._held)] if self._held else []
            self._held = bytearray()
            self._is_skipping = False
        elif 0 < data.find(b"\n") + 1 == len(data):
            return [data]  # one line, as mostly
        end = data.rfind(b"\n") + 1
        if end > start:
            lines += [line + b"\n" for line in data[start : end - 1].split(b"\n")]
        self._hold(data[end:] if end else data)
        return lines

    @property
    def broken_off(self) -> bytes:
        """The beginning of a line whose end hasn't come."""
        return bytes(self._held)

    def rest(self) -> list[bytes]:
        """The line that the end broke off, ended."""
        return self.cut(b"\n") if self._held else []

    def _hold(self, part: bytes) -> None:
        if self._is_skipping:
            return
        self._held += part
        if self._limit is not None and len(self._held) > self._limit + 1:
            self._held = bytearray()
            self._is_skipping = True
            self._tell()


class Host:
    """The agent: its lines come on stdin, ours go to stdout."""

    __slots__ = ("_cutter", "_ready", "_write_bytes", "failure", "has_ended", "is_gone", "unwritten")

    def __init__(self) -> None:
        self._cutter = Cutter(LINE_BYTES, lambda: self.say(OVERLONG_LINE))
        self._ready = poll()
        self._ready.register(STDOUT, POLLOUT)
        self._write_bytes = READ_BYTES if S_ISREG(posix.fstat(STDOUT).st_mode) else WRITE_BYTES
        self.unwritten = bytearray()
        self.has_ended = False
        """End of file on stdin."""
        self.is_gone = False
        """Nobody reads our stdout, or our parent is gone."""
        self.failure = ""
        """Why stdout can't be written, if it is not for want of a reader."""

    def read(self) -> list[bytes]:
        """The next lines; asked only when there is something to read."""
        try:
            data = posix.read(STDIN, READ_BYTES)
        except BlockingIOError:
            return []  # somebody else made it non-blocking, and somebody else was faster
        except OSError:
            data = b""  # a terminal that hung up, a descriptor that can't be read: nothing will ever come
        if not data:
            self.has_ended = True
            return self._cutter.rest()
        return self._cutter.cut(data)

    @property
    def broken_off(self) -> bytes:
        """The beginning of a line whose end hasn't come."""
        return self._cutter.broken_off

    def cut(self, data: bytes) -> list[bytes]:
        """The lines that this piece completes; too long ones are answered."""
        return self._cutter.cut(data)

    def say(self, data: bytes) -> None:
        """Whole lines for the agent; mostly it takes them at once, which saves a turn of the loop."""
        given = 0
        if data and not self.unwritten and self._ready.poll(0) == WRITABLE:
            given = self._give(data)
        if given < len(data):
            self.unwritten += memoryview(data)[given:]

    def write(self) -> None:
        """Write as much of what waits as surely goes; asked only when stdout is writable."""
        del self.unwritten[: self._give(self.unwritten)]

    def _give(self, data: bytes | bytearray) -> int:
        """Write as much as surely goes: how much has gone."""
        try:
            return posix.write(STDOUT, data[: self._write_bytes])
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            self.is_gone = True
            return 0
        except OSError as error:
            self.failure = f"[Errno {error.errno}] {error.strerror}"
            return 0


class Connection:
    """One connection to a daemon, from its hello to the end of what it says."""

    __slots__ = ("_cutter", "_is_last", "_socket", "has_ended", "is_sendable", "number", "sent", "unsent")

    def __init__(self, socket: _socket.socket) -> None:
        self._socket = socket
        self._cutter = Cutter()
        self._is_last = False
        self.number = socket.fileno()
        self.unsent = bytearray()
        self.sent = 0
        """Bytes that the system has taken."""
        self.is_sendable = True
        """The daemon still takes bytes."""
        self.has_ended = False

    def put(self, data: bytes) -> int:
        """Queue whole lines; `sent` when all of them will have gone."""
        self.unsent += data
        return self.sent + len(self.unsent)

    def send(self) -> None:
        """Send as much as goes."""
        while self.is_sendable and self.unsent:
            try:
                sent = self._socket.send(self.unsent)
            except BlockingIOError:
                return
            except OSError:
                self.is_sendable = False  # the daemon reads no more; what it still says is read until its end
                return
            self.sent += sent
            del self.unsent[:sent]
        if self._is_last and self.is_sendable:
            self.shut()

    def finish(self) -> None:
        """Nothing comes after what is queued."""
        self._is_last = True
        self.send()

    def shut(self) -> None:
        """End our writing side now; a line of which not all has gone counts as none."""
        self.is_sendable = False
        try:
            self._socket.shutdown(1)  # SHUT_WR
        except OSError:
            pass  # it is closed already, which the next read tells

    def receive(self) -> list[bytes]:
        """The next lines; asked only when there is something to read."""
        try:
            data = self._socket.recv(READ_BYTES)
        except BlockingIOError:
            return []
        except OSError:
            data = b""  # reset: it closed before it had read everything
        if not data:
            self.has_ended = True  # half a line is none: whoever waits for it is told otherwise
        return self._cutter.cut(data)

    def close(self) -> None:
        """Let go of it."""
        self._socket.close()
