"""Shapes: what a value out of a person's file has to look like, and how what it is instead is told.

A shape is a type, some words to choose from, a list of one shape, Members, Each or a Number.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

Path: TypeAlias = tuple[str | int, ...]

MAX_INTEGER: Final = 2**64
"""JSON itself has no bound, but the encoder of every list has this one."""

TYPE_WORDS: Final[Mapping[type, str]] = {
    str: "a text",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
}


@dataclass(frozen=True, slots=True)
class Members:
    """A mapping whose known members have shapes; others are let through."""

    known: Mapping[str, Any]
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """A mapping with keys of a person's own choice and values of one shape."""

    shape: Any


@dataclass(frozen=True, slots=True)
class Number:
    """A number between two others, both included."""

    least: float
    most: float
    whole: bool = False

    def __str__(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        return (
            f"{kind} from {self.least:g} to {self.most:g}"
            if self.most < MAX_INTEGER
            else f"{kind}, not negative"
        )


ICONS: Final = [
    Members({"src": str, "mimeType": str, "sizes": [str], "theme": ("light", "dark")}, required=("src",))
]
"""MCP, schema: Icon."""


def shown(value: Any) -> str:
    """What a value is, for a message."""
    match value:
        case None:
            return "nothing"
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case str():
            return f"the text {value[:60]!r}"
        case bool():
            return "true" if value else "false"
        case _:
            return f"the number {str(value)[:60]}"


def pruned(value: Any, shape: Any) -> Any:
    """The value without null members: clients refuse an optional key that is there and null."""
    match value, shape:
        case dict(), Members(known):
            return {k: pruned(member, known.get(k)) for k, member in value.items() if member is not None}
        case dict(), Each(inner):
            return {key: pruned(member, inner) for key, member in value.items() if member is not None}
        case list(), [item]:
            return [pruned(each, item) for each in value]
        case _:
            return value


def misfits(value: Any, shape: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The places that don't fit a shape, each with what is wrong there."""
    match shape:
        case [item] if isinstance(shape, list) and isinstance(value, list):
            for index, each in enumerate(value):
                yield from misfits(each, item, (*path, index))
        case Each(inner) if isinstance(value, dict):
            for key, member in value.items():
                yield from misfits(member, inner, (*path, key))
        case Members() if isinstance(value, dict):
            yield from _member_misfits(value, shape, path)
        case _ if not _fits(value, shape):
            yield path, f"must be {_shape_words(shape)}, not {shown(value)}"


def _member_misfits(value: Mapping[str, Any], shape: Members, path: Path) -> Iterator[tuple[Path, str]]:
    for key, member in shape.known.items():
        if key in value:
            yield from misfits(value[key], member, (*path, key))
        elif key in shape.required:
            yield path, f"needs `{key}:`"


def _fits(value: Any, shape: Any) -> bool:
    """Whether a value that is looked at as a whole fits."""
    match shape:
        case tuple():
            return value in shape
        case type():
            return isinstance(value, shape)
        case Number(least, most, whole):
            kind = int if whole else int | float
            return not isinstance(value, bool) and isinstance(value, kind) and least <= value <= most
        case _:
            return False


def _shape_words(shape: Any) -> str:
    match shape:
        case tuple():
            return f"one of {', '.join(shape)}"
        case type():
            return TYPE_WORDS[shape]
        case Number():
            return str(shape)
        case _:
            return TYPE_WORDS[list if isinstance(shape, list) else dict]


def not_json(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The places of numbers that no encoder of JSON takes."""
    match value:
        case dict():
            for key, member in value.items():
                yield from not_json(member, (*path, key))
        case list():
            for index, member in enumerate(value):
                yield from not_json(member, (*path, index))
        case float() if not math.isfinite(value):
            yield path, f"is {value}, which JSON can't hold: write a finite number"
        case int() if not -MAX_INTEGER // 2 <= value < MAX_INTEGER:
            yield path, "needs more than 64 bits: write a smaller integer, or a number such as 1e30"
        case _:
            pass  # every other value is one of JSON's


def place_text(path: Path) -> str:
    """A place in a value, as people write it: `icons[0].src`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step[:60]}" for step in path)[1:]
