"""The way to the daemon: connect, or start one and connect, or one line that says why neither goes."""

from __future__ import annotations

import _socket
import posix
import sys
from errno import EACCES, EAGAIN, ECONNREFUSED, ENOENT, EPERM
from select import POLLERR, POLLHUP, POLLNVAL, poll
from time import monotonic

from .places import PlaceError, SocketPaths, check_directories, daemon_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

# A cold interpreter with a cold disk takes a second or two; agents give a server 10 s and more to start.
START_SECONDS: Final = 10.0
# A daemon that was just ending may have held the lock when the one we launched looked: then another is due.
RELAUNCH_SECONDS: Final = 3.0
# Between two attempts: a start takes about 100 ms, so this adds little, and an attempt costs some 20 us.
RETRY_MILLISECONDS: Final = 5
# What a confined process gets: EPERM of seccomp; EACCES of Landlock, AppArmor, SELinux.
SANDBOXED: Final = (EPERM, EACCES)
SANDBOX_SENTENCE: Final = (
    "the sandbox that this agent runs in forbids the daemon's socket, so nothing was started or removed;"
    " allow it in the sandbox's settings or run this server outside: "
)
ABSENT: Final = (ENOENT, ECONNREFUSED)
# How much of the daemon's log goes into the one line.
LOG_BYTES: Final = 1000
LOG_LINES: Final = 3
# A reader that is gone: all of them at once, whatever was asked for.
GONE: Final = POLLERR | POLLHUP | POLLNVAL


class UnreachableError(Exception):
    """There is no daemon to talk to; the text is the line for the person."""


class HostGoneError(Exception):
    """Nobody is left who could read an answer."""


class Way:
    """One attempt after another to reach the daemon of one registry."""

    __slots__ = ("config", "environ", "launched", "log_start", "parent", "paths", "socket", "uid")

    def __init__(
        self, paths: SocketPaths, config: str | None, socket: str | None, environ: Mapping[str, str]
    ) -> None:
        self.paths = paths
        self.config = config
        self.socket = socket
        self.environ = environ
        self.uid = posix.getuid()
        self.parent = posix.getppid()
        self.launched: float | None = None
        self.log_start = 0

    def connect(self) -> _socket.socket:
        """The connection, non-blocking; raises UnreachableError or HostGoneError."""
        limit = monotonic() + START_SECONDS
        while True:
            try:
                return self._attempt()
            except OSError as error:
                self._judge(error, late=monotonic() >= limit)
            self._pause()

    def _attempt(self) -> _socket.socket:
        check_directories(self.paths, self.uid, make=False)
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.setblocking(False)  # a full backlog is EAGAIN, not a wait without a limit
            connection.connect(self.paths.mcp)
            self._check_peer(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_peer(self, connection: _socket.socket) -> None:
        # struct ucred: pid, uid, gid, each an int (unix(7))
        credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        uid = int.from_bytes(credentials[4:8], sys.byteorder)
        if uid != self.uid:
            raise UnreachableError(
                f"{self.paths.mcp} is served by uid {uid}, not by you (uid {self.uid}): end that process"
            )

    def _judge(self, error: OSError, *, late: bool) -> None:
        """Return if another attempt makes sense."""
        number = error.errno or 0
        where = f"{self.paths.mcp}: [Errno {number}] {posix.strerror(number)}"
        if number in SANDBOXED:
            raise UnreachableError(SANDBOX_SENTENCE + where)
        if number not in (*ABSENT, EAGAIN):
            refused = isinstance(error, PlaceError)
            raise UnreachableError(str(error) if refused else f"no way to the daemon at {where}")
        if late:
            raise UnreachableError(f"no daemon after {START_SECONDS:.0f} s at {where}{self._end_of_log()}")
        if number != EAGAIN and self._launch_is_due():
            self._launch()

    def _launch_is_due(self) -> bool:
        return self.launched is None or monotonic() - self.launched > RELAUNCH_SECONDS

    def _launch(self) -> None:
        from .launch import launch

        if self.launched is None:
            self.log_start = _size(daemon_log(self.environ))
        self.launched = monotonic()
        try:
            launch(self.config, self.socket, self.environ)
        except OSError as error:
            raise UnreachableError(f"the daemon can't be started: {error}") from None

    def _pause(self) -> None:
        """Wait a little, unless the host is gone meanwhile."""
        waiting = poll()
        waiting.register(1, 0)
        if waiting.poll(RETRY_MILLISECONDS) or posix.getppid() != self.parent:
            raise HostGoneError

    def _end_of_log(self) -> str:
        """The last lines that were written since we launched a daemon, as part of one line."""
        log = daemon_log(self.environ)
        if self.launched is None:
            return ""
        lines = _tail(log, self.log_start).splitlines()
        return f"; see {log}: " + (" | ".join(lines[-LOG_LINES:]) or "(nothing was written)")


def _size(path: str) -> int:
    try:
        return posix.stat(path).st_size
    except OSError:
        return 0


def _tail(path: str, start: int) -> str:
    try:
        descriptor = posix.open(path, posix.O_RDONLY | posix.O_NONBLOCK | posix.O_CLOEXEC)
        try:
            posix.lseek(descriptor, max(start, posix.fstat(descriptor).st_size - LOG_BYTES), 0)
            text = posix.read(descriptor, LOG_BYTES)
        finally:
            posix.close(descriptor)
    except OSError:
        return ""
    return text.decode("utf-8", "replace")
