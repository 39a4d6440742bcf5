"""Whether a daemon's lock is held, seen without touching it: a try could make a starting daemon give up."""

from __future__ import annotations

from pathlib import Path


def is_locked(path: str) -> bool:
    """Whether any process holds a flock on the file (proc(5), /proc/locks)."""
    return _holder(path) is not None


def lock_holder(path: str) -> int | None:
    """The process that has taken a flock on the file; None if there is none, or none that can be seen from here."""
    pid = _holder(path) or ""
    return int(pid) if pid.isdigit() and pid != "0" else None


def _holder(path: str) -> str | None:
    try:
        inode = Path(path).stat().st_ino
        locks = Path("/proc/locks").read_text()
    except OSError:
        return None  # no file, so nobody holds it; without /proc the sockets alone have to tell
    found = (_flock_on(inode, line.split()) for line in locks.splitlines())
    return next((pid for pid in found if pid is not None), None)


def _flock_on(inode: int, fields: list[str]) -> str | None:
    """The process id in a line such as `1: FLOCK ADVISORY WRITE 4242 00:1a:123 0 EOF`, if it is about the file.

    The device before the inode isn't compared: some file systems show two.
    """
    match fields:
        case [_, "FLOCK", _, _, pid, place, *_] if place.rpartition(":")[2] == str(inode):
            return pid
        case _:
            return None
