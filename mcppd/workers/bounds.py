"""What a worker may take where neither file says anything, and how a limit that was hit is told."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Final

from mcppd.core.limits import as_size
from mcppd.core.modules import Settings

DEFAULT_PROCESSES: Final = 256
"""Processes below a worker: more than any build starts, and few enough that a machine with a fork bomb stays usable."""
DEFAULT_SHARE: Final = 4
"""A worker gets a quarter of the machine's memory, so that no single one can take it all."""
DEFAULT_IMPORT_TIMEOUT: Final = 30.0
"""Seconds that a module may take to be imported; heavy libraries need some, a hang needs an end."""

_MEGABYTE: Final = 1024**2
_GROUP_LIMITS: Final = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where a container says how much of the machine's memory it has (cgroup 2 and 1)."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a worker and all that it started may take at most; None is no limit."""

    memory: int | None  # bytes
    processes: int | None  # below the worker


@dataclass(frozen=True, slots=True)
class Excess:
    """The limit for which a worker was ended."""

    limit: str  # memory, processes
    used: int | None  # None where that was not counted to the end
    allowed: int

    def __str__(self) -> str:
        if self.used is not None:
            used, allowed = as_size(_rounded(self.used)), as_size(self.allowed)
            return (
                f"was ended: it and what it started took {used} of memory, more than its limit of {allowed}"
            )
        return f"was ended: more than {self.allowed} processes that it had started ran at once, its limit"


def bounds_of(settings: Settings) -> Bounds:
    """What the workers of a module may take."""
    memory = _rounded(machine_memory() // DEFAULT_SHARE) if settings.memory is None else settings.memory
    processes = DEFAULT_PROCESSES if settings.processes is None else settings.processes
    return Bounds(memory or None, processes or None)


def import_limit(settings: Settings) -> float | None:
    """Seconds that a module may take to be imported, None for no limit."""
    return (DEFAULT_IMPORT_TIMEOUT if settings.import_timeout is None else settings.import_timeout) or None


def where_to_change(limit: str) -> str:
    """A sentence that says where a limit of a module is changed."""
    return f"The limit is `{limit}` of the module in tools.yaml or tool.yaml."


@functools.cache
def machine_memory() -> int:
    """Bytes of memory that there are for everything that runs here."""
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([whole, *filter(None, map(_group_limit, _GROUP_LIMITS))])


def _rounded(count: int) -> int:
    """Bytes as people read them, in whole megabytes."""
    return round(count / _MEGABYTE) * _MEGABYTE


def _group_limit(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):  # there is no such file, or it says that there is no limit
        return None
