"""Surely: says of most values at once that they fit their schema; all others are for jsonschema to judge.

It never says so of a value in which jsonschema finds a fault. It may be unsure of any other: where a schema says
something that it doesn't know, or means another thing in another dialect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import Any, Final, TypeAlias

from mcppd.core.plain_schemas import EVALUATED

Check: TypeAlias = Callable[[Any], bool]

# By their very types: a boolean is no integer, and 1.0 is one in some dialects only.
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "null": (type(None),),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
_NUMBERS: Final = frozenset((int, float))
_WORDS: Final = frozenset((int, str))  # what `enum` and `const` are compared by as Python does it
_WITHOUT_A_CHECK: Final = frozenset(("format",))


def surely_fits(schema: Any) -> Check:
    """What says of a value whether it surely fits a schema that is plain."""
    return _check_of(schema) or _never


def _never(_: Any) -> bool:
    return False


def _always(_: Any) -> bool:
    return True


def _check_of(schema: Any) -> Check | None:
    """The check of a schema; None where there is something in it that this doesn't know."""
    if schema is True:
        return _always
    if not isinstance(schema, dict):
        return None
    checks: list[Check] = []
    for key, said in schema.items():
        if key in _MAKERS:
            if (check := _MAKERS[key](said, schema)) is None:
                return None
            checks.append(check)
        elif key in EVALUATED and key not in _WITHOUT_A_CHECK:
            return None
    return _all(checks)


def _all(checks: list[Check]) -> Check:
    match checks:
        case []:
            return _always
        case [check]:
            return check
        case [first, second]:
            return lambda value: first(value) and second(value)
        case [first, *rest]:
            return _all([first, _all(rest)])
    raise AssertionError(checks)


def _type(said: Any, _: Any) -> Check | None:
    names = said if isinstance(said, list) else [said]
    if not all(isinstance(name, str) and name in _TYPES for name in names):
        return None
    types = frozenset(each for name in names for each in _TYPES[name])
    return lambda value: type(value) in types


def _properties(said: Any, schema: Mapping[str, Any]) -> Check | None:
    """`properties` with `additionalProperties`, which speaks of all others."""
    if not isinstance(said, dict):
        return None
    known = {name: _check_of(each) for name, each in said.items()}
    others = _check_of(schema.get("additionalProperties", True))
    if schema.get("additionalProperties") is False:
        others = _never
    if others is None or None in known.values():
        return None

    def check(value: Any) -> bool:
        if type(value) is not dict:
            return False
        return all((known.get(name) or others)(each) for name, each in value.items())

    return check


def _additional(_: Any, schema: Mapping[str, Any]) -> Check | None:
    return _always if "properties" in schema else _properties({}, schema)


def _required(said: Any, _: Any) -> Check | None:
    if not (isinstance(said, list) and all(isinstance(name, str) for name in said)):
        return None
    names = frozenset(said)
    return lambda value: type(value) is dict and names <= value.keys()


def _items(said: Any, _: Any) -> Check | None:
    one = _check_of(said)

    def check(value: Any) -> bool:
        return type(value) is list and all(map(one, value))  # type: ignore[arg-type]

    return None if one is None else check


def _enum(said: Any, _: Any) -> Check | None:
    if not isinstance(said, list):
        return None
    known = {each for each in said if type(each) in _WORDS}
    return lambda value: type(value) in _WORDS and value in known


def _const(said: Any, schema: Any) -> Check | None:
    return _enum([said], schema)


def _any_of(said: Any, _: Any) -> Check | None:
    branches = [_check_of(each) for each in said] if isinstance(said, list) else []
    sure = [each for each in branches if each is not None]
    return lambda value: any(each(value) for each in sure)


def _all_of(said: Any, _: Any) -> Check | None:
    parts = [_check_of(each) for each in said] if isinstance(said, list) else [None]
    sure = [each for each in parts if each is not None]
    return _all(sure) if len(sure) == len(parts) else None


def _bound(holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Check | None]:
    def make(said: Any, _: Any) -> Check | None:
        if type(said) not in _NUMBERS:
            return None
        return lambda value: type(value) in _NUMBERS and holds(value, said)

    return make


def _length(kind: type[Any], holds: Callable[[Any, Any], bool]) -> Callable[[Any, Any], Check | None]:
    def make(said: Any, _: Any) -> Check | None:
        if type(said) is not int:
            return None
        return lambda value: isinstance(value, kind) and holds(len(value), said)

    return make


_MAKERS: Final[Mapping[str, Callable[[Any, Any], Check | None]]] = {
    "additionalProperties": _additional,
    "allOf": _all_of,
    "anyOf": _any_of,
    "const": _const,
    "enum": _enum,
    "exclusiveMaximum": _bound(lt),
    "exclusiveMinimum": _bound(gt),
    "items": _items,
    "maxItems": _length(list, le),
    "maxLength": _length(str, le),
    "maximum": _bound(le),
    "minItems": _length(list, ge),
    "minLength": _length(str, ge),
    "minimum": _bound(ge),
    "properties": _properties,
    "required": _required,
    "type": _type,
}
