"""YAML as mcppd reads it (DESIGN D14): bytes to plain values, and where each of them stands.

Owns the YAML 1.2 core schema, the limits that keep a hostile file harmless, and the words of the faults.
The parser is libyaml's; what its events mean is decided here. Knows nothing of what the values are for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from mcppd.core.documents import Document, Position, fault_at
from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.scalars import KINDS, MAX_DIGITS, TAG, kind_of, resolve, yaml11_difference
from mcppd.core.yaml_events import FAST, LINE_BREAK, PURE, Events, LoneSurrogateError

MAX_BYTES: Final = 1 << 20
"""A manifest of 36 tools has some 30 KiB; a file of more than 1 MiB is something else."""

MAX_NODES: Final = 100_000
"""Values of one file, aliases counted as often as they are used: ends a "billion laughs" at once."""

MAX_DEPTH: Final = 100
"""Levels of nesting; each takes a few frames of Python's stack, and real schemas have under 20."""

_UNPRINTABLE: Final = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "null": (type(None),),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
}
"""The explicit tags that are honoured on scalars besides !!str, and what may stand under them."""

_Members: TypeAlias = "dict[str | int, Position]"


@dataclass(frozen=True, slots=True)
class _Node:
    """A value as it was read; `size` and `height` are those of the whole tree under it."""

    value: Any
    position: Position
    size: int = 1
    height: int = 0


def read_yaml(text: bytes, file: str) -> Document:
    """Read one YAML document; an empty file is None. Raises FaultError."""
    decoded = _decode(text, file)
    try:
        return _Reader(Events(decoded, file, FAST)).document()
    except LoneSurrogateError:
        return _Reader(Events(decoded, file, PURE)).document()


def _decode(text: bytes, file: str) -> str:
    """The text without its byte order mark, if there is nothing in it that YAML can't hold."""
    if len(text) > MAX_BYTES:
        wrong = f"the file has {len(text)} bytes, more than {MAX_BYTES}: make it smaller"
        raise FaultError(Fault(wrong, file))
    try:
        decoded = text.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = text[: error.start].decode().removeprefix("\ufeff")
        wrong = "the file isn't UTF-8 (here is byte 0x{:02x}): save it as UTF-8"
        raise FaultError(_fault_after(before, before, file, wrong.format(text[error.start]))) from None
    if found := _UNPRINTABLE.search(decoded):
        wrong = f"U+{ord(found[0]):04X} can't stand in YAML: remove it, or write an escape in double quotes"
        raise FaultError(_fault_after(decoded[: found.start()], decoded, file, wrong))
    return decoded


def _fault_after(before: str, text: str, file: str, message: str) -> Fault:
    lines = LINE_BREAK.split(before)
    return fault_at(file, LINE_BREAK.split(text), len(lines), len(lines[-1]) + 1, message)


class _Reader:
    """One reading of one text: turns the parser's events into values as they come."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._next, self._at, self._wrong = events.next, events.at, events.wrong
        self._anchors: dict[str, _Node | None] = {}  # None: begun, not ended yet
        self._count = 0
        self._warnings: list[Fault] = []
        self._yaml11: list[Fault] = []

    def document(self) -> Document:
        """The whole text as one document."""
        self._next()  # the stream's start
        root = _Node(None, Position(1, 1))
        if not isinstance(self._next(), StreamEndEvent):
            root = self._node(self._next(), 0)
            self._next()  # the document's end
            if not isinstance(after := self._next(), StreamEndEvent):
                raise self._wrong(after, "a second document begins here: remove it, a file holds one")
        found = tuple(self._warnings), tuple(self._yaml11)
        return Document(root.value, self._events.file, root.position, self._events.lines, *found)

    def _count_in(self, event: Event, size: int, height: int) -> None:
        self._count += size
        if self._count > MAX_NODES:
            raise self._wrong(
                event, f"more than {MAX_NODES} values, each alias counted: make the file smaller"
            )
        if height > MAX_DEPTH:
            raise self._wrong(event, f"nested deeper than {MAX_DEPTH} levels: make it flatter")

    def _node(self, event: Event, depth: int) -> _Node:
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        self._count_in(event, 1, depth if isinstance(event, ScalarEvent) else depth + 1)
        anchor: str | None = getattr(event, "anchor", None)
        if anchor is not None:
            self._anchors[anchor] = None
        match event:
            case SequenceStartEvent():
                node = self._sequence(event, depth)
            case MappingStartEvent():
                node = self._mapping(event, depth)
            case _:
                node = self._scalar(event)
        if anchor is not None:
            self._anchors[anchor] = node
        return node

    def _alias(self, event: AliasEvent, depth: int) -> _Node:
        name = str(event.anchor)
        if name not in self._anchors:
            raise self._wrong(
                event, f"no &{name[:60]} stands above: anchor it, or put a text with `*` in quotes"
            )
        node = self._anchors[name]
        if node is None:
            raise self._wrong(event, f"*{name[:60]} stands inside of what it means: write the value out")
        self._count_in(event, node.size, depth + node.height)
        place = self._position(event)
        return replace(node, value=_copy(node.value), position=replace(place, members=node.position.members))

    def _position(self, event: Event) -> Position:
        mark: Any = event.start_mark
        return Position(mark.line + 1, mark.column + 1)

    def _tree(self, start: Event, value: Any, nodes: Sequence[_Node], members: _Members) -> _Node:
        size = 1 + sum(node.size for node in nodes)
        height = 1 + max((node.height for node in nodes), default=0)
        return _Node(value, replace(self._position(start), members=members), size, height)

    def _sequence(self, start: SequenceStartEvent, depth: int) -> _Node:
        if start.tag not in (None, "!", TAG + "seq"):
            raise self._unknown_tag(start, start.tag)
        nodes: list[_Node] = []
        while not isinstance(event := self._next(), SequenceEndEvent):
            nodes.append(self._node(event, depth + 1))
        values = [node.value for node in nodes]
        return self._tree(start, values, nodes, {at: node.position for at, node in enumerate(nodes)})

    def _mapping(self, start: MappingStartEvent, depth: int) -> _Node:
        if start.tag not in (None, "!", TAG + "map"):
            raise self._unknown_tag(start, start.tag)
        nodes: dict[str, _Node] = {}
        merged: _Node | None = None
        while not isinstance(event := self._next(), MappingEndEvent):
            if _is_merge(event):
                merged = self._merge(event, self._node(self._next(), depth + 1), merged)
                continue
            key = self._key(event, depth + 1)
            place = self._position(event)
            if key in nodes:
                line, column = nodes[key].position.key or (0, 0)
                raise self._wrong(
                    event, f"the key {key[:60]!r} is here twice, first at {line}:{column}: remove one"
                )
            node = self._node(self._next(), depth + 1)
            nodes[key] = replace(node, position=replace(node.position, key=(place.line, place.column)))
        return self._mapping_of(start, nodes, merged)

    def _mapping_of(self, start: Event, nodes: Mapping[str, _Node], merged: _Node | None) -> _Node:
        values = {key: node.value for key, node in nodes.items()}
        places: _Members = {key: node.position for key, node in nodes.items()}
        if merged is None:
            return self._tree(start, values, [*nodes.values()], places)
        places = {**merged.position.members, **places}
        return self._tree(start, merged.value | values, [*nodes.values(), merged], places)

    def _merge(self, event: Event, node: _Node, former: _Node | None) -> _Node:
        """What `<<` brings in: one mapping, or several of which an earlier one wins."""
        if former is not None:
            raise self._wrong(event, "a second `<<` in one mapping: write one, with a list of what to merge")
        several = isinstance(node.value, list)
        values = node.value if several else [node.value]
        if not all(isinstance(value, dict) for value in values):
            raise self._wrong(
                event, "`<<` merges mappings: give it an alias of one, or a list of such aliases"
            )
        value: dict[str, Any] = {}
        members: _Members = {}
        for index, each in reversed(list(enumerate(values))):
            value |= each
            members |= (node.position.members[index] if several else node.position).members
        return replace(node, value=value, position=replace(node.position, members=members))

    def _key(self, event: Event, depth: int) -> str:
        node = self._node(event, depth)
        match node.value:
            case str() as key:
                return key
            case float() | list() | dict():
                pass  # refused below
            case _ if isinstance(event, ScalarEvent) and event.tag is None and event.value:
                return str(event.value)  # 200, true, null: JSON has text for keys only
        raise self._wrong(event, "a key must be a text: put it in quotes (also a value that begins with `{`)")

    def _scalar(self, event: Event) -> _Node:
        assert isinstance(event, ScalarEvent)
        text = self._clean(event)
        value: Any = text
        try:
            if event.tag is None and event.implicit[0]:
                value = resolve(text)
                self._compare(event, text, value)
            elif event.tag not in (None, "!", TAG + "str"):
                value = self._tagged(event, text)
        except ValueError:
            raise self._wrong(
                event, f"a number of more than {MAX_DIGITS} characters: put it in quotes"
            ) from None
        return _Node(value, self._position(event))

    def _clean(self, event: ScalarEvent) -> str:
        """The text with what escapes made of it put right: surrogate pairs joined, lone ones replaced."""
        text = self._events.text_of(event)
        if self._events.is_pure and _SURROGATE.search(text):
            whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            if whole.count("\ufffd") > text.count("\ufffd"):
                wrong = (
                    r"half of a surrogate pair (\ud800 to \udfff) became U+FFFD: write the character itself"
                )
                self._warnings.append(self._at(event.start_mark, wrong))
            return whole
        return text

    def _tagged(self, event: ScalarEvent, text: str) -> Any:
        name = str(event.tag).removeprefix(TAG)
        if name not in _TYPES or TAG + name != event.tag:
            raise self._unknown_tag(event, event.tag)
        value: Any = resolve(text)
        if type(value) not in _TYPES[name]:
            raise self._wrong(
                event, f"{text[:60]!r} isn't {KINDS[name]}: correct it, or remove the tag !!{name}"
            )
        return float(value) if name == "float" else value

    def _unknown_tag(self, event: Event, tag: str | None) -> FaultError:
        shown = str(tag).replace(TAG, "!!")[:60]
        return self._wrong(
            event, f"the tag {shown} isn't known here: remove it, or put a text with `!` in quotes"
        )

    def _compare(self, event: ScalarEvent, text: str, value: Any) -> None:
        if theirs := yaml11_difference(text, value):
            wrong = f"{text[:60]!r} is {kind_of(value)}, but {theirs} to YAML 1.1: put it in quotes if it is a text"
            self._yaml11.append(self._at(event.start_mark, wrong))


def _is_merge(event: Event) -> bool:
    return isinstance(event, ScalarEvent) and event.value == "<<" and event.tag is None and event.implicit[0]


def _copy(value: Any) -> Any:
    """A value of its own for each alias, so that nobody changes two places at once."""
    match value:
        case dict():
            return {key: _copy(member) for key, member in value.items()}
        case list():
            return [_copy(member) for member in value]
        case _:
            return value
