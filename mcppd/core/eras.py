"""What each revision of the protocol knows, in one table, and how things on offer are shown to it.

The eras_*.py files beside this one hold what only one era has, and adapt what is sent; no other file knows a
difference between revisions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcppd.core.kinds import Kind

NOV_2024: Final = "2024-11-05"
MAR_2025: Final = "2025-03-26"
JUN_2025: Final = "2025-06-18"
NOV_2025: Final = "2025-11-25"
JUL_2026: Final = "2026-07-28"

_SERVED: Final = frozenset(
    {
        *("tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list"),
        *("resources/templates/list", "resources/read", "completion/complete"),
    }
)
_LEGACY_METHODS: Final = _SERVED | {
    *("initialize", "ping", "shutdown", "exit", "logging/setLevel"),
    *("resources/subscribe", "resources/unsubscribe"),
}
_MODERN_METHODS: Final = _SERVED | {"server/discover", "subscriptions/listen"}

_CAME: Final[Mapping[str, Mapping[str, str]]] = {
    "tool": {
        "annotations": MAR_2025,
        **dict.fromkeys(("title", "outputSchema", "_meta"), JUN_2025),
        **dict.fromkeys(("icons", "execution"), NOV_2025),
    },
    "prompt": {"title": JUN_2025, "_meta": JUN_2025, "icons": NOV_2025},
    "argument": {"title": JUN_2025},
    "resource": {"title": JUN_2025, "_meta": JUN_2025, "icons": NOV_2025, "annotations": NOV_2024},
    "annotations": {"lastModified": JUN_2025},
    "item": {"_meta": JUN_2025, "icons": NOV_2025},
    "contents": {"_meta": JUN_2025},
    "server": {"title": JUN_2025, "icons": NOV_2025},
    "capabilities": {"completions": MAR_2025},
    "progress": {"message": MAR_2025},
    "result": {"structuredContent": JUN_2025},
    "types": {"audio": MAR_2025, "resource_link": JUN_2025},
    "questions": {"elicitation/create": JUN_2025},
    "elicitation": {"url": NOV_2025, "choices": NOV_2025},
    "sampling": {
        **dict.fromkeys(("tools", "toolChoice", "lists", "context"), NOV_2025),
        "audio": MAR_2025,
    },
}
"""With which revision each optional part of a thing came; null is right in none of them.

A resource is also a template. `choices` are the enumerations of several values, with titles and with defaults,
`lists` is content of several items, `context` is a capability for includeContext.
"""

_WENT: Final[Mapping[str, Mapping[str, str]]] = {"tool": {"execution": JUL_2026}}
"""The revision that no longer has a part."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What one revision knows."""

    name: str
    methods: frozenset[str] = _LEGACY_METHODS  # those that we serve
    modern: bool = False  # stateless: each request carries its envelope
    batches: bool = False  # JSON-RPC batches
    not_found: int = -32002  # the code of a resource that isn't there
    elicitation_ids: bool = False  # an elicitation by URL has an id
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)  # parts of _CAME that it hasn't

    def knows(self, thing: str, part: str) -> bool:
        """Whether it has a part of a thing."""
        return part not in self.unknown[thing]


def _unknown(name: str) -> dict[str, frozenset[str]]:
    """The parts that a revision hasn't: those that came later or went before; dates compare as texts."""
    return {
        thing: frozenset(
            part
            for part, since in parts.items()
            if name < since or name >= _WENT.get(thing, {}).get(part, "9")
        )
        for thing, parts in _CAME.items()
    }


_TABLE: Final = (
    Revision(NOV_2024, unknown=_unknown(NOV_2024)),
    Revision(MAR_2025, unknown=_unknown(MAR_2025), batches=True),
    Revision(JUN_2025, unknown=_unknown(JUN_2025)),
    Revision(NOV_2025, unknown=_unknown(NOV_2025), elicitation_ids=True),
    Revision(JUL_2026, unknown=_unknown(JUL_2026), methods=_MODERN_METHODS, modern=True, not_found=-32602),
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


def capabilities(revision: str) -> dict[str, Any]:
    """What we declare; clients drop notifications of a server that doesn't (CASES C1).

    All of it, whatever there is at the moment: the next save may bring a first prompt.
    """
    declared: dict[str, Any] = {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "completions": {},
        "logging": {},
    }
    return known_members("capabilities", declared, REVISIONS[revision])


def known_members(thing: str, members: Mapping[str, Any], known: Revision) -> dict[str, Any]:
    """A thing without what the revision doesn't know; what no revision knows is passed on as it is."""
    optional, unknown = _CAME[thing], known.unknown[thing]
    return {
        name: value
        for name, value in members.items()
        if name not in optional or (name not in unknown and value is not None)
    }


def known_annotations(thing: Mapping[str, Any], known: Revision) -> dict[str, Any]:
    """A thing whose `annotations` are what the revision knows of them."""
    shown = dict(thing)
    if isinstance(annotations := shown.get("annotations"), Mapping):
        shown["annotations"] = known_members("annotations", annotations, known)
    return shown


def advertise(kind: Kind, definition: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """A definition as its list shows it in this revision."""
    return _SHOWN[kind](definition, REVISIONS[revision])


def is_object_schema(schema: Any) -> bool:
    """Whether a schema says `type: object` at its root, all that legacy revisions take for an output."""
    return isinstance(schema, Mapping) and schema.get("type") == "object"


def _tool(definition: Mapping[str, Any], known: Revision) -> dict[str, Any]:
    shown = known_members("tool", definition, known)
    if "outputSchema" in shown and not known.modern:
        if is_object_schema(shown["outputSchema"]):
            shown["outputSchema"] = _without_booleans(shown["outputSchema"])
        else:
            del shown["outputSchema"]
    return shown


def _prompt(definition: Mapping[str, Any], known: Revision) -> dict[str, Any]:
    shown = known_members("prompt", definition, known)
    if isinstance(arguments := shown.get("arguments"), list | tuple):
        shown["arguments"] = [known_members("argument", each, known) for each in arguments]
    return shown


def _resource(definition: Mapping[str, Any], known: Revision) -> dict[str, Any]:
    return known_annotations(known_members("resource", definition, known), known)


_SHOWN: Final[Mapping[Kind, Callable[[Mapping[str, Any], Revision], dict[str, Any]]]] = {
    "tools": _tool,
    "prompts": _prompt,
    "resources": _resource,
    "resourceTemplates": _resource,
}


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
