"""Limits: what a module and each of its tools may take, how both files write it, and which of several holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Final

from mcppd.core.shapes import shown

MAX_SECONDS: Final = 10.0**8
"""Three years; timers of the loop and the kernel overflow far above, so more than this is no limit."""
MAX_WORKERS: Final = 64
"""More processes than this for one module are a slip of the finger, and would take the whole machine."""
MAX_QUEUE: Final = 10_000
"""Calls that wait hold their arguments in memory; the last of so many would be answered when nobody remembers it."""
MAX_PROCESSES: Final = 2**22
"""The kernel has no more process ids than this (proc(5), pid_max)."""
MAX_SIZE: Final = 2**50
"""Bytes: a pebibyte, which no machine has and every counter holds."""
MIN_MEMORY: Final = 32 * 1024**2
"""Bytes: an interpreter with nothing in it takes half of that, so less would end every worker at its start."""
MIN_OUTPUT: Final = 1000
"""Bytes: of less, the note that something was cut would be the larger part."""

UNITS: Final[Mapping[str, int]] = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_SIZE: Final = re.compile(r"([0-9]{1,16}(?:\.[0-9]{1,6})?) ?([KMGT]?)(?:i?B)?", re.IGNORECASE)
SIZE_WORDS: Final = "a size such as 512M, 1.5G or 100000 (bytes)"


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """What one tool may take; None leaves it to its module, 0 is no limit.

    timeout: seconds of a call.
    output: bytes of the texts of a result.
    chars: characters of them that clients were promised (`_meta`), which are let through whatever `output` says.
    """

    timeout: float | None = None
    output: int | None = None
    chars: int | None = None


@dataclass(frozen=True, slots=True)
class Limits(ToolLimits):
    """What a module may take, as one file says it; None where that says nothing.

    import_timeout: seconds of its import; 0 is no limit.
    memory: bytes of a worker and all that it started; 0 is no limit.
    processes: how many processes below a worker may live at once; 0 is no limit.
    workers: how many workers may run it at once, from 1.
    queue: how many calls may wait for one of them; 0 lets none wait.
    """

    import_timeout: float | None = None
    memory: int | None = None
    processes: int | None = None
    workers: int | None = None
    queue: int | None = None


UNSAID: Final = Limits()
TOOL_UNSAID: Final = ToolLimits()
"""What a file says that says nothing."""

TOOL_LIMITS: Final = ("timeout", "output")
"""The keys of a tool's limits. The others are of processes, which all tools of a module share."""
LIMITS: Final = (*TOOL_LIMITS, "import_timeout", "memory", "processes", "workers", "queue")
"""The keys of a module's limits, in both files."""
PROMISED: Final = "anthropic/maxResultSizeChars"
"""The member of a tool's `_meta` by which its author promises clients results of so many characters (PROTOCOL 4.4)."""


def over(first: Limits, second: Limits) -> Limits:
    """What the first says, and what it leaves open from the second."""
    return Limits(**{name: _said(getattr(first, name), getattr(second, name)) for name in LIMITS})


def tool_over(*every: ToolLimits) -> ToolLimits:
    """What holds for a tool, the first to say anything before the others."""
    return ToolLimits(
        **{name: _said(*(getattr(each, name) for each in every)) for name in (*TOOL_LIMITS, "chars")}
    )


def of_tool(
    name: str, registry: Limits, patterns: Mapping[str, ToolLimits], manifest: Limits, own: ToolLimits
) -> ToolLimits:
    """What holds for a tool: all that the registry says goes before what the manifest says.

    `patterns` are names and globs of the registry's, `own` is what the manifest says for this very tool.
    """
    by_glob = (limits for pattern, limits in patterns.items() if fnmatchcase(name, pattern))
    first = tool_over(patterns.get(name, TOOL_UNSAID), *by_glob, registry)
    whole = tool_over(first, own, manifest)
    return whole if first.output is None else replace(whole, chars=None)


def seconds(value: Any) -> float:
    """A time limit as it is written in both files: 0.0 for no limit. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:  # noqa: PLR0124 - .nan
        raise ValueError(f"a number of seconds is wanted, not {shown(value)}; 0 is no limit")
    return 0.0 if value <= 0 or value > MAX_SECONDS else float(value)


def size(value: Any) -> int:
    """A size in bytes as people write it: 512M, 1.5G, 100000; 0 is no limit. Raises ValueError."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
        found = int(value)
    elif isinstance(value, str) and (parts := _SIZE.fullmatch(value.strip())):
        found = round(float(parts[1]) * UNITS[parts[2].upper()])
    else:
        raise ValueError(f"{SIZE_WORDS} is wanted, not {shown(value)}; 0 is no limit")
    if not 0 <= found <= MAX_SIZE:
        raise ValueError(f"{SIZE_WORDS} from 0, which is no limit, is wanted, not {shown(value)}")
    return found


def memory(value: Any) -> int:
    """A size that a worker can live in. Raises ValueError."""
    return _at_least(MIN_MEMORY, size(value), "no worker lives in less")


def output(value: Any) -> int:
    """A size of results. Raises ValueError."""
    return _at_least(MIN_OUTPUT, size(value), "less says nothing")


def workers(value: Any) -> int:
    """How many workers. Raises ValueError."""
    return _count(value, 1, MAX_WORKERS)


def queue(value: Any) -> int:
    """How many calls. Raises ValueError."""
    return _count(value, 0, MAX_QUEUE)


def processes(value: Any) -> int:
    """How many processes. Raises ValueError."""
    return _count(value, 0, MAX_PROCESSES)


CONVERT: Final = {
    "timeout": seconds,
    "output": output,
    "import_timeout": seconds,
    "memory": memory,
    "processes": processes,
    "workers": workers,
    "queue": queue,
}
"""What makes a limit of what a file says. Each raises ValueError."""


def as_size(count: int) -> str:
    """A size for people: 512M, 1.5G, 100000 bytes; as it can be written in the files."""
    for unit in ("T", "G", "M", "K"):
        if count >= UNITS[unit] and count * 10 % UNITS[unit] == 0:
            return f"{count / UNITS[unit]:.1f}".removesuffix(".0") + unit
    return f"{count} bytes"


def _said(*every: Any) -> Any:
    return next((each for each in every if each is not None), None)


def _at_least(least: int, found: int, why: str) -> int:
    if 0 < found < least:
        raise ValueError(f"at least {as_size(least)} is wanted ({why}), not {as_size(found)}; 0 is no limit")
    return found


def _count(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"a whole number from {least} to {most} is wanted, not {shown(value)}")
    return value
