"""A listener: the socket at a path, and whose the file there is in the end."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Final

from mcppd.transport import unix


class Listener:
    """Listens at a path: on what systemd passed, else on a socket of its own.

    Raises OSError if none can be bound there, McppdError if something else is in the way.
    """

    def __init__(self, path: str, passed: socket.socket | None) -> None:
        self.path: Final = path
        self.socket: Final = passed or unix.bind(path)
        self._made = None if passed else self._there()

    @property
    def is_passed(self) -> bool:
        """Whether systemd listens there, and goes on."""
        return self._made is None

    @property
    def is_lost(self) -> bool:
        """Whether there is nothing at the path any more. Never of a socket of systemd's, who alone can repair it."""
        return self._made is not None and self._there() is None

    @property
    def is_replaced(self) -> bool:
        """Whether another has put a socket there since; never of one of systemd's."""
        return self._made is not None and self._there() not in (None, self._made)

    def remove(self) -> None:
        """Remove the file that was made here; not one that another has put there since, and never systemd's."""
        if self._made is not None and self._made == self._there():
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)

    def _there(self) -> tuple[int, int] | None:
        """What file is at the path now."""
        try:
            status = os.lstat(self.path)
        except OSError:
            return None
        return status.st_dev, status.st_ino
