"""JSON Schemas: where their subschemas are, whether one can be used, and how far one can be trusted.

`check_schema` compiles the patterns that an author wrote, so it runs in a worker (D1); `is_plain` doesn't.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from math import isfinite
from typing import Any, Final, TypeAlias

import jsonschema
from jsonschema.exceptions import UnknownType, best_match
from jsonschema.protocols import Validator
from referencing import Registry
from referencing.exceptions import Unresolvable
from referencing.jsonschema import specification_with


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


Path: TypeAlias = tuple[str | int, ...]

MAX_DEPTH: Final = 64  # levels of JSON: a check takes up to 14 frames a level, and Python has 1000
MAX_VALUES: Final = 50_000  # JSON values in a schema, a shared part counted wherever it stands (YAML aliases)
MAX_SUBSCHEMAS: Final = 5_000  # checking one against the 2020-12 meta-schema takes about 0.2 ms
MAX_PLAIN: Final = 2_000  # subschemas in a plain schema, 5 µs each: checks and `is_plain` block the daemon
MAX_PLAIN_REPEATED: Final = 8  # of them for one value of an array or map: 64 KiB hold 32,000 such values
MAX_MESSAGE: Final = 240  # characters of a message: it is read in a status line
MAX_SHOWN: Final = 80  # characters of a value in a message
MAX_PATH: Final = 160  # characters of a path in a message

# What jsonschema, referencing and re raise on schemas that nobody checked; nothing of ours is among them.
BROKEN: Final = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError, re.error),
    *(UnknownType, Unresolvable),
)

_HALF: Final = re.compile("[\ud800-\udfff]")
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, default=lambda value: type(value).__name__)
_NOTHING_ELSE: Final[Registry[Any]] = Registry()  # jsonschema's own default fetches from the network
_DRAFTS: Final = ("3", "4", "6", "7", "201909", "202012")
_CLASSES: Final[list[Any]] = [getattr(jsonschema, f"Draft{each}Validator") for each in _DRAFTS]
_DIALECTS: Final = {each.ID_OF(each.META_SCHEMA).rstrip("#"): each for each in _CLASSES}
_DEFAULT: Final = "https://json-schema.org/draft/2020-12/schema"

# Keywords of all dialects whose value is a subschema or a list of them; whose value maps names to subschemas;
# which apply theirs to the very value that the schema is applied to.
_HELD: Final = _words(
    "additionalItems additionalProperties allOf anyOf contains contentSchema disallow else extends if items"
    " not oneOf prefixItems propertyNames then type unevaluatedItems unevaluatedProperties"
)
_NAMED: Final = _words("$defs definitions dependencies dependentSchemas patternProperties properties")
_IN_PLACE: Final = _words("allOf anyOf dependencies dependentSchemas else extends if not oneOf then type")
_EACH: Final = _words("additionalItems additionalProperties contains items propertyNames")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_NULL_IS_A_VALUE: Final = ("const", "default")

_EVALUATED: Final = frozenset(key for each in _CLASSES for key in each.VALIDATORS)
_PLAIN_LEAVES: Final = _words(
    "const enum exclusiveMaximum exclusiveMinimum format maxItems maxLength maxProperties maximum minItems"
    " minLength minProperties minimum multipleOf required type"
)
# unevaluated… checks its siblings once more on each level: two to the power of the levels.
_NEVER_PLAIN: Final = _words("disallow extends patternProperties unevaluatedItems unevaluatedProperties")


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
        if key in _NAMED and isinstance(value, dict):
            yield from (((key, name), each) for name, each in value.items())
        elif key in _HELD and isinstance(value, list):
            yield from (((key, index), each) for index, each in enumerate(value))
        elif key in _HELD:
            yield (key,), value


def rebuilt(key: str, value: Any, change: Callable[[Any], Any]) -> Any:
    """The value of a keyword, with `change` applied to what stands in its subschema positions."""
    if key in _NAMED and isinstance(value, dict):
        return {name: change(each) for name, each in value.items()}
    if key in _HELD:
        return [change(each) for each in value] if isinstance(value, list) else change(value)
    return value


def cleaned(schema: Any) -> Any:
    """A copy without the keywords that are null: in YAML, a keyword with nothing behind it."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if value is not None or key in _NULL_IS_A_VALUE}
    return {key: rebuilt(key, value, cleaned) for key, value in kept.items()}


def validator_of(schema: Any) -> Validator:
    """A validator for a schema, in its dialect, that knows no other document; raises one of BROKEN."""
    made: Validator = _DIALECTS[_dialect(schema)](cleaned(schema), registry=_NOTHING_ELSE)
    return made


def places(schema: Any) -> Iterator[Place]:
    """Every subschema once, those that only a reference leads to last; MAX_SUBSCHEMAS and one at most."""
    resource = specification_with(_dialect(schema)).create_resource
    known: deque[tuple[Path, Any, Any]] = deque()
    outside: deque[tuple[Path, Any, Any]] = deque()
    known.append(((), schema, _NOTHING_ELSE.resolver_with_root(resource(schema))))
    seen: set[int] = set()
    while (known or outside) and len(seen) <= MAX_SUBSCHEMAS:
        is_outside = not known
        path, each, resolver = (known or outside).popleft()
        if not isinstance(each, dict) or id(each) in seen:
            continue
        seen.add(id(each))
        found = [(key, _target(resolver, each[key])) for key in _REFERENCES if key in each]
        yield Place(path, each, tuple((key, to and to.contents) for key, to in found), is_outside)
        outside += [((*path, key), to.contents, to.resolver) for key, to in found if to]
        inner = [(step, child) for step, child in children(each) if isinstance(child, dict)]
        known += [((*path, *step), child, resolver.in_subresource(resource(child))) for step, child in inner]


def path_text(path: Iterable[str | int]) -> str:
    """A JSON path as people write it: `$.a[0]["b c"]`."""
    return short("$" + "".join(map(_step_text, path)), MAX_PATH)


def short(text: str, limit: int) -> str:
    """The text, cut in its middle to about `limit` characters, and fit for UTF-8."""
    if len(text) > limit:
        text = f"{text[: limit // 3]} … {text[-(limit * 2 // 3) :]}"
    return text.encode("utf-8", "backslashreplace").decode()


def shown(value: Any, limit: int) -> str:
    """The beginning of the JSON text of a value, made no further than it is shown."""
    text = ""
    for piece in _ENCODER.iterencode(value[: limit + 1] if isinstance(value, str) else value):
        text += piece[: limit + 1]
        if len(text) > limit:
            break
    return short(text if len(text) <= limit else text[:limit] + "…", limit + 1)


def raised(error: Exception) -> str:
    """What was raised, without the values in it: they may be of any size or depth."""
    text = next((each for each in error.args if isinstance(each, str)), "")
    return f"{type(error).__name__}: {short(text, MAX_SHOWN)}"


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
        waiting += [(child, width, repeats or key in _EACH) for key, child in inner if key not in _IN_PLACE]
    return True


def _step_text(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    plain = re.fullmatch(r"[A-Za-z_$][\w$-]*", step)
    return f".{step}" if plain else '["' + step.replace("\\", "\\\\").replace('"', '\\"') + '"]'


def _dialect(schema: Any) -> str:
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


def _schema_fault(schema: Any) -> str | None:
    if not isinstance(schema, dict | bool):
        return f"$: a schema is a mapping or a boolean, not {shown(schema, MAX_SHOWN)}"
    return _dialect_fault((), schema) or _meta_fault((), schema, _dialect(schema)) or _places_fault(schema)


def _dialect_fault(path: Path, schema: Any) -> str | None:
    if _dialect(schema) in _DIALECTS:
        return None
    where = path_text((*path, "$schema"))
    return f"{where}: unknown dialect {shown(schema['$schema'], MAX_SHOWN)}; known are {', '.join(_DIALECTS)}"


@cache
def _meta_validator(dialect: str) -> Validator:
    made: Validator = _DIALECTS[dialect](_DIALECTS[dialect].META_SCHEMA, registry=_NOTHING_ELSE)
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
        fault = _meta_fault(place.path, place.schema, _dialect(schema)) if place.outside else None
        fault = fault or _dialect_fault(place.path, place.schema)
        fault = fault or _pattern_fault(place) or _reference_fault(place)
        if fault or len(paths) >= MAX_SUBSCHEMAS:
            return fault or f"$: more than {MAX_SUBSCHEMAS} subschemas"
        paths[id(place.schema)] = place.path
        inner = [each for path, each in children(place.schema) if path[0] in _IN_PLACE]
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


def _applied(schema: Any) -> list[Any]:
    """The schema and what it applies to the very same value, as far as that is of interest."""
    found = [schema]
    for each in found:  # grows while it is gone through
        if len(found) <= MAX_PLAIN and isinstance(each, dict):
            found += [child for path, child in children(each) if path[0] in _IN_PLACE - {"type"}]
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
        return isinstance(value, str) and value.rstrip("#") in _DIALECTS
    # Keywords that no dialect evaluates are titles, examples, an author's own.
    return isinstance(value, dict) if key in _NAMED else key in _HELD or key not in _EVALUATED


def _list_members(schema: Any) -> int:
    """What is gone through in `enum`, `required` and `type`: a member takes a tenth to a half of a subschema."""
    keys = _PLAIN_LEAVES & schema.keys() if isinstance(schema, dict) else ()
    return sum(len(schema[key]) for key in keys if isinstance(schema[key], list))
