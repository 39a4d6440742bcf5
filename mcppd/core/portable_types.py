"""Types in a portable schema: one for each subschema, since a list of them is not for every client."""

from __future__ import annotations

from typing import Any, Final

from mcppd.core.portable_parts import Schema
from mcppd.core.subschemas import rebuilt

_NUMBER: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_KEYWORDS: Final[dict[str, tuple[str, ...]]] = {
    "string": (
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "contentEncoding",
        "contentMediaType",
        "contentSchema",
    ),
    "number": _NUMBER,
    "integer": _NUMBER,
    "array": (
        *("items", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems"),
        "unevaluatedItems",
    ),
    "object": (
        *("properties", "required", "additionalProperties", "patternProperties", "propertyNames"),
        *("minProperties", "maxProperties", "dependentRequired", "dependentSchemas", "dependencies"),
        "unevaluatedProperties",
    ),
    "boolean": (),
    "null": (),
}
"""What each type has keywords for; they say nothing about a value of another."""
_MOVED: Final = frozenset(("type", "enum", "const", *(key for keys in _KEYWORDS.values() for key in keys)))


def single_types(root: Schema) -> Schema:
    """The whole with one type in each subschema: of several an `anyOf` is made, that allows the same values."""
    return {key: rebuilt(key, value, _single) for key, value in root.items()}


def _single(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    out = {key: rebuilt(key, value, _single) for key, value in schema.items()}
    types = out.get("type")
    if not isinstance(types, list) or not all(isinstance(each, str) and each in _KEYWORDS for each in types):
        return out
    forms = [form for each in dict.fromkeys(types) if (form := _form(out, each)) is not None]
    rest = {key: value for key, value in out.items() if key not in _MOVED}
    if len(forms) == 1:
        return {**rest, **forms[0]}
    if not forms:
        return {**rest, "not": {}}
    if "anyOf" not in rest:
        return {**rest, "anyOf": forms}
    together = rest.get("allOf")
    return {**rest, "allOf": [*(together if isinstance(together, list) else []), {"anyOf": forms}]}


def _form(schema: Schema, name: str) -> Schema | None:
    """What the schema says of values of one type; None where it allows none of them."""
    form: Schema = {"type": name, **{key: schema[key] for key in _KEYWORDS[name] if key in schema}}
    if "const" in schema:
        if not _is_of(schema["const"], name):
            return None
        form["const"] = schema["const"]
    if isinstance(values := schema.get("enum"), list):
        form["enum"] = [each for each in values if _is_of(each, name)]
        if not form["enum"]:
            return None
    return {"type": "null"} if name == "null" else form


def _is_of(value: Any, name: str) -> bool:
    match value:
        case None:
            return name == "null"
        case bool():
            return name == "boolean"
        case int():
            return name in ("integer", "number")
        case float():
            return name == "number" or (name == "integer" and value.is_integer())
        case str():
            return name == "string"
        case list():
            return name == "array"
        case _:
            return name == "object"
