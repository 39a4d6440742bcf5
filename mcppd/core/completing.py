"""Completion of an argument from a list of what it may be, without any code of an author's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

MAX_VALUES: Final = 100
"""Values of one completion (MCP, CompleteResult)."""


def complete_from(values: Iterable[str], prefix: str) -> dict[str, Any]:
    """MCP's completion: the values that begin with what was typed, whatever its case, none of them twice."""
    typed = prefix.casefold()
    found = list(dict.fromkeys(value for value in values if value.casefold().startswith(typed)))
    return {"values": found[:MAX_VALUES], "total": len(found), "hasMore": len(found) > MAX_VALUES}
