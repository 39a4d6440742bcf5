"""Subschemas: where a JSON Schema holds them, and what its references lead to; no document but itself is known."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

import jsonschema
from jsonschema.exceptions import UnknownType
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with

from mcppd.core.schema_text import MAX_SHOWN, path_text, shown
from mcppd.core.shapes import Path


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAX_DEPTH: Final = 64  # levels of JSON: a check takes up to 14 frames a level, and Python has 1000
MAX_LEVELS: Final = 2 * MAX_DEPTH  # what is drawn together at a root may get a little deeper
MAX_VALUES: Final = 50_000  # JSON values in a schema, a shared part counted wherever it stands (YAML aliases)
MAX_SUBSCHEMAS: Final = 5_000  # checking one against the 2020-12 meta-schema takes about 0.2 ms

# What jsonschema, referencing and re raise on schemas that nobody checked; nothing of ours is among them.
BROKEN: Final = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError, re.error),
    *(UnknownType, Unresolvable),
)

NOTHING_ELSE: Final[Registry[Any]] = Registry()
"""Documents that references may lead to; jsonschema's own default fetches from the network."""

_HALF: Final = re.compile("[\ud800-\udfff]")
_DRAFTS: Final = ("3", "4", "6", "7", "201909", "202012")
CLASSES: Final[list[Any]] = [getattr(jsonschema, f"Draft{each}Validator") for each in _DRAFTS]
DIALECTS: Final = {each.ID_OF(each.META_SCHEMA).rstrip("#"): each for each in CLASSES}
_DEFAULT: Final = "https://json-schema.org/draft/2020-12/schema"

# Keywords of all dialects whose value is a subschema or a list of them; whose value maps names to subschemas;
# which apply theirs to the very value that the schema is applied to.
HELD: Final = _words(
    "additionalItems additionalProperties allOf anyOf contains contentSchema disallow else extends if items"
    " not oneOf prefixItems propertyNames then type unevaluatedItems unevaluatedProperties"
)
NAMED: Final = _words("$defs definitions dependencies dependentSchemas patternProperties properties")
IN_PLACE: Final = _words("allOf anyOf dependencies dependentSchemas else extends if not oneOf then type")
REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
NULL_IS_A_VALUE: Final = ("const", "default")


@dataclass(frozen=True, slots=True)
class Place:
    """A subschema, where it is, and what its references lead to (None: to no schema inside this one)."""

    path: Path
    schema: dict[str, Any]
    targets: tuple[tuple[str, Any], ...]
    outside: bool  # only a reference leads to it, so the meta-schema didn't see it


def children(schema: Any) -> Iterator[tuple[Path, Any]]:
    """What stands directly in the subschema positions of a schema, junk included."""
    for key, value in schema.items() if isinstance(schema, dict) else ():
        if key in NAMED and isinstance(value, dict):
            yield from (((key, name), each) for name, each in value.items())
        elif key in HELD and isinstance(value, list):
            yield from (((key, index), each) for index, each in enumerate(value))
        elif key in HELD:
            yield (key,), value


def rebuilt(key: str, value: Any, change: Callable[[Any], Any]) -> Any:
    """The value of a keyword, with `change` applied to what stands in its subschema positions."""
    if key in NAMED and isinstance(value, dict):
        return {name: change(each) for name, each in value.items()}
    if key in HELD:
        return [change(each) for each in value] if isinstance(value, list) else change(value)
    return value


def cleaned(schema: Any) -> Any:
    """A copy without the keywords that are null: in YAML, a keyword with nothing behind it."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if value is not None or key in NULL_IS_A_VALUE}
    return {key: rebuilt(key, value, cleaned) for key, value in kept.items()}


def validator_of(schema: Any) -> Validator:
    """A validator for a schema, in its dialect, that knows no other document; raises one of BROKEN."""
    made: Validator = DIALECTS[dialect_of(schema)](cleaned(schema), registry=NOTHING_ELSE)
    return made


def places(schema: Any) -> Iterator[Place]:
    """Every subschema once, those that only a reference leads to last; MAX_SUBSCHEMAS and one at most."""
    resource = specification_with(dialect_of(schema)).create_resource
    known: deque[tuple[Path, Any, Any]] = deque()
    outside: deque[tuple[Path, Any, Any]] = deque()
    known.append(((), schema, NOTHING_ELSE.resolver_with_root(resource(schema))))
    seen: set[int] = set()
    while (known or outside) and len(seen) <= MAX_SUBSCHEMAS:
        is_outside = not known
        path, each, resolver = (known or outside).popleft()
        if not isinstance(each, dict) or id(each) in seen:
            continue
        seen.add(id(each))
        found = [(key, _target(resolver, each[key])) for key in REFERENCES if key in each]
        yield Place(path, each, tuple((key, to and to.contents) for key, to in found), is_outside)
        outside += [((*path, key), to.contents, to.resolver) for key, to in found if to]
        inner = [(step, child) for step, child in children(each) if isinstance(child, dict)]
        known += [((*path, *step), child, resolver.in_subresource(resource(child))) for step, child in inner]


def known_places(schema: Any) -> list[Place] | None:
    """The same as a list; None of a schema that nobody checked and that can't be read as one."""
    try:
        return list(places(schema))
    except BROKEN:
        return None


def json_fault(schema: Any, levels: int = MAX_DEPTH) -> str | None:
    """What makes a value other than JSON, or too big to be looked into; runs nothing."""
    waiting: list[tuple[Path, Any]] = [((), schema)]
    for count, (path, value) in enumerate(waiting):  # grows while it is gone through
        if len(path) > levels:
            return f"{path_text(path)}: nested deeper than {levels} levels"
        if count > MAX_VALUES:
            return f"$: more than {MAX_VALUES} values in one schema"
        if fault := _value_fault(value):
            return f"{path_text(path)}: {fault}"
        if isinstance(value, dict | list):
            members = value.items() if isinstance(value, dict) else enumerate(value)
            waiting += [((*path, step), each) for step, each in members]
    return None


def is_usable(schema: Any) -> bool:
    """Whether it is a mapping of JSON values that is small enough to be looked into."""
    return isinstance(schema, dict) and json_fault(schema, MAX_LEVELS) is None


def dialect_of(schema: Any) -> str:
    """The URI that names the dialect of a schema, known or not."""
    named = schema.get("$schema") if isinstance(schema, dict) else None
    return _DEFAULT if named is None else str(named).rstrip("#")


def _target(resolver: Any, reference: Any) -> Any:
    """What a reference leads to inside the schema, if that is a schema."""
    try:
        found = resolver.lookup(reference)
    except BROKEN:
        return None
    return found if isinstance(found.contents, dict | bool) else None


def _value_fault(value: Any) -> str | None:
    if isinstance(value, dict):
        faults = (_value_fault(key) if isinstance(key, str) else _not_text(key) for key in value)
        return next((fault for fault in faults if fault), None)
    if isinstance(value, str) and _HALF.search(value):
        return f"{shown(value, MAX_SHOWN)} holds half a character (a lone surrogate)"
    if isinstance(value, float) and not isfinite(value):
        return f"{value} is not a JSON number"
    known = isinstance(value, str | int | float | list | None)
    return None if known else f"{shown(value, MAX_SHOWN)} is not a JSON value; write it in quotes"


def _not_text(key: Any) -> str:
    return f"the key {shown(key, MAX_SHOWN)} is not text; write it in quotes"
