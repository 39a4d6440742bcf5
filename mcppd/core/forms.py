"""Forms: the plain schemas by which clients ask people for something (MCP, client/elicitation)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mcppd.core.errors import ToolError
from mcppd.core.plain_schemas import EVALUATED
from mcppd.core.shapes import Members, Number, misfits, place_text

_COUNT: Final = Number(0, float("inf"), whole=True)
_ANY_NUMBER: Final = Number(-1e300, 1e300)
_WORDS: Final = {"title": str, "description": str}
_CHOICES: Final = [Members({"const": str, "title": str}, required=("const", "title"))]
_NUMBER: Final = Members({**_WORDS, "minimum": _ANY_NUMBER, "maximum": _ANY_NUMBER, "default": _ANY_NUMBER})
_FIELDS: Final[dict[str, Members]] = {
    "string": Members(
        {
            **_WORDS,
            "minLength": _COUNT,
            "maxLength": _COUNT,
            "format": ("email", "uri", "date", "date-time"),
            "enum": [str],
            "enumNames": [str],
            "oneOf": _CHOICES,
            "default": str,
        }
    ),
    "number": _NUMBER,
    "integer": _NUMBER,
    "boolean": Members({**_WORDS, "default": bool}),
    "array": Members(
        {
            **_WORDS,
            "minItems": _COUNT,
            "maxItems": _COUNT,
            "items": Members({"type": ("string",), "enum": [str], "anyOf": _CHOICES}),
            "default": [str],
        }
    ),
}
"""What the keywords of a field hold, by its type: SDKs refuse a whole request for one that holds something else."""


def read_form(schema: Any) -> dict[str, Any]:
    """The form in the schema that an author wrote: an object of plain fields, without any nesting.

    Raises ToolError, for the author, where it is none.
    """
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict) or schema.get("type", "object") != "object":
        raise ToolError("elicit: schema must be a mapping, a JSON Schema of type object")
    fields = schema.get("properties", {})
    if not isinstance(fields, dict):
        raise ToolError("elicit: schema.properties must be a mapping")
    definitions = schema.get("$defs", {})
    form = {name: value for name, value in schema.items() if name != "$defs"}
    form["type"] = "object"
    form["properties"] = {name: _field(name, _inlined(field, definitions)) for name, field in fields.items()}
    required = form.get("required", [])
    if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        raise ToolError("elicit: schema.required must be a list of names")
    return form


def shown_form(form: Mapping[str, Any]) -> dict[str, Any]:
    """A form as clients are asked it: without what JSON Schema has for its fields and forms haven't."""
    fields = {name: _shown_field(field) for name, field in form["properties"].items()}
    return {**form, "properties": fields}


def _shown_field(field: Mapping[str, Any]) -> dict[str, Any]:
    known = _FIELDS[field["type"]].known
    return {
        key: value for key, value in field.items() if key in known or key == "type" or key not in EVALUATED
    }


def _inlined(field: Any, definitions: Any) -> Any:
    """A field with what it refers to in its place: schemas of Python classes have their enumerations apart."""
    match field:
        case {"$ref": str(place)} if isinstance(definitions, dict):
            target = definitions.get(place.removeprefix("#/$defs/"))
            rest = {name: value for name, value in field.items() if name != "$ref"}
            return {**target, **rest} if isinstance(target, dict) else field
        case _:
            return field


def _field(name: str, field: Any) -> dict[str, Any]:
    kept = _plain(field)
    if kept is None:
        raise ToolError(
            f"elicit: schema.properties.{name} must be a string, number, integer, boolean or enumeration: "
            "a form has no other fields"
        )
    for path, wrong in misfits(kept, _FIELDS[kept["type"]]):
        raise ToolError(f"elicit: schema.properties.{place_text((name, *path))} {wrong}")
    return kept


def _plain(field: Any) -> dict[str, Any] | None:
    """A field that a form can have, with its type; None if it is none."""
    match field:
        case {"type": "string" | "number" | "integer" | "boolean"} if "properties" not in field:
            return dict(field)
        case {"enum": [*values]} if values and all(isinstance(value, str) for value in values):
            return {**field, "type": "string"}
        case {"type": "array", "items": {"enum": list()} as items}:
            return {**field, "items": {"type": "string", **items}}
        case {"type": "array", "items": {"anyOf": list()}}:
            return dict(field)
        case _:
            return None
