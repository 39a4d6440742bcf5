"""What each revision of the protocol knows, in one table, and how a tool is shown to it.

The eras_*.py files beside this one hold what only one era has; no other file knows a difference between
revisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

_LEGACY_METHODS: Final = frozenset({"initialize", "ping", "shutdown", "exit", "tools/list", "tools/call"})
_MODERN_METHODS: Final = frozenset({"server/discover", "subscriptions/listen", "tools/list", "tools/call"})

_TOOL_MEMBERS: Final = frozenset({"annotations", "title", "outputSchema", "_meta", "icons", "execution"})
"""Members of a tool that came or went with a revision; all optional, and null in none."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What one revision knows."""

    name: str
    tool_members: frozenset[str]  # those of _TOOL_MEMBERS that it has
    methods: frozenset[str] = _LEGACY_METHODS  # those that we serve
    modern: bool = False  # stateless: each request carries its envelope
    batches: bool = False  # JSON-RPC batches
    audio: bool = True  # content items of type audio
    resource_links: bool = True  # content items of type resource_link
    structured: bool = True  # structuredContent in results
    titles: bool = True  # a title beside a name
    progress_messages: bool = True


_SINCE_2025_06: Final = frozenset({"annotations", "title", "outputSchema", "_meta"})

_TABLE: Final = (
    Revision(
        "2024-11-05",
        frozenset(),
        audio=False,
        resource_links=False,
        structured=False,
        titles=False,
        progress_messages=False,
    ),
    Revision(
        "2025-03-26",
        frozenset({"annotations"}),
        batches=True,
        resource_links=False,
        structured=False,
        titles=False,
    ),
    Revision("2025-06-18", _SINCE_2025_06),
    Revision("2025-11-25", _SINCE_2025_06 | {"icons", "execution"}),
    Revision("2026-07-28", _SINCE_2025_06 | {"icons"}, methods=_MODERN_METHODS, modern=True),
)

REVISIONS: Final[Mapping[str, Revision]] = {revision.name: revision for revision in _TABLE}
LEGACY: Final = tuple(revision.name for revision in _TABLE if not revision.modern)
MODERN: Final = tuple(revision.name for revision in _TABLE if revision.modern)
NEWEST_LEGACY: Final = LEGACY[-1]
"""Also what holds for a request before any handshake (D9)."""


def knows_method(revision: str, method: str) -> bool:
    """Whether a request of this method is served in this revision."""
    return method in REVISIONS[revision].methods


def allows_batches(revision: str) -> bool:
    """Whether the revision has JSON-RPC batches."""
    return REVISIONS[revision].batches


def advertise_tool(definition: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """A tool's definition as this revision knows it; what no revision knows is passed on as it is."""
    known = REVISIONS[revision]
    shown = {
        name: value
        for name, value in definition.items()
        if name not in _TOOL_MEMBERS or (name in known.tool_members and value is not None)
    }
    if "outputSchema" in shown and not known.modern:
        if is_object_schema(shown["outputSchema"]):
            shown["outputSchema"] = _without_booleans(shown["outputSchema"])
        else:
            del shown["outputSchema"]
    return shown


def is_object_schema(schema: Any) -> bool:
    """Whether a schema says `type: object` at its root, all that legacy revisions take for an output."""
    return isinstance(schema, Mapping) and schema.get("type") == "object"


def _without_booleans(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The same schema with no boolean as a property's schema: legacy revisions have objects only there."""
    shown = dict(schema)
    if isinstance(properties := schema.get("properties"), Mapping):
        shown["properties"] = {name: _as_object(each) for name, each in properties.items()}
    return shown


def _as_object(schema: Any) -> Any:
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return schema
