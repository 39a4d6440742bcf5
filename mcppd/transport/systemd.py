"""What systemd passes to a process that it starts, and the words said back (sd_listen_fds(3), sd_notify(3)).

No library: both protocols are a few variables and a datagram, promised to stay as they are, and systemd's own manual
tells programs that want no more to speak them without one. Of those there are, sdnotify (of 2017) and async-sdnotify
only notify, and systemd-python and cysystemd are C around libsystemd: its headers to build with, or 2 MB.
"""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Final

from mcppd.core.errors import McppdError

VARIABLES: Final = (
    *("LISTEN_FDNAMES", "LISTEN_FDS", "LISTEN_PID", "LISTEN_PIDFDID", "FDSTORE"),
    *("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC", "MAINPID"),
    *("INVOCATION_ID", "JOURNAL_STREAM", "SYSTEMD_EXEC_PID", "MANAGERPID", "MANAGERPIDFDID"),
    *("MEMORY_PRESSURE_WATCH", "MEMORY_PRESSURE_WRITE"),
)
"""What systemd sets for one process, and what would mislead each of its children (D20)."""

FIRST_DESCRIPTOR: Final = 3
"""SD_LISTEN_FDS_START: the sockets that are passed follow the standard streams."""

NOTIFY_LIMIT: Final = 1.0
"""Seconds to hand over a datagram: systemd takes each in at once, unless it is stuck itself."""

STDERR: Final = 2


class ActivationError(McppdError):
    """systemd passed something that can't be served; the text says what, and what to do."""


@dataclass(frozen=True, slots=True)
class PassedSocket:
    """A socket that systemd listens on; its queue of clients outlives this process."""

    socket: socket.socket
    name: str  # of the unit, if the unit doesn't name it otherwise

    @property
    def path(self) -> str:
        """Where it is bound; "" if it isn't at a path."""
        bound = self.socket.getsockname()
        return bound if isinstance(bound, str) else ""

    def __str__(self) -> str:
        return f"{self.path or f'descriptor {self.socket.fileno()}'} ({self.name or 'unnamed'})"


@dataclass(frozen=True, slots=True)
class Passed:
    """All that systemd passed to this process; nothing where something else started it."""

    notify_address: str | None = None
    watchdog: float | None = None  # seconds within which it wants a sign of life
    sockets: tuple[PassedSocket, ...] = ()
    is_journal: bool = False  # what is written to stderr goes to the journal


def take(environ: MutableMapping[str, str]) -> Passed:
    """Take what systemd passed, and its variables out of the environment. Raises ActivationError.

    No child gets the descriptors from here on either: systemd passes them open for anybody.
    """
    taken = {name: environ.pop(name) for name in VARIABLES if name in environ}
    microseconds = _number(taken, "WATCHDOG_USEC") if _is_meant(taken, "WATCHDOG_PID") else 0
    return Passed(
        notify_address=(taken.get("NOTIFY_SOCKET") or None) if _is_meant(taken, "SYSTEMD_EXEC_PID") else None,
        watchdog=microseconds / 1_000_000 if microseconds else None,
        sockets=_sockets(taken) if "LISTEN_PID" in taken and _is_meant(taken, "LISTEN_PID") else (),
        is_journal=_is_stream(taken.get("JOURNAL_STREAM", ""), STDERR),
    )


def listeners(passed: Passed, paths: Collection[str], uid: int) -> dict[str, socket.socket]:
    """The sockets that were passed, by those of our paths where they listen. Raises ActivationError.

    Each has to be what we would have bound ourselves: a stream at one of the paths, that its owner alone can reach.
    """
    found: dict[str, socket.socket] = {}
    for each in passed.sockets:
        _check_type(each)
        path = next((path for path in paths if _is_at(each, path)), None)
        if path is None or path in found:
            expected = " and ".join(paths)
            raise ActivationError(
                f"systemd passes {each}, but what is served is {expected}, once each: correct its unit"
            )
        _check_owner(each, path, uid)
        each.socket.setblocking(False)
        found[path] = each.socket
    return found


def notify(address: str, *lines: str) -> None:
    """Tell systemd something, such as `READY=1`, in one datagram. Raises OSError."""
    if address[:1] not in ("/", "@"):
        raise OSError(errno.EAFNOSUPPORT, "not the address of a Unix socket", address)
    name = f"\0{address[1:]}" if address.startswith("@") else address  # unix(7): abstract addresses
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
        sender.settimeout(NOTIFY_LIMIT)
        sender.sendto("\n".join(lines).encode(), name)


def _is_meant(taken: Mapping[str, str], variable: str) -> bool:
    """Whether what comes with a process id is for this process, not for the one that started it."""
    return taken.get(variable, str(os.getpid())) == str(os.getpid())


def _number(taken: Mapping[str, str], variable: str) -> int:
    text = taken.get(variable, "0")
    if not (text.isascii() and text.isdigit()):
        raise ActivationError(f"{variable} says {text!r} where systemd would say a number: unset it")
    return int(text)


def _sockets(taken: Mapping[str, str]) -> tuple[PassedSocket, ...]:
    names = taken.get("LISTEN_FDNAMES", "").split(":")
    found = []
    for index in range(_number(taken, "LISTEN_FDS")):
        descriptor = FIRST_DESCRIPTOR + index
        try:
            os.set_inheritable(descriptor, False)
            passed = socket.socket(fileno=descriptor)
        except OSError as error:
            raise ActivationError(
                f"descriptor {descriptor} of systemd is no socket: {error.strerror}"
            ) from None
        found.append(PassedSocket(passed, names[index] if index < len(names) else ""))
    return tuple(found)


def _is_stream(named: str, descriptor: int) -> bool:
    """Whether `device:inode`, as JOURNAL_STREAM has it, names what a descriptor leads to (systemd.exec(5))."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return False  # it is closed
    return named == f"{status.st_dev}:{status.st_ino}"


def _check_type(each: PassedSocket) -> None:
    is_listening = each.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if (each.socket.family, each.socket.type) != (socket.AF_UNIX, socket.SOCK_STREAM) or not is_listening:
        raise ActivationError(
            f"systemd passes {each}, which is no listening Unix stream: its unit needs ListenStream=PATH and Accept=no"
        )


def _is_at(each: PassedSocket, path: str) -> bool:
    """Whether a socket is bound at a path, perhaps by another way to the same file."""
    if each.path == path:
        return True
    try:
        return os.path.samestat(os.stat(each.path), os.stat(path))
    except OSError:
        return False


def _check_owner(each: PassedSocket, path: str, uid: int) -> None:
    try:
        status = os.lstat(path)
    except OSError as error:
        raise ActivationError(
            f"systemd passes {each}, but nobody can reach it: {error.strerror}; restart its unit"
        ) from None
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISSOCK(status.st_mode) or status.st_uid != uid or mode & 0o077:
        raise ActivationError(
            f"systemd passes {each}, which has mode {mode:04o} and uid {status.st_uid}, so others may reach it: "
            "its unit needs SocketMode=0600"
        )
