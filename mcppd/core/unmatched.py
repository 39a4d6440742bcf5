"""Names and globs under an entry's `tools:` that mean none of its tools: most often a slip of the pen."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Final

from mcppd.core.faults import Fault
from mcppd.core.registry import Entry

_SHOWN: Final = 8
"""Tools that are listed where none has a name like it; with more, people look into the manifest."""


def unmatched(entry: Entry, names: Collection[str]) -> Iterator[Fault]:
    """A warning for each that means none of the tools of these names, which are all that the entry serves."""
    for pattern, place in entry.patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            wrong = f"{place.message}: no tool of what is listed here has a name like {pattern[:60]!r}"
            yield replace(place, message=f"{wrong}{_advice(pattern, names)}")


def _advice(pattern: str, names: Collection[str]) -> str:
    near = difflib.get_close_matches(pattern, names, 3)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    if not names:
        return ": it has no tools"
    more = ", …" if len(names) > _SHOWN else ""
    return f"; its tools are {', '.join(sorted(names)[:_SHOWN])}{more}"
