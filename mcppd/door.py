"""The door of a daemon: its lock and its two sockets, opened, looked after, and left to the next one."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from mcppd_shim import places

from mcppd.core.errors import McppdError
from mcppd.transport.link import Link
from mcppd.transport.listener import Listener
from mcppd.transport.lock import AlreadyRunningError, hold_lock, is_lock, release_lock
from mcppd.transport.unix import Accepting

logger = logging.getLogger("mcppd")

LOOK_EVERY: Final = 10.0
"""Seconds between two looks at the sockets' files: as often as an idle daemon may wake the machine."""
TURN: Final = 0.005
"""Seconds between two looks whether somebody still waits at a socket that is ours no more."""
TURNS: Final = 200
"""Looks after which nobody waits there who came before it was the next daemon's."""

Accept = Callable[[], Link[Any]]
Spawn = Callable[[Coroutine[Any, Any, None]], object]


class Door:
    """What clients come in by. Whoever holds the lock is the daemon of the registry (D11)."""

    def __init__(self, paths: places.SocketPaths, lock: int | None, spawn: Spawn) -> None:
        self._paths = paths
        self._lock = lock
        self._spawn = spawn
        self._accepts: dict[str, Accept] = {}
        self._listeners: dict[str, Listener] = {}
        self._accepting: dict[str, Accepting] = {}
        self._has_complained = False

    @property
    def is_ours(self) -> bool:
        """Whether this process holds the lock."""
        return self._lock is not None

    def take_lock(self) -> None:
        """Be the daemon. Raises AlreadyRunningError where there is one, OSError."""
        if self._lock is None:
            self._lock = hold_lock(self._paths.lock)

    def release_lock(self) -> None:
        """Let another be the daemon."""
        if self._lock is not None:
            release_lock(self._lock)
            self._lock = None

    def open(self, accepts: Mapping[str, Accept], passed: Mapping[str, socket.socket]) -> None:
        """Listen at these paths, on the sockets that systemd passed or on our own. Raises OSError, McppdError."""
        self._accepts = dict(accepts)
        for path in accepts:
            self._listen(path, passed.get(path))

    async def leave(self) -> None:
        """Accept who has come till now, then listen no more, and remove the files that are ours still."""
        for path, accepting in self._accepting.items():
            self._listeners[path].remove()
            for _ in range(TURNS):
                if not accepting.has_waiting or self._listeners[path].is_passed:
                    break
                await asyncio.sleep(TURN)
        self.close()

    def close(self) -> None:
        """Listen no more, remove the files that are ours still, and let another be the daemon."""
        for listener in self._listeners.values():
            listener.remove()  # while we hold the socket no other file can have its number
        for accepting in self._accepting.values():
            accepting.close()
        self._accepting.clear()
        self.release_lock()

    def reclaim(self) -> None:
        """The lock is ours again, so what others have put in the place of our sockets is stale."""
        try:
            self._repair([path for path, each in self._listeners.items() if each.is_lost or each.is_replaced])
        except (OSError, McppdError) as error:
            logger.warning("%s can't be made again: %s", self._paths.mcp, error)

    async def look_after(self, replaced: Callable[[], None]) -> None:
        """Look at the files again and again; `replaced` is told of another daemon's in their place."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            self.look(replaced)

    def look(self, replaced: Callable[[], None]) -> None:
        """Have the sockets where they belong: bound again where they are gone, left where they are another's."""
        if not self._accepting or self._lock is None:
            return  # we are leaving
        if any(listener.is_replaced for listener in self._listeners.values()):
            logger.warning("another daemon listens at %s; this one ends", self._paths.mcp)
            replaced()
            return
        lost = [path for path, listener in self._listeners.items() if listener.is_lost]
        if not lost:
            self._has_complained = False
            return
        try:
            self._repair(lost)
        except AlreadyRunningError:
            logger.warning("another daemon holds %s; this one ends", self._paths.lock)
            replaced()
        except (OSError, McppdError) as error:
            if not self._has_complained:
                self._has_complained = True
                logger.warning("%s is gone and can't be made again: %s", lost[0], error)

    def _repair(self, lost: list[str]) -> None:
        places.check_directories(self._paths, os.getuid(), make=True)
        assert self._lock is not None
        if not is_lock(self._lock, self._paths.lock):  # it went with its directory
            lock = hold_lock(self._paths.lock)
            release_lock(self._lock)
            self._lock = lock
        for path in lost:
            self._accepting[path].close()
            self._listen(path, None)
            logger.warning("%s was gone; it has been made again", path)

    def _listen(self, path: str, passed: socket.socket | None) -> None:
        listener = self._listeners[path] = Listener(path, passed)
        self._accepting[path] = Accepting(listener.socket, self._accepts[path], self._spawn)
