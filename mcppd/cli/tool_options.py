"""The options that a tool's input schema gives it on the command line: names and kinds of values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

KINDS: Final = frozenset({"string", "integer", "number", "boolean", "array", "object", "null"})
"""The types of JSON Schema; a schema that names none allows all."""

REFERENCE_DEPTH: Final = 16
"""Schemas inside schemas that are followed for one option; a schema may refer to itself."""


@dataclass(frozen=True, slots=True)
class Option:
    """One property of a tool's input schema."""

    name: str  # the property's
    schema: Mapping[str, Any]
    kinds: frozenset[str]
    is_required: bool
    root: Mapping[str, Any]  # the whole schema, which references point into

    @property
    def flag(self) -> str:
        """The option as people type it."""
        return "--" + self.name.replace("_", "-")

    @property
    def is_flag(self) -> bool:
        """Whether it can stand without a value."""
        return "boolean" in self.kinds and "string" not in self.kinds

    @property
    def items(self) -> Mapping[str, Any]:
        """The schema of an array's items."""
        for schema in alternatives(self.schema, self.root):
            if isinstance(items := schema.get("items"), Mapping):
                return items
        return {}

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values that an `enum` or `const` allows; empty where anything of its kinds goes."""
        return choices_of(self.schema, self.root)


def options_of(schema: Mapping[str, Any]) -> tuple[Option, ...]:
    """The options of a tool, the required ones first."""
    properties = schema.get("properties")
    names = schema.get("required")
    required = set(names) if isinstance(names, list) else set()
    options = [
        Option(name, each, kinds_of(each, schema), name in required, schema)
        for name, each in (properties.items() if isinstance(properties, Mapping) else ())
        for each in [each if isinstance(each, Mapping) else {}]
    ]
    return tuple(sorted(options, key=lambda option: not option.is_required))


def choices_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> tuple[Any, ...]:
    """The values that `enum` and `const` allow, provided that each alternative has some."""
    found: list[Any] = []
    for each in alternatives(schema, root):
        if "const" in each:
            found.append(each["const"])
        elif isinstance(each.get("enum"), list):
            found.extend(each["enum"])
        elif each.get("type") == "null":
            found.append(None)
        else:
            return ()
    return tuple(found)


def kinds_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> frozenset[str]:
    """The kinds of values that a schema may allow."""
    found: set[str] = set()
    for each in alternatives(schema, root):
        found |= _own_kinds(each)
    return frozenset(found)


def alternatives(
    schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = REFERENCE_DEPTH
) -> list[Mapping[str, Any]]:
    """The schema itself, or what it refers to or chooses between, as far as that can be seen."""
    if depth == 0:
        return [{}]
    if isinstance(target := schema.get("$ref"), str) and "type" not in schema:
        return alternatives(_resolve(target, root), root, depth - 1)
    for word in ("anyOf", "oneOf"):
        if isinstance(branches := schema.get(word), list) and "type" not in schema and branches:
            return [
                each
                for branch in branches
                for each in alternatives(branch if isinstance(branch, Mapping) else {}, root, depth - 1)
            ]
    if isinstance(parts := schema.get("allOf"), list) and "type" not in schema:
        return _narrowest(parts, root, depth)
    return [schema]


def _narrowest(parts: Iterable[Any], root: Mapping[str, Any], depth: int) -> list[Mapping[str, Any]]:
    """Of schemas that all hold, the alternatives of the one that says most about the kind."""
    seen = [alternatives(part, root, depth - 1) for part in parts if isinstance(part, Mapping)]
    if not seen:
        return [{}]
    return min(seen, key=lambda each: len(frozenset[str]().union(*map(_own_kinds, each))))


def _resolve(target: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference within the schema points at (RFC 6901); {} if it leads nowhere."""
    place: Any = root
    for step in target.removeprefix("#").split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        place = place.get(key) if isinstance(place, Mapping) else None
    return place if target.startswith("#") and isinstance(place, Mapping) else {}


def _own_kinds(schema: Mapping[str, Any]) -> frozenset[str]:
    named = schema.get("type")
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    if kinds := KINDS.intersection(name for name in names if isinstance(name, str)):
        return kinds
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list) and values:
        return frozenset(kind_of(value) for value in values)
    return KINDS


def kind_of(value: Any) -> str:
    """The JSON Schema type of a value."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"
