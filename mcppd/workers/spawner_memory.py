"""The kernel's own deaths for want of memory: counted by it for the whole machine, and for groups of processes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .spawner_processes import content

INTERVAL: Final = 1.0
"""Seconds between two looks: one takes a tenth of a millisecond, and what was killed longer ago is told apart."""

_MACHINE: Final = "/proc/vmstat"
_GROUPS: Final = "/sys/fs/cgroup"


class OutOfMemory:
    """How many processes the kernel has killed, as far as it tells."""

    def __init__(self) -> None:
        self._source = next((path for path in _sources() if _count(path) is not None), None)
        self._seen = self._now()
        self._due = 0.0

    def look(self, now: float) -> None:
        """What has been killed so far is none of those that are asked for later; `now` is monotonic time."""
        if now >= self._due:
            self._seen, self._due = self._now(), now + INTERVAL

    def killed(self) -> int:
        """How many since the last look."""
        return self._now() - self._seen

    def _now(self) -> int:
        return (_count(self._source) or 0) if self._source is not None else 0


def _sources() -> Iterator[str]:
    """The machine's count has those of every group in it; a container may have only the one of its own."""
    yield _MACHINE
    try:
        for line in content("/proc/self/cgroup").decode().splitlines():
            if line.startswith("0::"):
                yield f"{_GROUPS}{line[3:].rstrip('/')}/memory.events"
    except OSError:
        return


def _count(path: str) -> int | None:
    try:
        for line in content(path).splitlines():
            name, _, count = line.partition(b" ")
            if name == b"oom_kill":
                return int(count)
    except (OSError, ValueError):
        pass
    return None
