"""Processes as the kernel tells of them: who descends from whom, who dies with whom, who adopts orphans."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h
_PR_SET_CHILD_SUBREAPER: Final = 36

_library = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Process:
    """A line of the process table."""

    pid: int
    parent: int
    is_zombie: bool


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent ends, which may have happened already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
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


def descendants(
    root: int, processes: Mapping[int, Process], but_not: Collection[int] = ()
) -> Iterator[Process]:
    """The children of a process and theirs, without some of them and what descends from those."""
    children: dict[int, list[Process]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process)
    waiting = [root]
    while waiting:
        for process in children.get(waiting.pop(), ()):
            if process.pid not in but_not:
                yield process
                waiting.append(process.pid)


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


def kill_group(leader: int) -> None:
    """Kill a process group, if there is one of that number."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _process(pid: int) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            text = file.read()
    except OSError:  # it ended meanwhile
        return None
    state, parent = text.rpartition(b")")[2].split()[:2]  # the name before it may hold anything
    return Process(pid, int(parent), state in (b"Z", b"X"))


def _prctl(option: int, value: int) -> None:
    if _library.prctl(option, value, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
