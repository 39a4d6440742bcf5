"""References in a portable schema: what they lead to is put in their place, unless it leads back to itself."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import quote

from mcppd.core.portable_parts import ANNOTATIONS, Schema, both
from mcppd.core.subschemas import MAX_LEVELS, REFERENCES, children, known_places, rebuilt

MAX_PUT_IN: Final = 1_000
"""Subschemas of a schema without references: a few that refer to each other can stand for millions."""

_DEFINITIONS: Final = ("$defs", "definitions")
_IDENTIFIERS: Final = ("$id", "id", "$dynamicAnchor", "$recursiveAnchor")
"""By these it depends on where a schema stands what a reference in it means."""


def closed(root: Schema) -> Schema:
    """The whole without references that lead nowhere now, and without an identifier that none of them needs.

    SDK clients keep the first schema that they see under an identifier, so a reloaded one would go unseen.
    """
    found = known_places(root)
    if found is None:
        return root
    lost = {id(place.schema): {key for key, target in place.targets if target is None} for place in found}
    if any(lost.values()):
        root = _without(root, lost)
    used = [place.schema[key] for place in found for key, target in place.targets if target is not None]
    if all(str(each).startswith("#") for each in used):
        root = {key: value for key, value in root.items() if key not in ("$id", "id")}
    return root


def put_in(root: Schema) -> Schema:
    """The whole with the targets of its references in their places; what recurs stays, under `$defs`."""
    if not _refers(root):
        return root
    root = _copied(root)  # a part that stands in two places is two, of which one may lead to the other
    found = known_places(root) or []
    targets = {id(place.schema): _as_schema(place.targets[0][1]) for place in found if place.targets}
    is_simple = all(key == "$ref" for place in found for key, _ in place.targets)
    if not targets or not is_simple or any(each.schema.keys() & {*_IDENTIFIERS} for each in found):
        return root
    try:
        return _Whole(root, targets).result()
    except _TooMuchError:
        return root


class _TooMuchError(Exception):
    """What would be put in is too much, or too deep."""


class _Whole:
    """A schema whose references are being followed."""

    def __init__(self, root: Schema, targets: dict[int, Schema]) -> None:
        self.root = root
        self.targets = targets
        self.kept: dict[int, Schema] = {}  # what recurs
        self.names: dict[int, str] = {}  # of those
        self.left = MAX_PUT_IN

    def result(self) -> Schema:
        """The root, with the definitions that are still needed."""
        self._find_kept(self.root, set(), set())
        self._name_kept()
        whole = self._expanded(self.root, 0)
        definitions = {
            self.names[at]: self._expanded(each, 0) for at, each in self.kept.items() if at in self.names
        }
        return {**whole, "$defs": definitions} if definitions else whole

    def _find_kept(self, schema: Schema, above: set[int], done: set[int]) -> None:
        """Note what a reference below it leads back to: if only that stays a reference, nothing is without end."""
        if len(above) > MAX_LEVELS:
            raise _TooMuchError
        above.add(id(schema))
        inner = [
            child
            for path, child in children(schema)
            if path[0] not in _DEFINITIONS and isinstance(child, dict)
        ]
        target = self.targets.get(id(schema))
        for each in [*inner, *([target] if target is not None else [])]:
            if id(each) in above:
                self.kept[id(each)] = each
            elif id(each) not in done:
                self._find_kept(each, above, done)
        above.remove(id(schema))
        done.add(id(schema))

    def _name_kept(self) -> None:
        """A name for each but the root, which `#` says: its own, where it has one."""
        own: dict[int, str] = {}
        for key in reversed(_DEFINITIONS):
            named = self.root.get(key)
            own |= {id(each): name for name, each in named.items()} if isinstance(named, dict) else {}
        for number, at in enumerate(self.kept, 1):
            if at != id(self.root):
                name = own.get(at, f"part{number}")
                self.names[at] = name if name not in self.names.values() else f"{name}_{number}"

    def _expanded(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict):
            return schema
        self.left -= 1
        if self.left < 0 or depth > MAX_LEVELS:
            raise _TooMuchError
        beside = {
            key: rebuilt(key, value, lambda each: self._expanded(each, depth + 1))
            for key, value in schema.items()
            if key not in ("$ref", "$anchor", *_DEFINITIONS)
        }
        target = self.targets.get(id(schema))
        if target is None:
            return beside
        if id(target) in self.kept:
            name = self.names.get(id(target))
            return {"$ref": "#" if name is None else f"#/$defs/{_pointer(name)}", **beside}
        return _together(self._expanded(target, depth + 1), beside)


def _refers(schema: Any) -> bool:
    """Whether there is a reference in it, looked for in the places of subschemas."""
    is_one = isinstance(schema, dict) and not schema.keys().isdisjoint(REFERENCES)
    return is_one or any(_refers(each) for _, each in children(schema))


def _copied(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    return {key: rebuilt(key, value, _copied) for key, value in schema.items()}


def _as_schema(target: Any) -> Schema:
    if isinstance(target, dict):
        return target
    return {} if target else {"not": {}}


def _together(target: Schema, beside: Schema) -> Schema:
    """What a reference leads to, and what stands beside it: a title or a description is the nearer one's."""
    if beside.keys() <= ANNOTATIONS:
        return {**target, **beside}
    found: Schema = both(target, beside)
    return found


def _pointer(name: str) -> str:
    """A name as a part of a JSON pointer in a URI (RFC 6901, section 6)."""
    return quote(name.replace("~", "~0").replace("/", "~1"), safe="~!$&'()*+,;=:@")


def _without(schema: Any, lost: dict[int, set[str]]) -> Any:
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in lost.get(id(schema), ())}
    return {key: rebuilt(key, value, lambda each: _without(each, lost)) for key, value in kept.items()}
