"""Looks at a living worker: what it and all that it started take, and whether it is busy between its calls."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from typing import Any, Final

from . import spawner_processes as processes

REST: Final = 5.0
"""Seconds between two looks at a worker that does nothing, while others make looks more often."""
SURE_INTERVAL: Final = 1.0
"""Seconds between two exact measurements of one worker's memory: one of a gigabyte takes ten milliseconds."""
WINDOW: Final = 0.5
"""Seconds that are judged as one: in less, a thread may just not have had its turn on a busy machine."""
BUSY_SHARE: Final = 0.25
"""The part of a core from which on a worker without a call is busy, not just tidying up."""
SPIN_LIMIT: Final = 3.0
"""Seconds of processor time that a worker without a call may take in a row: more than any tidying up needs."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a worker and its descendants may take at most; None is no limit."""

    memory: int | None = None  # bytes
    processes: int | None = None  # below the worker

    def impose(self) -> None:
        """Let the kernel refuse this process more memory, so that it gets a MemoryError and not its end.

        Of the process's data alone: a limit of its addresses would break what reserves more than it uses.
        """
        if self.memory is not None:
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            soft = self.memory if hard == resource.RLIM_INFINITY else min(self.memory, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@dataclass(slots=True)
class Looks:
    """What was seen of one worker."""

    bounds: Bounds
    excess: dict[str, Any] | None = None  # {limit, used, allowed}: why it was ended
    is_restless: bool = True  # something of it may go on by itself
    _seen: float = 0.0  # when it was looked at last
    _time: float = 0.0  # the processor time it had taken by then
    _idle: float = 0.0  # seconds without a call, of this window
    _worked: float = 0.0  # processor time of those
    _spun: float = 0.0  # the same of the windows before in which it was busy, in a row
    _sure: float = 0.0  # when its memory may be measured exactly again

    @property
    def is_spinning(self) -> bool:
        """Whether it works on and on without a call: a thread that was left behind."""
        return self._spun >= SPIN_LIMIT

    def is_due(self, now: float, *, idle: bool) -> bool:
        """Whether there may be anything new: not if it had no call, and nothing of it goes on by itself."""
        return not idle or self.is_restless or now - self._seen >= REST

    def look(self, pid: int, now: float, *, idle: bool) -> None:
        """Look at it; `idle`: it had no call since the last look. `now` is monotonic time."""
        if self.excess is not None:
            return
        allowed = self.bounds.processes
        found = processes.tree(pid, allowed)
        if found is None:
            self._exceeded("processes", None, allowed)
            return
        is_busy = self._note_work(pid, now, idle=idle)
        self.is_restless = len(found) > 1 or is_busy or processes.threads(pid) > 1
        self._measure(found, now)

    def _note_work(self, pid: int, now: float, *, idle: bool) -> bool:
        """Note what it works without a call; whether it does."""
        passed, worked = now - self._seen, processes.processor_time(pid) - self._time
        self._seen, self._time = now, self._time + worked
        if not idle:
            return False
        self._idle += passed
        self._worked += worked
        if self._idle >= WINDOW:
            is_busy = self._worked >= BUSY_SHARE * self._idle
            self._spun = self._spun + self._worked if is_busy else 0.0
            self._idle = self._worked = 0.0
        return self._spun > 0 or self._worked > 0

    def _measure(self, found: list[int], now: float) -> None:
        allowed = self.bounds.memory
        if allowed is not None and now >= self._sure and sum(map(processes.resident, found)) > allowed:
            self._sure = now + SURE_INTERVAL
            used = sum(map(processes.proportional, found))
            if used > allowed:
                self._exceeded("memory", used, allowed)

    def _exceeded(self, limit: str, used: int | None, allowed: int | None) -> None:
        self.excess = {"limit": limit, "used": used, "allowed": allowed}
