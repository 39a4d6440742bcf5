"""Processes as the kernel tells of them: who descends from whom, dies with whom, adopts orphans, and takes what."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER: Final = 36
_SIGKILL: Final = int(signal.SIGKILL)
_PF_EXITING: Final = 0x4  # linux/sched.h; descriptors are closed before a process is a zombie
_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_MUCH: Final = 64 * 1024
_LINKS_OF_ONE: Final = 3  # of /proc/<pid>/task: its own two, and one for each thread
_TELLS_CHILDREN: Final = os.path.exists(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
_TAKEN: Final = (b"Pss_Anon:", b"Pss_Shmem:", b"SwapPss:")
"""What of smaps_rollup can't be had back by dropping a cache: pages of files can, and are shared with others."""

_control = ctypes.CDLL(None).prctl
_control.argtypes = (
    ctypes.c_int,
    *[ctypes.c_ulong] * 4,
)  # said once: else each worker works it out, for 140 KB


@dataclass(frozen=True, slots=True)
class Process:
    """A line of the process table."""

    pid: int
    parent: int
    is_zombie: bool


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent ends, which may have happened already."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def table() -> dict[int, Process]:
    """The processes there are."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdecimal() and (process := _process(int(name))) is not None:
            found[process.pid] = process
    return found


def tree(root: int, most: int | None = None) -> list[int] | None:
    """The process ids of a process and of its descendants, the ended ones too; None if more than `most` of those live.

    A look at these alone, not at the whole table: it costs little where they are few, and ends where they are many.
    """
    found, count = [root], 0
    for pid in found:
        for child in children(pid):
            found.append(child)
            count += most is not None and not _has_ended(child)
        if most is not None and count > most:
            return None
    return found


def children(pid: int) -> list[int]:
    """The children of a process, the ended ones too; each of its threads may have some."""
    if not _TELLS_CHILDREN:
        return [each.pid for each in table().values() if each.parent == pid]
    found: list[int] = []
    try:
        is_single = os.stat(f"/proc/{pid}/task").st_nlink == _LINKS_OF_ONE
        for thread in (pid,) if is_single else os.listdir(f"/proc/{pid}/task"):
            found += map(int, content(f"/proc/{pid}/task/{thread}/children").split())
    except OSError:  # it ended meanwhile
        pass
    return found


def threads(pid: int) -> int:
    """How many threads a process has."""
    try:
        return os.stat(f"/proc/{pid}/task").st_nlink - _LINKS_OF_ONE + 1
    except OSError:  # it ended meanwhile
        return 0


def resident(pid: int) -> int:
    """Bytes of memory that a process has at hand; what it shares with others counts for each of them."""
    try:
        return int(content(f"/proc/{pid}/statm").split()[1]) * _PAGE
    except (OSError, IndexError):  # it ended meanwhile
        return 0


def proportional(pid: int) -> int:
    """Bytes of memory that a process takes from everybody: of what n processes share, each takes the nth part.

    Slow: every page is looked at. What can't be looked at counts as `resident` says.
    """
    try:
        lines = content(f"/proc/{pid}/smaps_rollup").splitlines()
    except ProcessLookupError:
        return 0
    except OSError:  # of another user: a tool may start a set-user-id program
        return resident(pid)
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith(_TAKEN))


def processor_time(pid: int) -> float:
    """Seconds that a process has kept processors busy, in steps of a hundredth; its children aside."""
    try:
        user, system = content(f"/proc/{pid}/stat").rpartition(b")")[2].split()[11:13]
    except (OSError, ValueError):  # it ended meanwhile
        return 0.0
    return (int(user) + int(system)) * _TICK


def reap() -> Iterator[tuple[int, int]]:
    """Reap the children that have ended: their process ids and wait statuses."""
    with contextlib.suppress(ChildProcessError):  # there are none at all
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            yield ended


def kill(pid: int) -> bool:
    """Kill a process; False if it is gone, or somebody else's (a tool may start a set-user-id program)."""
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def kill_trees(roots: Iterable[int]) -> bool:
    """Kill processes and their descendants; whether there were any.

    What has been killed makes no more children, so those that are read after that are all.
    """
    found = list(roots)
    is_any = False
    for pid in found:
        is_any = kill(pid) or is_any
        found += children(pid)
    return is_any


def kill_group(leader: int) -> None:
    """Kill a process group, if there is one of that number."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def is_going(pid: int) -> bool:
    """Whether a process has ended, or is past everything but the report of its end."""
    try:
        fields = content(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return True
    return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & _PF_EXITING)


def _process(pid: int) -> Process | None:
    try:
        text = content(f"/proc/{pid}/stat")
    except OSError:  # it ended meanwhile
        return None
    state, parent = text.rpartition(b")")[2].split()[:2]  # the name before it may hold anything
    return Process(pid, int(parent), state in (b"Z", b"X"))


def _has_ended(pid: int) -> bool:
    process = _process(pid)
    return process is None or process.is_zombie


def content(path: str) -> bytes:
    """What a file of the kernel says. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a fifth of the time that a file object takes
    try:
        parts = []
        while part := os.read(descriptor, _MUCH):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _prctl(option: int, value: int) -> None:
    if _control(option, value, 0, 0, 0):
        raise OSError(f"prctl({option}, {value}) was refused")
