"""Marks: how a daemon finds what one that is no more has left behind.

A daemon that is killed alone leaves nothing: its spawner ends all. Where both are killed at one stroke, the kernel ends
the workers, but not what tools had put into sessions of its own. That bears the mark of its daemon in its environment,
and the next daemon ends it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from mcppd.workers import spawner_processes as processes
from mcppd.workers.child.variables import MARK


def own() -> dict[str, str]:
    """The variable that everything which this daemon starts is given."""
    return {MARK: f"{os.getpid()}.{processes.started(os.getpid())}"}


def end_orphans() -> bool:
    """Kill what a daemon that is no more has left; whether there was any."""
    return processes.kill_trees(list(_orphans()))


def _orphans() -> Iterator[int]:
    """The processes of this user that bear the mark of a daemon which is no more."""
    kept = set(_ancestors())
    space = _space("self")
    for name in filter(str.isdecimal, os.listdir("/proc")):
        pid = int(name)
        if pid not in kept and (mark := _mark(pid)) and not _is_alive(mark) and _space(name) == space:
            yield pid


def _mark(pid: int) -> str:
    """The mark that a process bears; none if it is another user's."""
    try:
        variables = processes.content(f"/proc/{pid}/environ").split(b"\0")
    except OSError:
        return ""
    start = f"{MARK}=".encode()
    return next(
        (each[len(start) :].decode("ascii", "replace") for each in variables if each.startswith(start)), ""
    )


def _is_alive(mark: str) -> bool:
    """Whether the daemon of a mark is there; also one of a mark that can't be read."""
    pid, _, started = mark.partition(".")
    if not (pid.isdecimal() and started.isdecimal()):
        return True
    return processes.started(int(pid)) == int(started)


def _space(name: str) -> str:
    """In which numbering of processes one lives: in another, numbers mean others."""
    try:
        return os.readlink(f"/proc/{name}/ns/pid")
    except OSError:
        return ""


def _ancestors() -> Iterator[int]:
    """Our own process, and those above it."""
    pid = os.getpid()
    while pid > 0:
        yield pid
        pid = processes.parent(pid)
