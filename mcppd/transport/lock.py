"""The lock that makes a daemon the only one of its registry (D11): held for life, by an open descriptor."""

from __future__ import annotations

import errno
import fcntl
import os

from mcppd.core.errors import McppdError


class AlreadyRunningError(McppdError):
    """Another daemon holds the lock of this registry."""


def hold_lock(path: str) -> int:
    """Take the lock for the rest of this process's life; the descriptor that holds it.

    Raises AlreadyRunningError if somebody else has it, OSError if the file can't be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        if error.errno in (errno.EAGAIN, errno.EACCES):
            raise AlreadyRunningError(f"another daemon holds {path}") from None
        raise
    return descriptor
