"""Arguments against the schema that an author wrote: conversions that lose nothing, and faults in words.

Clients send "5" where a schema says integer, and JSON text where it says object. Such a string is converted
only where it is refused as it is, so a string that a schema allows stays a string.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from math import isfinite
from typing import Any, Final, TypeAlias

from jsonschema.protocols import Validator

from mcppd.core.schema_text import path_text, raised, short, shown
from mcppd.core.shapes import Path
from mcppd.core.subschemas import BROKEN, validator_of
from mcppd.core.surely import Check, surely_fits

Error: TypeAlias = Any  # jsonschema's ValidationError, each field of which is Unset to a type checker
Errors: TypeAlias = list[Error]
# Which anyOf or oneOf is to be satisfied (its place in the value and in the schema), and by which branch.
Goal: TypeAlias = tuple[tuple[Path, Path, Any], ...]

MAX_VALIDATORS: Final = 256  # kept ready, about as many tools as are in use; making one takes 15 µs
MAX_ERRORS: Final = 10_000  # of one validation, 8 µs each; what is beyond is converted in the next round
MAX_ROUNDS: Final = 64  # validations of one value: a round of conversions and each branch tried take one
MIN_ROUNDS: Final = 5  # the same for the largest values: text inside text inside text
MAX_TRIED: Final = 100  # anyOf and oneOf that are tried in a round: if none of them gives way, more won't
MAX_WORK: Final = 20_000  # values that all rounds together look at: a tenth of a second
MAX_FAULTS: Final = 20  # told to a caller: a model mends what it sees at once
MAX_SHOWN: Final = 60  # characters of a value in a fault
MAX_LIMIT: Final = 160  # characters of what the schema says in a fault
MAX_NAMES: Final = 10  # names of properties in a fault
MAX_LINE: Final = 600  # characters of a fault
MAX_NESTING: Final = 8  # forms within forms that are looked into for the nearest

_validators: dict[
    int, tuple[Any, tuple[Validator, Check]]
] = {}  # by identity: the schema beside it keeps its id taken

_INTEGER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_WORDS: Final = {"null": ("null", None), "true": ("boolean", True), "false": ("boolean", False)}
_OPENERS: Final = {"[": "array", "{": "object"}
# In this order: to Python, a boolean is an integer.
_NAMES: Final[dict[type, str]] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
    type(None): "null",
}
_ALTERNATIVES: Final = ("anyOf", "oneOf")


def accept(schema: Any, arguments: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The arguments, converted where the schema asks for it and nothing is lost, and what is still wrong."""
    try:
        validator, surely = _validator(schema)
        if surely(arguments):
            return dict(arguments), []
        errors = _errors(validator, arguments)
        value: Any = arguments
        if errors:
            value, errors = _Search(validator, _rounds(arguments)).settle(arguments, errors, (), errors)
        return dict(value), _told(errors)
    except BROKEN as error:
        return dict(arguments), [_unchecked(error)]


def check_value(schema: Any, value: Any) -> list[str]:
    """What is wrong with a value that is taken as it is (`structuredContent`)."""
    try:
        validator, surely = _validator(schema)
        return [] if surely(value) else _told(_errors(validator, value))
    except BROKEN as error:
        return [_unchecked(error)]


def _validator(schema: Any) -> tuple[Validator, Check]:
    """What judges by a schema, made once: schemas never change, so identity is enough."""
    known = _validators.get(id(schema))
    if known is not None:
        return known[1]
    whole = {} if schema is None else schema
    made = validator_of(whole), surely_fits(whole)
    if len(_validators) >= MAX_VALIDATORS:
        del _validators[next(iter(_validators))]
    _validators[id(schema)] = (schema, made)
    return made


def _errors(validator: Validator, value: Any) -> Errors:
    return list(islice(validator.iter_errors(value), MAX_ERRORS))


def _unchecked(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "$: nested too deep to be checked"
    return f"$: can't be checked against this schema ({raised(error)})"


# --- conversions ---


def _rounds(value: Any) -> int:
    """How often a value of this size may be validated."""
    waiting = [value]
    for each in waiting:  # grows while it is gone through
        if isinstance(each, dict | list) and len(waiting) < MAX_WORK:
            waiting += each.values() if isinstance(each, dict) else each
    return max(MIN_ROUNDS, min(MAX_ROUNDS, MAX_WORK // len(waiting)))


@dataclass(slots=True)
class _Search:
    """The search for conversions that make one value fit."""

    validator: Validator
    left: int  # validations

    def settle(self, value: Any, errors: Errors, goal: Goal, focus: Errors | None) -> tuple[Any, Errors]:
        """The value after all conversions that help towards a goal, and what is wrong with the whole then."""
        while focus and self.left > 0:
            changed = _converted(value, focus)
            if changed is not value:
                value, errors = changed, self._again(changed)
            elif (found := self._satisfied(value, errors, goal, focus)) is not None:
                value, errors = found
            else:
                break
            focus = _focus(errors, goal)
        return value, errors

    def _satisfied(self, value: Any, errors: Errors, goal: Goal, focus: Errors) -> tuple[Any, Errors] | None:
        """The same with one anyOf or oneOf more that holds, by the first branch that conversions lead to."""
        for error in islice((each for each in focus if each.context), MAX_TRIED):
            for branch, against in _branches(error).items():
                nearer = (*goal, (*_key(error), branch))
                changed, remaining = self.settle(value, errors, nearer, against)
                if changed is not value and _focus(remaining, nearer) is None:
                    return changed, remaining
        return None

    def _again(self, value: Any) -> Errors:
        self.left -= 1
        return _errors(self.validator, value)


def _key(error: Error) -> tuple[Path, Path]:
    return tuple(error.path), tuple(error.schema_path)


def _branches(error: Error) -> dict[Any, Errors]:
    """What is wrong with the value in each form that an anyOf or oneOf offers."""
    found: dict[Any, Errors] = {}
    for each in error.context or ():
        found.setdefault(each.schema_path[0], []).append(each)
    return found


def _focus(errors: Errors, goal: Goal) -> Errors | None:
    """The errors that stand between a value and a goal; None: it is reached."""
    for path, schema_path, branch in goal:
        found = next((each for each in errors if _key(each) == (path, schema_path)), None)
        if found is None:
            return None
        errors = _branches(found).get(branch, [])
    return errors or (None if not goal else [])


def _converted(value: Any, errors: Errors) -> Any:
    """A copy in which what the errors ask for is converted, where it can be; else the value itself."""
    fresh: set[int] = set()  # the containers that are copies already
    for error in errors:
        text = error.instance
        new = _from_text(text, _wanted(error)) if isinstance(text, str) else text
        if new is not text:
            value = _put(value, tuple(error.absolute_path), new, fresh)
    return value


def _put(value: Any, path: Path, new: Any, fresh: set[int]) -> Any:
    """The value with something new at a path; the containers on the way are copied, once."""
    if not path:
        return new
    root = inner = _copied(value, fresh)
    for step in path[:-1]:
        inner[step] = _copied(inner[step], fresh)
        inner = inner[step]
    inner[path[-1]] = new
    return root


def _copied(value: Any, fresh: set[int]) -> Any:
    if id(value) not in fresh:
        value = value.copy()
        fresh.add(id(value))
    return value


def _wanted(error: Error) -> set[str]:
    """The types that an error asks for."""
    said = error.validator_value
    match error.validator:
        case "type":
            return {each for each in (said if isinstance(said, list) else [said]) if isinstance(each, str)}
        case "enum":
            return {_type_of(each) for each in said}
        case "const":
            return {_type_of(said)}
        case "anyOf" | "oneOf" if all(not each.path and _wanted(each) for each in error.context or ()):
            return {name for each in error.context or () for name in _wanted(each)}
    return set()


def _type_of(value: Any) -> str:
    return next((name for kind, name in _NAMES.items() if isinstance(value, kind)), "unknown")


def _from_text(text: str, wanted: set[str]) -> Any:
    """What the text says as JSON of a wanted type, if nothing is lost; else the text itself."""
    if text in _WORDS and _WORDS[text][0] in wanted:
        return _WORDS[text][1]
    try:
        if "integer" in wanted or "number" in wanted:
            return _number(text, whole="number" not in wanted)
    except (ArithmeticError, ValueError):
        pass  # not a number, or one that can't be kept: it may be JSON text yet
    if _OPENERS.get(text.lstrip(" \t\r\n")[:1]) not in wanted:
        return text
    try:
        return json.loads(text, parse_float=_number, parse_constant=_number, object_pairs_hook=_object)
    except (ArithmeticError, ValueError, RecursionError):
        return text


def _number(text: str, *, whole: bool = False) -> int | float:
    """The number that the text is; raises where a float would be another one."""
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text)
    if whole or not _NUMBER.fullmatch(text) or not isfinite(number) or Decimal(repr(number)) != Decimal(text):
        raise ValueError(text)
    return number


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice")
    return found


# --- faults in words ---


def _told(errors: Errors) -> list[str]:
    """A line for each fault, beginning with its path; one more for those that are too many."""
    unique = list({_key(each): each for each in errors}.values())
    lines: dict[str, None] = {}
    for index, error in enumerate(unique):
        if len(lines) >= MAX_FAULTS:
            some = "at least " if len(errors) == MAX_ERRORS else ""
            return [*islice(lines, MAX_FAULTS), f"and {some}{len(unique) - index} more"]
        lines |= dict.fromkeys(short(line, MAX_LINE) for line in _lines(error, 0))
    return list(islice(lines, MAX_FAULTS))


def _lines(error: Error, nesting: int) -> Iterator[str]:
    branches = _branches(error) if error.validator in _ALTERNATIVES else {}
    if not branches or nesting >= MAX_NESTING:
        yield f"{path_text(error.absolute_path)}: {_what(error)}"
    elif all(len(each) == 1 and not each[0].path for each in branches.values()):
        yield f"{path_text(error.absolute_path)}: {_what_of_all(error)}"
    else:
        branch, nearest = min(branches.items(), key=lambda each: _distance(each[1]))
        told = f" (form {branch + 1} of {len(error.validator_value)} for {path_text(error.absolute_path)})"
        yield from (line + told for each in nearest for line in _lines(each, nesting + 1))


def _distance(errors: Errors) -> tuple[bool, bool, int]:
    """How far a value is from a form: another type, another kind by a constant, the number of faults."""
    other_type = any(each.validator == "type" and not each.path for each in errors)
    return other_type, any(each.validator in ("const", "enum") for each in errors), len(errors)


def _what_of_all(error: Error) -> str:
    """What is wrong with a value where each form has one objection to it."""
    context = error.context or ()
    if all(each.validator == "type" for each in context):
        return _expected(sorted({name for each in context for name in _wanted(each)}), error.instance)
    return "; or ".join(dict.fromkeys(map(_what, context)))


def _what(error: Error) -> str:
    """What is wrong, in few words whatever the size of the value."""
    instance, said = error.instance, error.validator_value
    match error.validator:
        case None:
            return "nothing is allowed here"
        case "type":
            return _expected(sorted(_wanted(error)), instance)
        case "required" if isinstance(said, list):
            return f"required, but missing: {_list_of(each for each in said if each not in instance)}"
        case "additionalProperties" if "patternProperties" not in error.schema:
            known = error.schema.get("properties", {})
            extra = _list_of(each for each in instance if each not in known)
            return f"unknown property {extra}; known are {_list_of(known) or 'none'}"
        case "oneOf" if not error.context:
            return f"fits more than one of {len(said)} forms (oneOf), and only one may fit"
        case "required" | "dependencies" | "dependentRequired" | "unevaluatedItems" | "unevaluatedProperties":
            return short(error.message, MAX_LIMIT)
    return f"{shown(instance, MAX_SHOWN)} does not fit {error.validator}: {shown(said, MAX_LIMIT)}"


def _expected(types: Iterable[str], value: Any) -> str:
    got = "" if isinstance(value, dict | list | None) else f" {shown(value, MAX_SHOWN)}"
    return f"expected {' or '.join(types)}, got {_type_of(value)}{got}"


def _list_of(names: Iterable[Any]) -> str:
    found = list(islice(names, MAX_NAMES + 1))
    listed = ", ".join(shown(each, MAX_SHOWN) for each in found[:MAX_NAMES])
    return listed + (" and others" if len(found) > MAX_NAMES else "")
