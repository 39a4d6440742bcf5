"""Unix sockets: made private from the first instant, served to their owner only."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import os
import resource
import select
import socket
import stat
import struct
from collections.abc import Callable, Coroutine
from typing import Any, Final

from mcppd.core.errors import McppdError
from mcppd.transport.link import Link

logger = logging.getLogger("mcppd.transport")

BACKLOG: Final = 1024
"""Connections that may wait to be accepted; a thousand agents may start in one second."""
AT_ONCE: Final = 64
"""Connections that are accepted in a row: then whoever is connected already has a turn."""
PAUSE: Final = 1.0
"""Seconds until the next try where there is no descriptor or no memory for another connection."""
RESERVE: Final = 64
"""Descriptors that connections leave to the rest of us, at most: for files to be read, and three for each worker."""
_SHORT_OF: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

_CREDENTIALS: Final = struct.Struct("3i")  # struct ucred: pid, uid, gid (unix(7), SO_PEERCRED)


def bind(path: str) -> socket.socket:
    """A listening socket at `path`, mode 0600; whoever calls holds the lock, so what lies there is stale.

    It is made under another name and moved there when it listens: nobody who finds it is refused.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise McppdError(f"{path} exists and is not a socket: move it away, then start again")
    new = f"{path[:-1]}~"  # no longer than the path, which may be as long as a socket's can be
    with contextlib.suppress(FileNotFoundError):
        os.unlink(new)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        os.fchmod(listener.fileno(), 0o600)  # a socket's file takes the mode of its descriptor: no window
        mask = os.umask(0o177)
        try:
            listener.bind(new)
        finally:
            os.umask(mask)
        listener.listen(BACKLOG)
        os.rename(new, path)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


class Accepting:
    """Accepts connections of this very user, until it is closed; everybody else's are closed at once.

    Not the loop's own servers: with no descriptor left uvloop's throws everybody out who waits, asyncio's logs a
    traceback for each, and neither gives a listening socket back whole to those who come after us.
    """

    def __init__(
        self,
        listener: socket.socket,
        accept: Callable[[], Link[Any]],
        spawn: Callable[[Coroutine[Any, Any, None]], object],
    ) -> None:
        self._listener = listener
        self._accept = accept
        self._spawn = spawn
        self._loop = asyncio.get_running_loop()
        self._pause: asyncio.TimerHandle | None = None
        self._begin()

    def close(self) -> None:
        """Accept no more, and forget the socket here: whoever waits in its queue is left to others who hold it."""
        if self._pause is not None:
            self._pause.cancel()
        if self._listener.fileno() >= 0:
            self._loop.remove_reader(self._listener.fileno())
            self._listener.close()

    @property
    def has_waiting(self) -> bool:
        """Whether somebody waits to be accepted."""
        polled = select.poll()
        polled.register(self._listener, select.POLLIN)
        return bool(polled.poll(0))

    def _begin(self) -> None:
        self._pause = None
        self._loop.add_reader(self._listener.fileno(), self._take)

    def _take(self) -> None:
        for _ in range(AT_ONCE):
            try:
                self._leave_some()
                connected, _ = self._listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno in _SHORT_OF:
                    self._wait(error)
                return  # else whoever it was has gone again
            connected.setblocking(False)
            if peer_uid(connected) != os.getuid():
                connected.close()
            else:
                self._spawn(adopt(connected, self._accept))

    def _leave_some(self) -> None:
        """Raise OSError where the last descriptors would go to somebody who waits."""
        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        lowest = os.dup(self._listener.fileno())  # the lowest number that is free (dup(2))
        os.close(lowest)
        if (
            limit != resource.RLIM_INFINITY
            and lowest >= limit - min(RESERVE, limit // 4)
            and self.has_waiting
        ):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def _wait(self, error: OSError) -> None:
        """Try again later: the queue stays, and so does the reason that woke us."""
        logger.warning("nobody is accepted for %g s: %s", PAUSE, error.strerror)
        self._loop.remove_reader(self._listener.fileno())
        self._pause = self._loop.call_later(PAUSE, self._begin)


async def connect(path: str, link: Link[Any]) -> None:
    """Connect a link to a daemon of this very user; raises OSError."""
    transport, _ = await asyncio.get_running_loop().create_unix_connection(lambda: link, path)
    owner = peer_uid(transport.get_extra_info("socket"))
    if owner != os.getuid():
        transport.abort()
        raise PermissionError(errno.EPERM, f"the socket is served by another user (uid {owner})", path)


async def adopt(connected: socket.socket, make: Callable[[], Link[Any]]) -> None:
    """Put a link on a socket that is connected already, such as one end of a pair."""
    await asyncio.get_running_loop().create_unix_connection(make, sock=connected)


def peer_uid(peer: Any) -> int:
    """The user id of the process at the other end (unix(7), SO_PEERCRED)."""
    if isinstance(peer, socket.socket):
        raw = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    else:  # a loop's own, which may not be asked
        with socket.socket(fileno=os.dup(peer.fileno())) as copy:
            raw = copy.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid
