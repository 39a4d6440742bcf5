"""What the steps towards a portable schema have in common: objects, alternatives and words in a description."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from mcppd.core.schema_text import shown

Schema: TypeAlias = dict[str, Any]

MAX_WORDS: Final = 600  # characters of a constraint in words: clients cut descriptions at 2 KB
MAX_FORM: Final = 120  # characters of one of its alternatives

ANNOTATIONS: Final = frozenset(
    ("$comment", "$defs", "default", "definitions", "description", "examples", "title")
)
"""Keywords by which no value fails."""

# Keywords that mean the same whatever stands beside them.
_SIMPLE: Final = frozenset(
    (
        *("const", "default", "description", "enum", "exclusiveMaximum", "exclusiveMinimum", "format"),
        *("maxLength", "maximum", "minLength", "minimum", "multipleOf", "pattern", "title", "type"),
    )
)


def named_in(schema: Schema) -> dict[str, Any]:
    """Its properties."""
    named = schema.get("properties")
    return named if isinstance(named, dict) else {}


def requiring(schema: Schema, names: Iterable[str]) -> Schema:
    """The schema with names added to those that it requires."""
    required = schema.get("required")
    known = required if isinstance(required, list) else []
    new = [name for name in dict.fromkeys(names) if name not in known]
    return {**schema, "required": [*known, *new]} if new else schema


def either(forms: list[Any]) -> Schema:
    """A schema for what fits any of the forms."""
    distinct = list({repr(form): form for form in forms}.values())
    if {} in distinct or not all(isinstance(each, dict) for each in distinct):
        return {}
    if len(distinct) <= 1:
        return dict(*distinct)
    if any("const" not in each or not set(each) <= {"const", "type"} for each in distinct):
        return {"anyOf": distinct}
    types = {each.get("type") if isinstance(each.get("type"), str) else None for each in distinct}
    common = {"type": types.pop()} if len(types) == 1 and None not in types else {}
    return {**common, "enum": [each["const"] for each in distinct]}


def described(schema: Schema, text: str) -> Schema:
    """The schema with a sentence more in its description."""
    known = schema.get("description")
    text = text if len(text) <= MAX_WORDS else text[:MAX_WORDS] + "…"
    return {**schema, "description": f"{known} {text}" if isinstance(known, str) and known else text}


def type_words(schema: Any) -> str:
    """What a schema takes, in few words."""
    types = schema.get("type") if isinstance(schema, dict) else None
    return types if isinstance(types, str) else shown(schema, MAX_FORM // 3)


def both(one: Any, other: Any) -> Any:
    """A schema for what fits the one and the other."""
    if {} in (one, other) or one == other:
        return one or other
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return {"allOf": [one, other]}
    simple = one.keys() | other.keys() <= _SIMPLE
    if simple and all(one[key] == other[key] for key in one.keys() & other.keys()):
        return {**one, **other}
    return {"allOf": [one, other]}
