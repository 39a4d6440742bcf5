"""The secret that request states are signed with: one for all daemons of a person, kept in their state directory."""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path
from typing import Final

from mcppd.core.request_state import KEY_SIZE

logger = logging.getLogger("mcppd")

TRIES: Final = 5
"""How often the key is looked for again where another daemon makes it at the same moment."""


def signing_key(state: str) -> bytes:
    """The secret that the states of requests are signed with: kept, so that they outlive the daemon. Raises OSError.

    Daemons of several registries may want it at the same time: the first one's is everybody's.
    """
    path = Path(state, "request-state.key")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    for _ in range(TRIES):
        if (key := _kept_key(path)) is not None:
            return key
        part.unlink(missing_ok=True)
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(os.urandom(KEY_SIZE))
        try:
            _put(part, path)
        finally:
            part.unlink(missing_ok=True)
    raise OSError(f"{path} is replaced again and again")


def key_of_run(state: str) -> bytes:
    """The same, or where it can't be kept one for this run: that costs the questions that are open at its end."""
    try:
        return signing_key(state)
    except OSError as error:
        logger.warning("the key of request states can't be kept: %s; one is made for this run", error)
        return os.urandom(KEY_SIZE)


def _put(part: Path, path: Path) -> None:
    """Have a key there that is whole from its first moment: in place of a bad one, but over nobody's good one."""
    if os.path.lexists(path):
        os.replace(part, path)
        return
    with contextlib.suppress(FileExistsError):  # somebody else's came first
        os.link(part, path)


def _kept_key(path: Path) -> bytes | None:
    """The key that is kept there, if it is whole and nobody else could have read it."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            found = os.fstat(file.fileno())
            key = file.read(KEY_SIZE + 1)
    except OSError:  # there is none, or nothing that we made
        return None
    is_ours = found.st_uid == os.getuid() and not found.st_mode & 0o077
    return key if is_ours and len(key) == KEY_SIZE else None
