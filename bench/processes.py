"""What the kernel says of processes: their private memory, their time on a core, their context switches."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Usage:
    """What threads have used since they began."""

    seconds: float  # on a core
    switches: int  # voluntary and not

    def since(self, before: Usage) -> Usage:
        """The difference."""
        return Usage(self.seconds - before.seconds, self.switches - before.switches)


def private_memory(pid: int) -> int:
    """Bytes that would be free if the process ended: Private_Clean and Private_Dirty of all its mappings."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024


def usage(pids: Iterable[int]) -> Usage:
    """Of all threads of these processes together; one that has ended has used nothing."""
    seconds, switches = 0.0, 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{pid}/task").iterdir():
                seconds += _seconds(thread)
                switches += _switches(thread)
    return Usage(seconds, switches)


def family(pid: int) -> list[int]:
    """A process and all its descendants."""
    parents = dict(_parents())
    found = [pid]
    for each in found:  # grows while it is gone through
        found += [child for child, parent in parents.items() if parent == each]
    return found


def _seconds(thread: Path) -> float:
    # schedstat counts in ns; the ticks of `stat` are 10 ms, as much as an idle daemon takes in seconds
    return int((thread / "schedstat").read_text().split()[0]) / 1e9


def _switches(thread: Path) -> int:
    lines = (thread / "status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


def _parents() -> Iterator[tuple[int, int]]:
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):  # it has ended meanwhile
                stat = Path("/proc", name, "stat").read_text()
                yield int(name), int(stat.rpartition(")")[2].split()[1])
