"""What the figures were measured on, without a name or a path of it."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mcppd


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and the day."""

    date: str
    cores: int
    processor: str
    python: str
    kernel: str
    mcppd: str
    load_before: float  # processes that wanted a core in the minute before: noise, if it is not near nought
    is_quick: bool

    def __str__(self) -> str:
        quick = "; --quick: few rounds, so p99 is the largest value" if self.is_quick else ""
        return (
            f"{self.date}; mcppd {self.mcppd}; {self.cores} cores, {self.processor}; Python {self.python}; "
            f"Linux {self.kernel}; load before: {self.load_before:.1f}{quick}"
        )

    def as_json(self) -> dict[str, Any]:
        """Each of these by its name."""
        return {name: getattr(self, name) for name in self.__slots__}


def this_machine(*, quick: bool) -> Machine:
    """The machine that this runs on, now."""
    return Machine(
        date=datetime.now(UTC).date().isoformat(),
        cores=len(os.sched_getaffinity(0)),
        processor=_processor(),
        python=f"{platform.python_implementation()} {platform.python_version()}",
        kernel=platform.release(),
        mcppd=mcppd.__version__,
        load_before=os.getloadavg()[0],
        is_quick=quick,
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "?")
