"""The way to the daemon: connect, or start one and connect, or a sentence that says why neither goes."""

from __future__ import annotations

import _socket
import posix
import sys
from errno import EACCES, EAGAIN, ECONNREFUSED, EINVAL, EMFILE, ENFILE, ENOENT, ENOMEM, EPERM
from select import POLLIN, poll
from time import monotonic

from .places import PlaceError, SocketPaths, check_directories, daemon_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

# One that we launch may find the lock of a daemon that was just ending, so the first that ends is no failure.
FAILURES: Final = 2
# Then another is due after a quarter of what we have waited, since somebody may have repaired what was wrong; so a
# start, which costs a third of a second, never takes much of a processor, and in the end next to nothing.
MIN_RELAUNCH_SECONDS: Final = 0.25
MAX_RELAUNCH_SECONDS: Final = 30.0
# Where the system can't tell us that a daemon has ended, we take it for ended that late.
UNSEEN_SECONDS: Final = 3.0
# Between two attempts: a start takes about 100 ms, so 5 ms add little, and an attempt costs some 20 us; the longest
# is what a person hardly notices, and no load on a machine that has no daemon for a week.
MIN_PAUSE_SECONDS: Final = 0.005
MAX_PAUSE_SECONDS: Final = 2.0
# A connection that has lasted so long was to a daemon that works.
STEADY_SECONDS: Final = 1.0
# How long we wait before another start when a daemon has ended at once; doubled with each that does.
QUICK_SECONDS: Final = 0.01
# What a confined process gets: EPERM of seccomp; EACCES of Landlock, AppArmor, SELinux.
SANDBOXED: Final = (EPERM, EACCES)
SANDBOX_SENTENCE: Final = (
    "the sandbox that this agent runs in forbids the daemon's socket, so nothing was started or removed;"
    " allow it in the sandbox's settings or run this server outside: "
)
# What passes: too many processes or descriptors, too little memory.
SHORT_OF: Final = (EAGAIN, ENOMEM, EMFILE, ENFILE)
ABSENT: Final = (ENOENT, ECONNREFUSED)
# How much of the daemon's log goes into the one line.
LOG_BYTES: Final = 1000
LOG_LINES: Final = 3


class Way:
    """One attempt after another to reach the daemon of one registry; never gives up."""

    __slots__ = (
        *(
            "_claim",
            "_config",
            "_daemon",
            "_environ",
            "_failures",
            "_launched",
            "_log_start",
            "_lost",
            "_made",
        ),
        *("_obstacle", "_quick", "_socket", "_uid", "is_confined", "is_hopeless"),
        *("may_launch", "paths", "reason"),
    )

    def __init__(
        self, paths: SocketPaths, config: str | None, socket: str | None, environ: Mapping[str, str]
    ) -> None:
        self.paths = paths
        self._config = config
        self._socket = socket
        self._environ = environ
        self._uid = posix.getuid()
        self._launched: float | None = None
        self._claim: int | None = None
        """The right to start the daemon; the others that miss it wait for ours."""
        self._daemon: int | None = None
        """Tells of the end of the daemon that we have started."""
        self._log_start: int | None = None
        self._lost = monotonic()
        self._made = 0.0
        self._quick = 0
        self._failures = 0
        self.may_launch = True
        """False when the person has stopped the daemon."""
        self.is_hopeless = False
        """Somebody has to change something first; we look on all the same."""
        self.is_confined = False
        """A sandbox forbids the socket, there has never been a connection, and we may do without."""
        self._obstacle = ""
        """Why we can't do without."""
        self.reason = ""
        """Why there was no connection at the last attempt; a sentence that says where, and what to do."""

    @property
    def seconds(self) -> float:
        """How long there has been no daemon."""
        return monotonic() - self._lost

    @property
    def is_steady(self) -> bool:
        """The last daemon has worked for a while."""
        return self._quick == 0

    def attempt(self) -> _socket.socket | None:
        """A connection, non-blocking; None if there is none now, and `reason` says why."""
        try:
            connection = self._connect()
        except OSError as error:
            self._judge(error)
            return None
        self._made = monotonic()
        self.is_hopeless = False
        self._launched = self._log_start = None  # when this one has ended, the next is due at once
        self._failures = 0
        self._let_go()
        return connection

    def pause(self) -> float:
        """Seconds until the next attempt: an eighth of what we have waited, so it comes that much late at most."""
        return min(MAX_PAUSE_SECONDS, max(MIN_PAUSE_SECONDS, self.seconds / 8))

    def lost(self, *, has_served: bool) -> None:
        """The connection has ended; `has_served`: something had come on it."""
        now = monotonic()
        self._quick = 0 if now - self._made >= STEADY_SECONDS else self._quick + 1
        if has_served or self._quick == 0:
            self._lost = now

    def refused(self, why: bytes) -> None:
        """The daemon doesn't want us, and says why in a JSON text without its quotes."""
        import json

        self.reason = str(json.loads(b'"%b"' % why))
        self.is_hopeless = True

    def stay(self, why: str) -> None:
        """We can't do without a daemon, and here is why."""
        self._obstacle = f"; {why}"
        self.is_confined = False

    def explain(self) -> str:
        """The reason, with the end of the log of the daemon that we started and that doesn't come."""
        text = self.reason + self._end_of_log()
        return "".join([character if character.isprintable() else " " for character in text])

    def _connect(self) -> _socket.socket:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            connection.setblocking(False)  # a full backlog is EAGAIN, not a wait without a limit
            self._check_directories(connection)
            connection.connect(self.paths.mcp)
            self._check_peer(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_directories(self, connection: _socket.socket) -> None:
        try:
            check_directories(self.paths, self._uid, make=False)
        except PlaceError as error:
            if error.errno == ENOENT:  # a sandbox says so whether or not there is anything to connect to
                connection.connect(self.paths.mcp)
            raise

    def _check_peer(self, connection: _socket.socket) -> None:
        # struct ucred: pid, uid, gid, each an int (unix(7))
        credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
        uid = int.from_bytes(credentials[4:8], sys.byteorder)
        if uid != self._uid:
            path = self.paths.mcp
            sentence = f"{path} is served by uid {uid}, not by you (uid {self._uid}): end that process"
            raise PlaceError(EINVAL, sentence, path)

    def _judge(self, error: OSError) -> None:
        """Say why there is no connection, and start a daemon if that helps."""
        number = error.errno or 0
        where = f"{self.paths.mcp}: [Errno {number}] {posix.strerror(number)}"
        self.is_hopeless = number in SANDBOXED or (isinstance(error, PlaceError) and number not in ABSENT)
        if number in SANDBOXED:
            self.reason = SANDBOX_SENTENCE + where + self._obstacle
            self.is_confined = self._made == 0.0 and not self._obstacle
        elif self.is_hopeless:
            self.reason = str(error)
        elif number not in ABSENT:
            self.reason = f"no way to the daemon at {where}"  # a full backlog, no more descriptors: it passes
        else:
            self.reason = f"no daemon at {where}"
            self._start()

    def _start(self) -> None:
        """Start a daemon, if that is ours to do and due; say so if it can't."""
        if self._log_start is None:
            self._log_start = _size(daemon_log(self._environ))
        if not self.may_launch:
            self._let_go()
            return
        if self._has_failed():
            self._failures += 1
            self._forget_daemon()
        if self._launch_is_due():
            self._launch()
        if self._failures >= FAILURES:
            self.reason = f"the daemon ends at its start; {self.reason}"
            self.is_hopeless = self._made == 0.0  # else it has worked, and may be in the middle of an upgrade

    def _has_failed(self) -> bool:
        """The daemon that we have started has ended, and not for another that is there."""
        if self._daemon is None:
            return False
        from .launch import is_served

        watching = poll()
        watching.register(self._daemon, POLLIN)
        ended = watching.poll(0)
        return bool(ended) and not is_served(self.paths)

    def _launch_is_due(self) -> bool:
        if self._daemon is not None:
            return False  # it lives, or makes way for another
        if self._launched is None:
            # Daemons that end as soon as they have begun are started less and less often.
            return self._quick == 0 or self.seconds > min(
                MAX_PAUSE_SECONDS, QUICK_SECONDS * (1 << self._quick)
            )
        waited = monotonic() - self._launched
        if not self._failures:
            return waited > UNSEEN_SECONDS
        pause = min(MAX_RELAUNCH_SECONDS, max(MIN_RELAUNCH_SECONDS, self.seconds / 4))
        return self._failures < FAILURES or waited > pause

    def _launch(self) -> None:
        from .launch import claim_start, is_left_to_systemd, launch

        if is_left_to_systemd(self.paths, self._environ):
            self.reason += "; systemd doesn't listen for it: run `mcppd start`"
            return
        if self._claim is None:
            self._claim = claim_start(self.paths)
        if self._claim is None:
            return  # another shim does it
        try:
            self._daemon = launch(self._config, self._socket, self._environ)
        except OSError as error:
            self.reason = f"the daemon can't be started: {error}"
            self.is_hopeless = error.errno not in SHORT_OF
        else:
            self._launched = monotonic()

    def _let_go(self) -> None:
        """Nothing is ours to start any more."""
        self._forget_daemon()
        if self._claim is not None:
            posix.close(self._claim)
            self._claim = None

    def _forget_daemon(self) -> None:
        if self._daemon is not None:
            posix.close(self._daemon)
            self._daemon = None

    def _end_of_log(self) -> str:
        """The last lines that were written since we launched a daemon, as part of one line."""
        if self._log_start is None:
            return ""
        log = daemon_log(self._environ)
        lines = _tail(log, self._log_start).splitlines()
        newest = {line.partition(" ")[2]: line for line in lines}  # each attempt writes it at another time
        return f"; see {log}: " + (" | ".join([*newest.values()][-LOG_LINES:]) or "(nothing was written)")


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
