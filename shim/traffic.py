"""The bytes in flight between the host (stdin, stdout) and the daemon: bounded both ways, driven by poll.

It knows nothing of what the bytes say, but for the line that ends them. The host's descriptors are shared
with others, so they stay blocking: each is asked first, then given no more than it surely takes.
"""

from __future__ import annotations

import posix
from _stat import S_ISREG
from select import POLLERR, POLLHUP, POLLIN, POLLOUT, poll

from .reach import GONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import _socket
    from typing import Final

STDIN: Final = 0
STDOUT: Final = 1
# Each way holds this much before its source has to wait: a few pipes full, and little beside the interpreter.
BUFFER_BYTES: Final = 256 * 1024
# Linux gives a pipe 64 KiB, so one read empties it.
READ_BYTES: Final = 64 * 1024
# PIPE_BUF (pipe(7)): a pipe or socket that polls as writable takes this much without blocking.
WRITE_BYTES: Final = 4096
# How often, once stdin has ended, we look whether our parent is still there (A2: gone in 2 s).
PARENT_MILLISECONDS: Final = 1000
END_LINE: Final = b'{"jsonrpc":"2.0","method":"mcppd/end"}\n'


class Traffic:
    """Everything that is under way; `run` is the whole life of a connection."""

    __slots__ = (
        "_connection",
        "_daemon",
        "_down",
        "_interest",
        "_last",
        "_parent",
        "_poll",
        "_stdout",
        "_up",
        "_write_bytes",
        "daemon_ended",
        "failure",
        "host_ended",
        "host_gone",
        "sendable",
    )

    def __init__(self, connection: _socket.socket, hello: bytes, parent: int) -> None:
        self._connection = connection
        self._daemon = connection.fileno()
        self._up = bytearray(hello)
        self._down = bytearray()
        self._last = b"\n"
        self._parent = parent
        self._poll = poll()
        self._stdout = poll()
        self._stdout.register(STDOUT, POLLOUT)
        self._interest: dict[int, int] = {}
        self._write_bytes = READ_BYTES if S_ISREG(posix.fstat(STDOUT).st_mode) else WRITE_BYTES
        self.sendable = True
        """The daemon still takes bytes."""
        self.host_ended = False
        """End of file on stdin."""
        self.daemon_ended = False
        self.host_gone = False
        """Nobody reads our stdout, or our parent is gone."""
        self.failure = ""
        """Why stdout can't be written, if it is not for want of a reader."""

    def run(self) -> None:
        """Forward until the daemon has ended and all of it is written, or nobody is left to read."""
        self._send()  # the hello: nothing else is worth a poll first
        while not (self.host_gone or self.failure or (self.daemon_ended and not self._down)):
            self._watch()
            limit = PARENT_MILLISECONDS if self.host_ended or self.daemon_ended else None
            for descriptor, events in self._poll.poll(limit):
                self._serve(descriptor, events)
            if limit is not None and posix.getppid() != self._parent:
                self.host_gone = True

    def _watch(self) -> None:
        """Ask only for what can be taken: a full side is not read, so its source has to wait."""
        reading_host = not (self.host_ended or self.daemon_ended) and len(self._up) < BUFFER_BYTES
        reading_daemon = not self.daemon_ended and len(self._down) < BUFFER_BYTES
        sending = bool(self._up) and self.sendable
        self._ask(STDIN, POLLIN if reading_host else 0, keep=False)
        self._ask(self._daemon, (POLLIN if reading_daemon else 0) | (POLLOUT if sending else 0), keep=False)
        self._ask(STDOUT, POLLOUT if self._down else 0, keep=True)

    def _ask(self, descriptor: int, events: int, *, keep: bool) -> None:
        """Without `keep`, what we want nothing of is left out: poll would report for ever that it hung up."""
        wanted = events if events or keep else None
        if self._interest.get(descriptor) == wanted:
            return
        if wanted is None:
            self._poll.unregister(descriptor)
            del self._interest[descriptor]
        else:
            self._poll.register(descriptor, wanted)
            self._interest[descriptor] = wanted

    def _serve(self, descriptor: int, events: int) -> None:
        if descriptor == STDIN:
            self._read_host()
        elif descriptor == STDOUT:
            if events & GONE:
                self.host_gone = True
            else:
                self._write_host()
        else:
            if events & POLLOUT:
                self._send()
            if events & (POLLIN | POLLHUP | POLLERR):
                self._receive()

    def _read_host(self) -> None:
        try:
            data = posix.read(STDIN, READ_BYTES)
        except BlockingIOError:
            return  # somebody else made it non-blocking, and somebody else was faster
        except OSError:
            data = b""  # a terminal that hung up, a descriptor that can't be read: nothing will ever come
        if data:
            self._last = data[-1:]
            is_first = not self._up
            self._queue(data)
            if is_first and self.sendable:
                self._send()  # it mostly takes it, which saves a poll
        else:
            self.host_ended = True
            self._queue(END_LINE if self._last == b"\n" else b"\n" + END_LINE)
            self._finish_sending()

    def _queue(self, data: bytes) -> None:
        if self.sendable:
            self._up += data

    def _send(self) -> None:
        try:
            sent = self._connection.send(self._up)
        except BlockingIOError:
            return
        except OSError:
            self.sendable = False  # the daemon reads no more; what it still says is read until its end
            self._up.clear()
            return
        del self._up[:sent]
        self._finish_sending()

    def _finish_sending(self) -> None:
        if self.host_ended and self.sendable and not self._up:
            self.sendable = False
            try:
                self._connection.shutdown(1)  # SHUT_WR
            except OSError:
                pass  # it is closed already, which the next read tells

    def _receive(self) -> None:
        try:
            data = self._connection.recv(READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""  # reset: it closed before it had read everything
        if not data:
            self.daemon_ended = True
            return
        is_first = not self._down
        self._down += data
        for descriptor, events in self._stdout.poll(0) if is_first else ():
            self._serve(descriptor, events)  # it mostly takes it, which saves a turn of the loop

    def _write_host(self) -> None:
        try:
            written = posix.write(STDOUT, self._down[: self._write_bytes])
        except BlockingIOError:
            return
        except BrokenPipeError:
            self.host_gone = True
            return
        except OSError as error:
            self.failure = f"[Errno {error.errno}] {error.strerror}"
            return
        del self._down[:written]
