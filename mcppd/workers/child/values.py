"""Values as JSON can carry them: what a tool returns, made plain, or a failure that names the path (D13)."""

from __future__ import annotations

import base64
import dataclasses
import enum
import json
import math
import os
import re
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

MAX_DEPTH: Final = 200
"""Levels of nesting: JSON readers along the way stop at 254 or 1000, and nothing readable is deeper."""
MAX_VALUES: Final = 4_000_000
"""Values in one result: with quotes and commas that many never fit into a frame that anybody could use,
and a list that holds one list many times over grows without end."""

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_DECODER: Final = json.JSONDecoder()
"""Made once: to make them takes longer than most values do."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_TOO_MANY: Final = f"takes the result over {MAX_VALUES} values; return less at a time"


class UnsendableError(Exception):
    """A value has no place in JSON; says where it is and what to do."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what
        self._path: list[str] = []

    def within(self, step: str) -> None:
        """Note that the value was found at this step below a container."""
        self._path.append(step)

    def at(self, root: str) -> str:
        """The whole message, for a value that is called `root`."""
        return f"`{root}{''.join(reversed(self._path))}` {self.what}"


def plain(value: object) -> Any:
    """The value out of None, bool, int, float, str, list and dict; raises UnsendableError."""
    if value is None or (type(value) is str and value.isascii()):
        return value  # what most members of a result are
    try:
        return _Conversion().of(value)
    except RecursionError:
        raise UnsendableError(f"is nested too deeply: more than {MAX_DEPTH} levels can't be sent") from None


def encode(value: Any) -> bytes:
    """A plain value as compact JSON text."""
    return json_of(value).encode()


def json_of(value: Any) -> str:
    """The same, where text may still hold lone surrogates."""
    try:
        return _encoded(value)
    except ValueError:  # most likely an integer with more digits than the interpreter lets pass
        with exact_integers():
            return _encoded(value)


def _encoder() -> Callable[[Any], str]:
    """What writes JSON; the part of it in C, which JSONEncoder makes anew for each value, made once where it is there.

    It looks for no cycles: a plain value has none.
    """
    writer: Any = json.encoder
    try:
        pieces = writer.c_make_encoder(
            None, _ENCODER.default, writer.encode_basestring, None, ":", ",", False, False, False
        )
        pieces({}, 0)
    except TypeError:  # it isn't there, or wants to be called in another way
        return _ENCODER.encode
    return lambda value: "".join(pieces(value, 0))


_encoded: Final = _encoder()


def value_of(text: bytes) -> Any:
    """What a JSON text says; raises ValueError, RecursionError."""
    told = str(text, "utf-8", "surrogatepass")  # as `json.loads` does, which first guesses the encoding
    try:
        return _DECODER.decode(told)
    except ValueError:
        with exact_integers():
            return _DECODER.decode(told)


def clean(text: str) -> str:
    """The text with pairs of surrogates joined and lone ones replaced, so that UTF-8 can carry it."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return _SURROGATE.sub("\ufffd", _PAIR.sub(_joined, text))  # codecs take microseconds for each of them


def _joined(pair: re.Match[str]) -> str:
    high, low = map(ord, pair[0])
    return chr(0x10000 + ((high - 0xD800) << 10) + low - 0xDC00)


def type_name(value: object) -> str:
    """The name of a value's type as a person writes it."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def a_type(value: object) -> str:
    """The same with its article: "a set", "an object"."""
    name = type_name(value)
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


@contextmanager
def exact_integers() -> Iterator[None]:
    """Lift the interpreter's limit on the digits of an integer, which is there for text from strangers."""
    limit = getattr(sys, "get_int_max_str_digits", lambda: 0)()
    if not limit:
        yield
        return
    sys.set_int_max_str_digits(0)
    try:
        yield
    finally:
        sys.set_int_max_str_digits(limit)


class _Conversion:
    """One walk through a value."""

    def __init__(self) -> None:
        self._above: set[int] = set()  # the containers that we are inside of
        self._room = MAX_VALUES

    def of(self, value: Any) -> Any:
        """The plain form of one value."""
        self._room -= 1
        if self._room < 0:
            raise UnsendableError(_TOO_MANY)
        kind = type(value)
        if kind is str:
            return value if value.isascii() else clean(value)
        if value is None or kind is int or kind is bool:
            return value
        if kind is float:
            return value if math.isfinite(value) else None
        return self._inside(value)

    def _inside(self, value: Any) -> Any:
        """The plain form of anything that may hold something else."""
        if id(value) in self._above:
            raise UnsendableError("contains itself; JSON has no way to say that")
        if len(self._above) >= MAX_DEPTH:
            raise UnsendableError(f"is nested more than {MAX_DEPTH} levels deep")
        self._above.add(id(value))
        try:
            return self._convert(value)
        except (UnsendableError, RecursionError):
            raise
        except Exception as error:
            raise UnsendableError(f"is {a_type(value)} that can't be read: {_told(error)}") from error
        finally:
            self._above.discard(id(value))

    def _convert(self, value: Any) -> Any:
        match value:
            case enum.Enum():
                return self.of(value.value)
            case dict():
                return self._mapping(value.items())
            case str() | int() | float() | bytes() | bytearray() | memoryview():
                return self._scalar(value)
            case tuple() if names := getattr(type(value), "_fields", None):
                return self._mapping(zip(names, value, strict=False))
            case set() | frozenset():
                return self._unordered(value)
            case list() | tuple() | Sequence() | deque() | AbstractSet() | ValuesView():
                return self._sequence(value)
            case Mapping():
                return self._mapping(value.items())
        return self._object(value)

    def _scalar(self, value: Any) -> Any:
        match value:
            case str():
                return clean(str.__str__(value))
            case int():
                return int.__index__(value)
            case float():
                return self.of(float.__float__(value))
        data = bytes(value)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return base64.b64encode(data).decode()

    def _object(self, value: Any) -> Any:
        match value:
            case datetime() | date() | time():
                return value.isoformat()
            case timedelta():
                return value.total_seconds()
            case UUID() | Decimal():
                return str(value)
            case os.PathLike():
                return clean(os.fsdecode(value))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = (field.name for field in dataclasses.fields(value))
            return self._mapping((name, getattr(value, name)) for name in names)
        converted = _asked(value)
        if converted is not value:
            return self.of(converted)
        raise UnsendableError(f"is {a_type(value)}; {_advice(value)}")

    def _sequence(self, value: Any) -> list[Any]:
        if _count(value) > self._room:
            raise UnsendableError(_TOO_MANY)
        items: list[Any] = []
        try:
            for item in value:
                items.append(self.of(item))  # noqa: PERF401 - how many there are says where it went wrong
        except UnsendableError as error:
            error.within(f"[{len(items)}]")
            raise
        return items

    def _unordered(self, value: Any) -> list[Any]:
        try:
            items = sorted(value)
        except TypeError:
            items = sorted(value, key=lambda item: (type_name(item), repr(item)))
        return self._sequence(items)

    def _mapping(self, items: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        members: dict[str, Any] = {}
        for key, item in items:
            name = _key(key)
            if name in members:
                raise UnsendableError(f"has two keys that are both {name!r} in JSON")
            try:
                members[name] = self.of(item)
            except UnsendableError as error:
                error.within(f".{name}" if name.isidentifier() else f"[{json.dumps(name)}]")
                raise
        return members


def _key(key: Any) -> str:
    match key:
        case enum.Enum():
            return _key(key.value)
        case str():
            return clean(str.__str__(key))
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[key]
        case int():
            with exact_integers():
                return int.__repr__(key)
        case float():
            return json.dumps(float.__float__(key))
    raise UnsendableError(f"has a key that is {a_type(key)} ({_told(key)}); keys in JSON are text")


def _asked(value: Any) -> Any:
    """What an object gives when it is asked for itself as plain data (pydantic, numpy); else itself."""
    kind = type(value)
    if callable(getattr(kind, "model_dump", None)):
        return value.model_dump(mode="json")
    if _count(value) > MAX_VALUES:
        raise UnsendableError(_TOO_MANY)
    for name in ("tolist", "item"):
        if callable(getattr(kind, name, None)):
            given = getattr(value, name)()
            return value if type(given) is kind else given
    return value


def _count(value: Any) -> int:
    """How many elements a value says that it has."""
    size = getattr(value, "size", None)
    if isinstance(size, int):
        return size
    try:
        return len(value)
    except OverflowError:  # a range
        return MAX_VALUES + 1
    except TypeError:  # it has no length
        return 0


def _advice(value: Any) -> str:
    match value:
        case Awaitable():
            return "await it"
        case Iterator():
            return "make a list of it: list(…)"
        case Callable():
            return "call it"
    return "convert it to a dict, a list, text or a number first"


def _told(value: object) -> str:
    """A value or an exception in a few words, whatever its own methods do."""
    try:
        text = f"{type_name(value)}: {value}" if isinstance(value, BaseException) else repr(value)
    except Exception:  # noqa: BLE001 - an author's __str__ or __repr__
        text = type_name(value)
    return clean(text[:200])
