"""The form in which a tool's schema is advertised: what every client takes (PROTOCOL.md section 5, D15).

Arguments are validated against what the author wrote, so this form may allow more; what it can't say to all
clients it says in a description.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, TypeAlias

from mcppd.core.schemas import (
    BROKEN,
    MAX_DEPTH,
    Path,
    Place,
    children,
    json_fault,
    path_text,
    places,
    rebuilt,
    short,
    shown,
)

Schema: TypeAlias = dict[str, Any]

MAX_LEVELS: Final = 2 * MAX_DEPTH  # of JSON: what is drawn together at the root may get a little deeper
MAX_PARTS: Final = 200  # subschemas drawn together at the root: they may refer to each other in every way
MAX_WORDS: Final = 600  # characters of a constraint in words: clients cut descriptions at 2 KB
MAX_FORM: Final = 120  # characters of one of its alternatives
MAX_REFUSALS: Final = 20  # told of one schema
INTEGERS: Final = range(-(2**63), 2**64)  # what encoders take; JavaScript reads a float anyway

_STAY_BOOLEAN: Final = (
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_NULL_IS_A_VALUE: Final = ("const", "default")
_FORMS: Final = {"anyOf": "Needs at least one of", "oneOf": "Needs exactly one of"}
_TOLD: Final = {"not": "Must not fit", "enum": "Is one of", "const": "Is always"}
_JOINED: Final = ("allOf", *_REFERENCES)
_IDENTIFIERS: Final = ("$anchor", "$dynamicAnchor", "$id", "$recursiveAnchor", "id")  # one schema has one
_CONDITION: Final = frozenset(("if", "then", "else"))
_DRAWN: Final = ("additionalProperties", "properties", "required", "type", *_FORMS, *_TOLD)
_ANNOTATIONS: Final = frozenset(
    ("$comment", "$defs", "default", "definitions", "description", "examples", "title")
)
# Keywords that mean the same whatever stands beside them.
_SIMPLE: Final = frozenset(
    (
        *("const", "default", "description", "enum", "exclusiveMaximum", "exclusiveMinimum", "format"),
        *("maxLength", "maximum", "minLength", "minimum", "multipleOf", "pattern", "title", "type"),
    )
)
_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")

# Regular expressions that mean the same to Python and, with its flag u, to JavaScript; token by token.
_ESCAPE: Final = r"\\(?:[\^$\\.*+?()\[\]{}|/fnrtv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"
_MEMBER: Final = rf"(?:[^\\\]\[-]|{_ESCAPE}|\\[b-])"
_CLASS: Final = rf"\[\^?+-?+(?:{_MEMBER}(?:-{_MEMBER})?+|\\[dDsSwW](?!-[^\]]))++-?+\]"
_ATOM: Final = rf"(?:[^\\^$.|?*+()\[\]{{}}]|{_ESCAPE}|\\[bBdDsSwW]|\\[1-9](?![0-9])|\.|{_CLASS}|\))"
_QUANTIFIER: Final = r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??+"
_OPENING: Final = r"\((?:\?(?:[:=!]|<[=!]))?+(?![?*+])"
_REGEX: Final = re.compile(rf"(?:{_OPENING}|[\^$|]|{_ATOM}(?:{_QUANTIFIER})?+)*+")


def portable(schema: Any) -> dict[str, Any]:
    """An `inputSchema` as every client takes it; one that is portable comes back equal."""
    whole = _converted(schema) if _is_usable(schema) else {}
    root = _Root(whole).flat(whole, frozenset())
    properties = root.get("properties")
    fixed = {"type": "object", "properties": properties if isinstance(properties, dict) else {}}
    return _closed({**fixed, **root, **fixed})


def portable_output(schema: Any) -> dict[str, Any] | None:
    """An `outputSchema` as every client takes it; None for one that only the modern era has, of no object."""
    if _is_usable(schema) and schema.get("type") == "object":
        return _closed(_converted(schema))
    return None


def refused_by(schema: Any) -> list[str]:
    """What some client refuses or drops in a schema, as it stands, in words."""
    return list(islice(_refusals(schema), MAX_REFUSALS))


# --- keyword by keyword ---


def _is_usable(schema: Any) -> bool:
    return isinstance(schema, dict) and json_fault(schema, MAX_LEVELS) is None


def _converted(schema: Any) -> Any:
    """A copy of a subschema, in words that everybody knows and with no more demands."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        return schema
    out: Schema = {}
    for key, value in _without_regexes(schema).items():
        if key == "$schema" or (value is None and key not in _NULL_IS_A_VALUE):
            continue
        stays = isinstance(value, bool) and key in _STAY_BOOLEAN
        new = value if stays else rebuilt(key, value, _converted)
        out[key] = _sendable(value) if new is value else new
    return _with_items(_untupled(_modern(out, schema)))


def _without_regexes(schema: Schema) -> Schema:
    """The schema without what JavaScript can't compile, and without what would allow less for lack of it."""
    kept = dict(schema)
    if not _is_regex(kept.get("pattern", "")):
        del kept["pattern"]
    named = kept.get("patternProperties")
    if isinstance(named, dict) and not all(map(_is_regex, named)):
        kept["patternProperties"] = {key: value for key, value in named.items() if _is_regex(key)}
        kept.pop("additionalProperties", None)
        kept.pop("unevaluatedProperties", None)
    for key in ("not", "if", "contains"):
        if _loses(kept.get(key)):
            del kept[key]
    if _loses(kept.get("oneOf")):
        kept.setdefault("anyOf", kept.pop("oneOf"))
        kept.pop("oneOf", None)
    return kept


def _is_regex(pattern: Any) -> bool:
    return not isinstance(pattern, str) or _REGEX.fullmatch(pattern) is not None


def _loses(schema: Any) -> bool:
    """Whether a schema (or one of a list) would allow more once it is converted."""
    if isinstance(schema, list):
        return any(map(_loses, schema))
    if not isinstance(schema, dict):
        return False
    tuples = isinstance(schema.get("prefixItems"), list) or isinstance(schema.get("items"), list)
    return (
        tuples
        or not all(map(_is_regex, _patterns(schema)))
        or any(_loses(each) for _, each in children(schema))
    )


def _patterns(schema: Schema) -> Iterator[Any]:
    named = schema.get("patternProperties")
    yield from (schema.get("pattern"), *(named if isinstance(named, dict) else ()))


def _sendable(value: Any) -> Any:
    """The value with integers that no encoder takes as floats."""
    if isinstance(value, list):
        return [_sendable(each) for each in value]
    if isinstance(value, dict):
        return {key: _sendable(each) for key, each in value.items()}
    if isinstance(value, int) and value not in INTEGERS:
        largest = sys.float_info.max
        return float(value) if -largest <= value <= largest else largest if value > 0 else -largest
    return value


def _modern(out: Schema, schema: Schema) -> Schema:
    """What drafts 3 to 7 write otherwise, in the words of 2020-12."""
    for bound, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(out.get(bound), bool) and out.pop(bound) and limit in out:
            out[bound] = out.pop(limit)
    types = out.get("type")
    if types == "any" or (
        isinstance(types, list) and any(each == "any" or isinstance(each, dict) for each in types)
    ):
        del out["type"]
    for key in ("$id", "id"):
        if isinstance(out.get(key), str) and out[key].startswith("#"):
            out["$anchor"] = out.pop(key)[1:]
    if isinstance(out.get("required"), bool):
        del out["required"]
    named = schema.get("properties")
    members = named.items() if isinstance(named, dict) else ()
    return _requiring(
        out, (name for name, each in members if isinstance(each, dict) and each.get("required") is True)
    )


def _requiring(schema: Schema, names: Iterable[str]) -> Schema:
    """The schema with names added to those that it requires."""
    required = schema.get("required")
    known = required if isinstance(required, list) else []
    new = [name for name in dict.fromkeys(names) if name not in known]
    return {**schema, "required": [*known, *new]} if new else schema


def _untupled(out: Schema) -> Schema:
    """An array of fixed places as one of equal items: clients drop a tool for the one, or ignore it."""
    prefix, items = out.get("prefixItems"), out.get("items")
    members, rest = (prefix, items) if isinstance(prefix, list) else (items, out.get("additionalItems"))
    if not isinstance(members, list):
        return out
    most = out.get("maxItems")
    full = rest in (False, {"not": {}}) or (isinstance(most, int) and most <= len(members))
    forms = members if full else [*members, rest] if isinstance(rest, dict) else [{}]
    kept = {
        key: value for key, value in out.items() if key not in ("prefixItems", "items", "additionalItems")
    }
    kept |= {"items": _either(forms)} | ({"maxItems": len(members)} if full and most is None else {})
    return _described(kept, f"In order: {', '.join(map(_type_words, members))}.") if members else kept


def _with_items(out: Schema) -> Schema:
    types = out.get("type")
    is_array = types == "array" or (isinstance(types, list) and "array" in types)
    return {**out, "items": {}} if is_array and "items" not in out else out


def _either(forms: list[Any]) -> Schema:
    """A schema for what fits any of the forms."""
    distinct = list({repr(form): form for form in forms}.values())
    if {} in distinct or not all(isinstance(each, dict) for each in distinct):
        return {}
    if len(distinct) <= 1:
        return dict(*distinct)
    if any("const" not in each or not set(each) <= {"const", "type"} for each in distinct):
        return {"anyOf": distinct}
    types = {each.get("type") if isinstance(each.get("type"), str) else None for each in distinct}
    common = {"type": types.pop()} if len(types) == 1 and None not in types else {}
    return {**common, "enum": [each["const"] for each in distinct]}


# --- the root ---


class _Root:
    """What references and combinators say at the root, drawn together into one object."""

    def __init__(self, whole: Schema) -> None:
        drawn = whole.keys() & {*_JOINED, *_FORMS}
        self.targets = {id(place.schema): place.targets for place in _places(whole) or ()} if drawn else {}
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
        return _described(root, " ".join(dict.fromkeys(told))) if told else root

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
        clash = {key for key, value in own.items() if key in root and root[key] != value} - _ANNOTATIONS
        if own.keys() & _CONDITION and root.keys() & _CONDITION:
            clash |= own.keys() & _CONDITION  # these three only mean something together
        told += [f"Also: {shown({key: own[key] for key in own if key in clash}, MAX_FORM)}."] if clash else []
        root = {**root, **{key: own[key] for key in own if key not in clash and key not in root}}
    extra = _additional(parts)
    root |= {"properties": _properties(parts)} | ({} if extra is None else {"additionalProperties": extra})
    if any(isinstance(part.get("required"), list) for part in parts):
        root["required"] = list(dict.fromkeys(name for part in parts for name in _required(part)))
    return root, told


def _named(schema: Schema) -> dict[str, Any]:
    named = schema.get("properties")
    return named if isinstance(named, dict) else {}


def _required(schema: Schema) -> list[str]:
    required = schema.get("required")
    return [each for each in required if isinstance(each, str)] if isinstance(required, list) else []


def _is_closed(schema: Schema) -> bool:
    return schema.get("additionalProperties") is False and not schema.get("patternProperties")


def _properties(parts: list[Schema]) -> dict[str, Any]:
    """The properties that all the parts allow."""
    closed = [_named(part) for part in parts if _is_closed(part)]
    found: dict[str, Any] = {}
    for part in parts:
        for name, each in _named(part).items():
            if all(name in names for names in closed):
                found[name] = _both(found[name], each) if name in found else each
    return found


def _both(one: Any, other: Any) -> Any:
    """A schema for what fits the one and the other."""
    if {} in (one, other) or one == other:
        return one or other
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return {"allOf": [one, other]}
    simple = one.keys() | other.keys() <= _SIMPLE
    if simple and all(one[key] == other[key] for key in one.keys() & other.keys()):
        return {**one, **other}
    return {"allOf": [one, other]}


def _additional(parts: list[Schema]) -> Any:
    """What `additionalProperties` has to say where the parts are one; None: nothing, or it can't be said."""
    if any(map(_is_closed, parts)):
        return False
    telling = [part for part in parts if part.keys() & {"properties", "additionalProperties"}]
    return telling[0].get("additionalProperties") if len(telling) == 1 else None


def _offering(root: Schema, forms: list[Schema]) -> Schema:
    """The root with the properties of all forms, none of them required that isn't required in each."""
    known = _named(root)
    offered: dict[str, list[Any]] = {}
    for name, each in (pair for form in forms for pair in _named(form).items()):
        if name not in known and not _is_closed(root):
            offered.setdefault(name, []).append(each)
    root = {**root, "properties": {**known, **{name: _either(each) for name, each in offered.items()}}}
    common = (
        [name for name in _required(forms[0]) if all(name in _required(form) for form in forms)]
        if forms
        else []
    )
    return _requiring(root, common)


def _may_be(schema: Schema, name: str) -> bool:
    types = schema.get("type", name)
    return name in types if isinstance(types, list) else types == name


# --- words ---


def _described(schema: Schema, text: str) -> Schema:
    known = schema.get("description")
    text = text if len(text) <= MAX_WORDS else text[:MAX_WORDS] + "…"
    return {**schema, "description": f"{known} {text}" if isinstance(known, str) and known else text}


def _listed(forms: list[Schema]) -> str:
    return "; ".join(f"({number}) {_form_words(form)}" for number, form in enumerate(forms, 1))


def _form_words(form: Schema) -> str:
    """What arguments of this form have to have."""
    fixed = {
        name: each["const"]
        for name, each in _named(form).items()
        if isinstance(each, dict) and "const" in each
    }
    names = dict.fromkeys([*_required(form), *fixed])
    told = (f"{name} = {shown(fixed[name], MAX_FORM)}" if name in fixed else name for name in names)
    return short(", ".join(told) or str(form.get("title") or shown(form, MAX_FORM)), MAX_FORM)


def _type_words(schema: Any) -> str:
    types = schema.get("type") if isinstance(schema, dict) else None
    return types if isinstance(types, str) else shown(schema, MAX_FORM // 3)


# --- the whole ---


def _places(schema: Schema) -> list[Place] | None:
    try:
        return list(places(schema))
    except BROKEN:
        return None  # nobody checked this one: what its references mean can't be told


def _closed(root: Schema) -> Schema:
    """The whole without references that lead nowhere now, and without an identifier that none of them needs.

    SDK clients keep the first schema that they see under an identifier, so a reloaded one would go unseen.
    """
    found = _places(root)
    if found is None:
        return root
    lost = {id(place.schema): {key for key, target in place.targets if target is None} for place in found}
    if any(lost.values()):
        root = _without(root, lost)
    used = [place.schema[key] for place in found for key, target in place.targets if target is not None]
    if all(str(each).startswith("#") for each in used):
        root = {key: value for key, value in root.items() if key not in ("$id", "id")}
    return root


def _without(schema: Any, lost: dict[int, set[str]]) -> Any:
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in lost.get(id(schema), ())}
    return {key: rebuilt(key, value, lambda each: _without(each, lost)) for key, value in kept.items()}


def _refusals(schema: Any) -> Iterator[str]:
    root = schema if _is_usable(schema) else {}
    if root.get("type") != "object":
        yield '$: the type has to be "object"; many clients refuse all tools of the server otherwise'
    for key in ("allOf", "anyOf", "oneOf", "not", "enum"):
        if key in root:
            yield f"$.{key}: model APIs refuse it at the root; say it inside a property or in the description"
    for name in _named(root):
        if not _KEY.fullmatch(name):
            where = path_text(("properties", name))
            yield f"{where}: Claude drops the tool; name it with 1 to 64 of A-Z a-z 0-9 _ . -"
    waiting: list[tuple[Path, Any]] = [((), root)]
    for path, each in waiting:  # grows while it is gone through
        yield from (f"{path_text(path)}: {text}" for text in _inner_refusals(path, each))
        waiting += (((*path, *step), child) for step, child in children(each))


def _inner_refusals(path: Path, schema: Any) -> Iterator[str]:
    if isinstance(schema, bool) and path[:1] == ("properties",) and len(path) == len(("properties", "name")):
        yield "a boolean as a schema makes many clients refuse all tools of the server; write {} or {not: {}}"
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("items"), list):
        yield "Codex drops the tool for a list of items; give one schema for all of them"
    if not all(map(_is_regex, _patterns(schema))):
        yield "JavaScript can't compile the regular expression; clients refuse all tools for one in an outputSchema"
