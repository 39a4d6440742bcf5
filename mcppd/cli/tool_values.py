"""Text from the command line as a value of the kind that a schema asks for; a string stays as it is typed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from mcppd.cli.tool_options import choices_of, kind_of, kinds_of

TRUE: Final = frozenset({"true", "yes", "on", "1"})
FALSE: Final = frozenset({"false", "no", "off", "0"})

SHOWN: Final = 60  # characters of a value that a message repeats; enough to find it by

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,4000}", re.ASCII)  # beyond that `int` refuses (sys.int_info)
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
_WORDS: Final = {
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a JSON array",
    "object": "a JSON object",
}


def convert(text: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The value that a text stands for; raises ValueError that says what was expected.

    Where a string is allowed the text stays as it is, so "007" and "1.10" do; but JSON text of an array or an object is
    that where the schema allows one beside the string.
    """
    kinds = kinds_of(schema, root)
    if choices := choices_of(schema, root):
        return _choose(text, choices)
    if "string" in kinds:
        found = _json_or_text(text) if text.lstrip()[:1] in ("{", "[") else text
        return found if kind_of(found) in kinds else text
    for kind, read in _READERS.items():
        if kind in kinds and (found := read(text)) is not _NOTHING:
            return found
    expected = " or ".join(words for kind, words in _WORDS.items() if kind in kinds)
    raise ValueError(f"{shown(text)} is not {expected}")


def convert_all(texts: list[str], items: Mapping[str, Any], root: Mapping[str, Any]) -> list[Any]:
    """The array that a repeated option stands for, or one JSON text of the whole array."""
    if len(texts) == 1 and texts[0].lstrip().startswith("["):
        whole = _read_json(texts[0], list)
        if whole is not _NOTHING and not (
            "array" in kinds_of(items, root) and not _are_items(whole, items, root)
        ):
            return list(whole)  # also with wrong items, which the daemon names, each with its place
    return [convert(text, items, root) for text in texts]


def shown(text: str) -> str:
    """A text as it stands in a message: quoted, and not for pages."""
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "...")


def _are_items(values: list[Any], items: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    """Whether values have the kind of an array's items, so that "[1]" can be one item that is an array itself."""
    kinds = kinds_of(items, root)
    return all(
        kind_of(value) in kinds
        or ("number" in kinds and kind_of(value) == "integer")
        or ("integer" in kinds and isinstance(value, float) and value.is_integer())
        for value in values
    )


def _choose(text: str, choices: tuple[Any, ...]) -> Any:
    if text in choices:
        return text
    for choice in choices:
        if not isinstance(choice, str) and json.dumps(choice) == text.strip():
            return choice
    names = ", ".join(choice if isinstance(choice, str) else json.dumps(choice) for choice in choices)
    raise ValueError(f"{shown(text)} is not one of {names}")


class _Nothing:
    """What a reader gives back where a text isn't of its kind; None is a value."""


_NOTHING: Final = _Nothing()


def load_json(text: str) -> Any:
    """The value of a JSON text; raises ValueError, also for numbers that Python alone would take."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _finite(digits: str) -> float:
    found = float(digits)
    return found if math.isfinite(found) else _refuse(digits)


def _json_or_text(text: str) -> Any:
    found = _read_json(text, object)
    return text if found is _NOTHING else found


def _read_json(text: str, kind: type) -> Any:
    try:
        found = load_json(text)
    except ValueError:
        return _NOTHING
    return found if isinstance(found, kind) else _NOTHING


def _read_null(text: str) -> Any:
    return None if text == "null" else _NOTHING


def _read_integer(text: str) -> Any:
    return int(text) if _INTEGER.fullmatch(text.strip()) else _NOTHING


def _read_number(text: str) -> Any:
    whole = _read_integer(text)
    if whole is not _NOTHING:
        return whole
    if not _NUMBER.fullmatch(text.strip()):
        return _NOTHING
    found = float(text)
    return found if math.isfinite(found) else _NOTHING


def _read_boolean(text: str) -> Any:
    word = text.strip().lower()
    return True if word in TRUE else False if word in FALSE else _NOTHING


_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "null": _read_null,
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "array": lambda text: _read_json(text, list),
    "object": lambda text: _read_json(text, dict),
}
