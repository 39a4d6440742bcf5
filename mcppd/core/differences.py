"""Differences: which fields of a definition are others than before, named by their paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcppd.core.jsonrpc import encode_value

DEPTH: Final = 6
"""Names in a path at most: what lies deeper in a schema is told as a change of what it lies in."""
FIELDS: Final = 100
"""Fields that are told of one definition: more than anybody reads, and a schema may have ten thousand."""


def differing_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of the members that came, went or changed, as `inputSchema.properties.who`; in order, cut at FIELDS."""
    found: list[str] = []
    for path in _differing((), old, new):
        if len(found) == FIELDS:
            break
        found.append(".".join(path))
    return tuple(found)


def _differing(
    path: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]
) -> Iterator[tuple[str, ...]]:
    for name in sorted(old.keys() | new.keys()):
        here = (*path, name)
        before, after = old.get(name, _ABSENT), new.get(name, _ABSENT)
        if _is_same(before, after):
            continue
        below: Iterator[tuple[str, ...]] = iter(())
        if isinstance(before, Mapping) and isinstance(after, Mapping) and len(here) < DEPTH:
            below = _differing(here, before, after)
        first = next(below, here)  # itself, where only the order in it is another
        yield from (first, *below)


def _is_same(before: Any, after: Any) -> bool:
    """Whether two values look the same to clients."""
    if before is _ABSENT or after is _ABSENT:
        return False
    return before is after or encode_value(before) == encode_value(after)


_ABSENT: Final = object()
