"""The lock that makes a daemon the only one of its registry (D11): held for life, by an open descriptor."""

from __future__ import annotations

import errno
import fcntl
import os

from mcppd.core.errors import McppdError


class AlreadyRunningError(McppdError):
    """Another daemon holds the lock of this registry."""


def is_lock(descriptor: int, path: str) -> bool:
    """Whether the lock that is held by a descriptor is the one that others would find at the path."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


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


def release_lock(descriptor: int) -> None:
    """Let another have the lock, at once: a child that is just being made has the descriptor too, for a moment."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)
