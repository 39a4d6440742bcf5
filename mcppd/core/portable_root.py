"""The root of an inputSchema as every client takes it: one object, without references and combinators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mcppd.core.portable_parts import (
    ANNOTATIONS,
    MAX_FORM,
    Schema,
    both,
    described,
    either,
    named_in,
    requiring,
)
from mcppd.core.schema_text import short, shown
from mcppd.core.subschemas import REFERENCES, known_places

MAX_PARTS: Final = 200  # subschemas drawn together at the root: they may refer to each other in every way

_FORMS: Final = {"anyOf": "Needs at least one of", "oneOf": "Needs exactly one of"}
_TOLD: Final = {"not": "Must not fit", "enum": "Is one of", "const": "Is always"}
_JOINED: Final = ("allOf", *REFERENCES)
_IDENTIFIERS: Final = ("$anchor", "$dynamicAnchor", "$id", "$recursiveAnchor", "id")  # one schema has one
_CONDITION: Final = frozenset(("if", "then", "else"))
_DRAWN: Final = ("additionalProperties", "properties", "required", "type", *_FORMS, *_TOLD)


def flat_root(whole: Schema) -> Schema:
    """A schema for arguments that says at its root, and in its description, all that its parts say together."""
    return _Root(whole).flat(whole, frozenset())


class _Root:
    """What references and combinators say at the root, drawn together into one object."""

    def __init__(self, whole: Schema) -> None:
        drawn = whole.keys() & {*_JOINED, *_FORMS}
        self.targets = (
            {id(place.schema): place.targets for place in known_places(whole) or ()} if drawn else {}
        )
        self.left = MAX_PARTS

    def flat(self, schema: Schema, seen: frozenset[int]) -> Schema:
        """A schema for arguments without references, combinators, `not`, `enum` and `const` at its root."""
        parts = list(self._parts(schema, seen))
        root, told = _merged(parts)
        for part in parts:
            for key, words in _FORMS.items():
                forms = self._forms(part.get(key), seen | {id(schema)})
                root = _offering(root, forms)
                told += [f"{words}: {_listed(forms)}."] if forms else []
            told += [f"{words}: {shown(part[key], MAX_FORM)}." for key, words in _TOLD.items() if key in part]
        return described(root, " ".join(dict.fromkeys(told))) if told else root

    def _parts(self, schema: Any, seen: frozenset[int]) -> Iterator[Schema]:
        """The schema and all that holds together with it."""
        if not isinstance(schema, dict) or id(schema) in seen or self.left <= 0:
            return
        self.left -= 1
        yield {key: value for key, value in schema.items() if key not in _JOINED}
        together = schema.get("allOf")
        inner = list(together) if isinstance(together, list) else []
        for each in [*inner, *(target for _, target in self.targets.get(id(schema), ()))]:
            yield from self._parts(each, seen | {id(schema)})

    def _forms(self, branches: Any, seen: frozenset[int]) -> list[Schema]:
        """The forms that arguments may have by an anyOf or oneOf."""
        known = [each for each in branches if isinstance(each, dict)] if isinstance(branches, list) else []
        objects = [each for each in known if each != {"not": {}} and _may_be(each, "object")]
        return [self.flat(each, seen) for each in objects]


def _merged(parts: list[Schema]) -> tuple[Schema, list[str]]:
    """One object for what all the parts say together, and in words what clashes."""
    root: Schema = {}
    told: list[str] = []
    for part in parts:
        own = {key: value for key, value in part.items() if key not in _DRAWN}
        if part is not parts[0]:
            own = {key: value for key, value in own.items() if key not in _IDENTIFIERS}
        clash = {key for key, value in own.items() if key in root and root[key] != value} - ANNOTATIONS
        if own.keys() & _CONDITION and root.keys() & _CONDITION:
            clash |= own.keys() & _CONDITION  # these three only mean something together
        told += [f"Also: {shown({key: own[key] for key in own if key in clash}, MAX_FORM)}."] if clash else []
        root = {**root, **{key: own[key] for key in own if key not in clash and key not in root}}
    extra = _additional(parts)
    root |= {"properties": _properties(parts)} | ({} if extra is None else {"additionalProperties": extra})
    if any(isinstance(part.get("required"), list) for part in parts):
        root["required"] = list(dict.fromkeys(name for part in parts for name in _required(part)))
    return root, told


def _required(schema: Schema) -> list[str]:
    required = schema.get("required")
    return [each for each in required if isinstance(each, str)] if isinstance(required, list) else []


def _is_closed(schema: Schema) -> bool:
    return schema.get("additionalProperties") is False and not schema.get("patternProperties")


def _properties(parts: list[Schema]) -> dict[str, Any]:
    """The properties that all the parts allow."""
    closed = [named_in(part) for part in parts if _is_closed(part)]
    found: dict[str, Any] = {}
    for part in parts:
        for name, each in named_in(part).items():
            if all(name in names for names in closed):
                found[name] = both(found[name], each) if name in found else each
    return found


def _additional(parts: list[Schema]) -> Any:
    """What `additionalProperties` has to say where the parts are one; None: nothing, or it can't be said."""
    if any(map(_is_closed, parts)):
        return False
    telling = [part for part in parts if part.keys() & {"properties", "additionalProperties"}]
    return telling[0].get("additionalProperties") if len(telling) == 1 else None


def _offering(root: Schema, forms: list[Schema]) -> Schema:
    """The root with the properties of all forms, none of them required that isn't required in each."""
    known = named_in(root)
    offered: dict[str, list[Any]] = {}
    for name, each in (pair for form in forms for pair in named_in(form).items()):
        if name not in known and not _is_closed(root):
            offered.setdefault(name, []).append(each)
    root = {**root, "properties": {**known, **{name: either(each) for name, each in offered.items()}}}
    common = (
        [name for name in _required(forms[0]) if all(name in _required(form) for form in forms)]
        if forms
        else []
    )
    return requiring(root, common)


def _may_be(schema: Schema, name: str) -> bool:
    types = schema.get("type", name)
    return name in types if isinstance(types, list) else types == name


def _listed(forms: list[Schema]) -> str:
    return "; ".join(f"({number}) {_form_words(form)}" for number, form in enumerate(forms, 1))


def _form_words(form: Schema) -> str:
    """What arguments of this form have to have."""
    fixed = {
        name: each["const"]
        for name, each in named_in(form).items()
        if isinstance(each, dict) and "const" in each
    }
    names = dict.fromkeys([*_required(form), *fixed])
    told = (f"{name} = {shown(fixed[name], MAX_FORM)}" if name in fixed else name for name in names)
    return short(", ".join(told) or str(form.get("title") or shown(form, MAX_FORM)), MAX_FORM)
