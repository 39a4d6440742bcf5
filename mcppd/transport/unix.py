"""Unix sockets: made private from the first instant, served to their owner only."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any, Final, cast

from mcppd.core.errors import McppdError
from mcppd.transport.link import Link

BACKLOG: Final = 1024
"""Connections that may wait to be accepted; a thousand agents may start in one second."""

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


async def serve(listener: socket.socket, accept: Callable[[], Link[Any]]) -> asyncio.Server:
    """Serve connections of this very user; everybody else's are closed at once."""

    class Checked(asyncio.Protocol):
        """Looks at who connects, then hands the transport over to the link."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            transport = cast(asyncio.Transport, transport)
            if peer_uid(transport.get_extra_info("socket")) != os.getuid():
                transport.abort()
                return
            link = accept()
            transport.set_protocol(link)
            link.connection_made(transport)

    # from 3.13 on the loop would remove the socket's file when it closes, which may be systemd's: see Listener
    options: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
    return await asyncio.get_running_loop().create_unix_server(Checked, sock=listener, **options)


async def connect(path: str, link: Link[Any]) -> None:
    """Connect a link to a daemon of this very user; raises OSError."""
    transport, _ = await asyncio.get_running_loop().create_unix_connection(lambda: link, path)
    owner = peer_uid(transport.get_extra_info("socket"))
    if owner != os.getuid():
        transport.abort()
        raise PermissionError(errno.EPERM, f"the socket is served by another user (uid {owner})", path)


async def adopt(connected: socket.socket, link: Link[Any]) -> None:
    """Put a link on a socket that is connected already, such as one end of a pair."""
    await asyncio.get_running_loop().create_unix_connection(lambda: link, sock=connected)


def peer_uid(peer: Any) -> int:
    """The user id of the process at the other end (unix(7), SO_PEERCRED)."""
    with socket.socket(fileno=os.dup(peer.fileno())) as copy:
        raw = copy.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    uid: int = _CREDENTIALS.unpack(raw)[1]
    return uid
