"""Plain schemas: those by which any small value is checked in no time, so the daemon may do it itself (D1)."""

from __future__ import annotations

from typing import Any, Final

from mcppd.core.subschemas import CLASSES, DIALECTS, HELD, IN_PLACE, NAMED, children

MAX_PLAIN: Final = 2_000  # subschemas in a plain schema, 5 µs each: checks and `is_plain` block the daemon
MAX_PLAIN_REPEATED: Final = 8  # of them for one value of an array or map: 64 KiB hold 32,000 such values

EVALUATED: Final = frozenset(key for each in CLASSES for key in each.VALIDATORS)
"""Keywords that some dialect evaluates."""

_EACH: Final = frozenset(("additionalItems", "additionalProperties", "contains", "items", "propertyNames"))
_PLAIN_LEAVES: Final = frozenset(
    (
        *("const", "enum", "exclusiveMaximum", "exclusiveMinimum", "format", "maxItems", "maxLength"),
        *("maxProperties", "maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf"),
        *("required", "type"),
    )
)
# unevaluated… checks its siblings once more on each level: two to the power of the levels.
_NEVER_PLAIN: Final = frozenset(
    ("disallow", "extends", "patternProperties", "unevaluatedItems", "unevaluatedProperties")
)


def is_plain(schema: Any) -> bool:
    """Whether checking a small value against the schema runs nothing that its author can make slow (D1)."""
    waiting = [(schema, 1, False)]
    total = 0
    while waiting:
        root, width, repeats = waiting.pop()
        here = _applied(root)
        if not all(map(_is_plain_here, here)):
            return False
        width *= len(here)
        burden = width + sum(map(_list_members, here)) // 4
        total += burden
        if total > MAX_PLAIN or (repeats and burden > MAX_PLAIN_REPEATED):
            return False
        inner = [(path[0], child) for each in here for path, child in children(each)]
        waiting += [(child, width, repeats or key in _EACH) for key, child in inner if key not in IN_PLACE]
    return True


def _applied(schema: Any) -> list[Any]:
    """The schema and what it applies to the very same value, as far as that is of interest."""
    found = [schema]
    for each in found:  # grows while it is gone through
        if len(found) <= MAX_PLAIN and isinstance(each, dict):
            found += [child for path, child in children(each) if path[0] in IN_PLACE - {"type"}]
    return found


def _is_plain_here(schema: Any) -> bool:
    if isinstance(schema, dict):
        return all(_is_plain_keyword(key, value) for key, value in schema.items())
    return isinstance(schema, bool)


def _is_plain_keyword(key: Any, value: Any) -> bool:
    if not isinstance(key, str) or key in _NEVER_PLAIN:
        return False
    if key in _PLAIN_LEAVES:
        members = value if isinstance(value, list) else [value]
        return not any(isinstance(each, dict | list) for each in members)
    if key == "$schema":
        return isinstance(value, str) and value.rstrip("#") in DIALECTS
    # Keywords that no dialect evaluates are titles, examples, an author's own.
    return isinstance(value, dict) if key in NAMED else key in HELD or key not in EVALUATED


def _list_members(schema: Any) -> int:
    """What is gone through in `enum`, `required` and `type`: a member takes a tenth to a half of a subschema."""
    keys = _PLAIN_LEAVES & schema.keys() if isinstance(schema, dict) else ()
    return sum(len(schema[key]) for key in keys if isinstance(schema[key], list))
