"""Whether a daemon's lock is held, seen without touching it: a try could make a starting daemon give up."""

from __future__ import annotations

from pathlib import Path


def is_locked(path: str) -> bool:
    """Whether any process holds a flock on the file (proc(5), /proc/locks)."""
    try:
        inode = Path(path).stat().st_ino
        locks = Path("/proc/locks").read_text()
    except OSError:
        return False  # no file, so nobody holds it; without /proc the sockets alone have to tell
    return any(_is_flock_on(inode, line.split()) for line in locks.splitlines())


def _is_flock_on(inode: int, fields: list[str]) -> bool:
    """Whether a line such as `1: FLOCK ADVISORY WRITE 4242 00:1a:123 0 EOF` is about the file.

    The device before the inode isn't compared: some file systems show two.
    """
    match fields:
        case [_, "FLOCK", _, _, _, place, *_]:
            return place.rpartition(":")[2] == str(inode)
        case _:
            return False
