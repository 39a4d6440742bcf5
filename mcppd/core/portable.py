"""The form in which a tool's schema is advertised: what every client takes (PROTOCOL.md section 5, D15).

Arguments are validated against what the author wrote, so this form may allow more; what it can't say to all
clients it says in a description.
"""

from __future__ import annotations

import sys
from typing import Any, Final

from mcppd.core.portable_parts import Schema, described, either, requiring, type_words
from mcppd.core.portable_refs import closed, put_in
from mcppd.core.portable_root import flat_root
from mcppd.core.portable_types import single_types
from mcppd.core.regexes import is_common, patterns_of
from mcppd.core.subschemas import NULL_IS_A_VALUE, children, is_usable, rebuilt

INTEGERS: Final = range(-(2**63), 2**64)  # what encoders take; JavaScript reads a float anyway

_STAY_BOOLEAN: Final = (
    "additionalItems",
    "additionalProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
)


def portable(schema: Any) -> dict[str, Any]:
    """An `inputSchema` as every client takes it; one that is portable comes back equal."""
    whole = _converted(schema) if is_usable(schema) else {}
    root = flat_root(whole)
    properties = root.get("properties")
    fixed = {"type": "object", "properties": properties if isinstance(properties, dict) else {}}
    return single_types(put_in(closed({**fixed, **root, **fixed})))


def portable_output(schema: Any) -> dict[str, Any] | None:
    """An `outputSchema` as every client takes it; None for one that only the modern era has, of no object."""
    if is_usable(schema) and schema.get("type") == "object":
        return closed(single_types(_converted(schema)))
    return None


def _converted(schema: Any) -> Any:
    """A copy of a subschema, in words that everybody knows and with no more demands."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        return schema
    out: Schema = {}
    for key, value in _without_regexes(schema).items():
        if key == "$schema" or (value is None and key not in NULL_IS_A_VALUE):
            continue
        stays = isinstance(value, bool) and key in _STAY_BOOLEAN
        new = value if stays else rebuilt(key, value, _converted)
        out[key] = _sendable(value) if new is value else new
    return _with_items(_untupled(_modern(out, schema)))


def _without_regexes(schema: Schema) -> Schema:
    """The schema without what JavaScript can't compile, and without what would allow less for lack of it."""
    kept = dict(schema)
    if not is_common(kept.get("pattern", "")):
        del kept["pattern"]
    named = kept.get("patternProperties")
    if isinstance(named, dict) and not all(map(is_common, named)):
        kept["patternProperties"] = {key: value for key, value in named.items() if is_common(key)}
        kept.pop("additionalProperties", None)
        kept.pop("unevaluatedProperties", None)
    for key in ("not", "if", "contains"):
        if _loses(kept.get(key)):
            del kept[key]
    if _loses(kept.get("oneOf")):
        kept.setdefault("anyOf", kept.pop("oneOf"))
        kept.pop("oneOf", None)
    return kept


def _loses(schema: Any) -> bool:
    """Whether a schema (or one of a list) would allow more once it is converted."""
    if isinstance(schema, list):
        return any(map(_loses, schema))
    if not isinstance(schema, dict):
        return False
    tuples = isinstance(schema.get("prefixItems"), list) or isinstance(schema.get("items"), list)
    return (
        tuples
        or not all(map(is_common, patterns_of(schema)))
        or any(_loses(each) for _, each in children(schema))
    )


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
    return requiring(
        out, (name for name, each in members if isinstance(each, dict) and each.get("required") is True)
    )


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
    kept |= {"items": either(forms)} | ({"maxItems": len(members)} if full and most is None else {})
    return described(kept, f"In order: {', '.join(map(type_words, members))}.") if members else kept


def _with_items(out: Schema) -> Schema:
    types = out.get("type")
    is_array = types == "array" or (isinstance(types, list) and "array" in types)
    return {**out, "items": {}} if is_array and "items" not in out else out
