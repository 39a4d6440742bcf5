"""Whether a JSON Schema that an author wrote can be used, and if not, what is wrong with it and where.

Patterns are compiled for that, so it runs in a worker (D1).
"""

from __future__ import annotations

import re
import warnings
from functools import cache
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final

from jsonschema.exceptions import best_match
from jsonschema.protocols import Validator

from mcppd.core.schema_text import MAX_SHOWN, path_text, raised, short, shown
from mcppd.core.shapes import Path
from mcppd.core.subschemas import (
    BROKEN,
    DIALECTS,
    IN_PLACE,
    MAX_SUBSCHEMAS,
    NOTHING_ELSE,
    Place,
    children,
    cleaned,
    dialect_of,
    json_fault,
    places,
)

MAX_MESSAGE: Final = 240
"""Characters of a message: it is read in a status line."""


def check_schema(schema: Any) -> str | None:
    """What is wrong with a schema, after the path of where, or None; for a worker (D1)."""
    try:
        return json_fault(schema) or _schema_fault(cleaned(schema))
    except RecursionError:
        return "$: nested too deep to be checked"
    except BROKEN as error:
        return f"$: can't be read as a schema ({raised(error)})"


def check_input_schema(schema: Any) -> str | None:
    """What is wrong with an `inputSchema`."""
    if not isinstance(schema, dict):
        return f"$: an inputSchema has to be a mapping, not {shown(schema, MAX_SHOWN)}"
    fault, root = check_schema(schema), schema.get("type")
    if fault or root in (None, "object"):
        return fault
    return f'$.type: arguments are an object, so this has to be "object", not {shown(root, MAX_SHOWN)}'


def check_output_schema(schema: Any) -> str | None:
    """What is wrong with an `outputSchema`."""
    if isinstance(schema, dict):
        return check_schema(schema)
    return f"$: an outputSchema has to be a mapping, not {shown(schema, MAX_SHOWN)}"


def _schema_fault(schema: Any) -> str | None:
    if not isinstance(schema, dict | bool):
        return f"$: a schema is a mapping or a boolean, not {shown(schema, MAX_SHOWN)}"
    return _dialect_fault((), schema) or _meta_fault((), schema, dialect_of(schema)) or _places_fault(schema)


def _dialect_fault(path: Path, schema: Any) -> str | None:
    if dialect_of(schema) in DIALECTS:
        return None
    where = path_text((*path, "$schema"))
    return f"{where}: unknown dialect {shown(schema['$schema'], MAX_SHOWN)}; known are {', '.join(DIALECTS)}"


@cache
def _meta_validator(dialect: str) -> Validator:
    made: Validator = DIALECTS[dialect](DIALECTS[dialect].META_SCHEMA, registry=NOTHING_ELSE)
    return made


def _meta_fault(path: Path, part: Any, dialect: str) -> str | None:
    """What the meta-schema says against a part of a schema."""
    error = best_match(_meta_validator(dialect).iter_errors(part))
    if error is None:
        return None
    told = " and ".join(each.message for each in error.context or ()) or error.message
    return f"{path_text((*path, *error.absolute_path))}: {short(told, MAX_MESSAGE)}"


def _places_fault(schema: Any) -> str | None:
    """What the meta-schema doesn't see: patterns, references, inner dialects, endless recursion, size."""
    edges: dict[int, list[int]] = {}
    paths: dict[int, Path] = {}
    for place in places(schema):
        fault = _meta_fault(place.path, place.schema, dialect_of(schema)) if place.outside else None
        fault = fault or _dialect_fault(place.path, place.schema)
        fault = fault or _pattern_fault(place) or _reference_fault(place)
        if fault or len(paths) >= MAX_SUBSCHEMAS:
            return fault or f"$: more than {MAX_SUBSCHEMAS} subschemas"
        paths[id(place.schema)] = place.path
        inner = [each for path, each in children(place.schema) if path[0] in IN_PLACE]
        edges[id(place.schema)] = [id(each) for each in (*inner, *(to for _, to in place.targets))]
    return _loop_fault(edges, paths)


def _pattern_fault(place: Place) -> str | None:
    named = place.schema.get("patternProperties", {})
    patterns = [(("patternProperties", key), key) for key in named]
    for path, pattern in [(("pattern",), place.schema.get("pattern", "")), *patterns]:
        try:
            with warnings.catch_warnings(action="ignore"):  # "possible nested set": it does compile
                re.compile(pattern)
        except (re.error, ArithmeticError, RuntimeError) as error:
            where = path_text((*place.path, *path))
            return f"{where}: Python can't compile this regular expression ({short(str(error), 100)})"
    return None


def _reference_fault(place: Place) -> str | None:
    for key, _ in (each for each in place.targets if each[1] is None):
        named = shown(place.schema[key], MAX_SHOWN)
        where = path_text((*place.path, key))
        return f"{where}: {named} leads to no schema inside this one; nothing is fetched, put it under $defs"
    return None


def _loop_fault(edges: dict[int, list[int]], paths: dict[int, Path]) -> str | None:
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return f"{path_text(paths[error.args[1][0]])}: applies itself to the same value without end"
    return None
