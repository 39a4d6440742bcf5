"""What is said to fit surely has no fault by jsonschema, in whatever dialect; and what most tools have is sure."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from mcppd.core.subschemas import BROKEN, DIALECTS, validator_of
from mcppd.core.surely import surely_fits

NAMES = some.sampled_from(["a", "b", "c"])
NUMBERS = some.one_of(some.integers(-3, 3), some.sampled_from([0.0, 1.0, 1.5, -2.0, 10**30]))
WORDS = some.one_of(some.none(), some.booleans(), NUMBERS, some.sampled_from(["", "a", "bb", "1"]))
VALUES = some.recursive(
    WORDS,
    lambda inner: some.one_of(some.lists(inner, max_size=3), some.dictionaries(NAMES, inner, max_size=3)),
)
TYPES = some.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string", "any", 3])


def _schemas(inner: some.SearchStrategy[Any]) -> some.SearchStrategy[Any]:
    """Schemas of what is checked, and of some more, with members that belong there and others."""
    some_schemas = some.lists(inner, max_size=3)
    return some.fixed_dictionaries(
        {},
        optional={
            "type": some.one_of(TYPES, some.lists(TYPES, min_size=1, max_size=3)),
            "properties": some.dictionaries(NAMES, inner, max_size=3),
            "additionalProperties": inner,
            "required": some.one_of(some.lists(NAMES, max_size=2), some.booleans()),
            "items": some.one_of(inner, some_schemas),
            "enum": some.lists(WORDS, max_size=3),
            "const": WORDS,
            "anyOf": some_schemas,
            "allOf": some_schemas,
            "oneOf": some_schemas,
            "not": inner,
            **{name: some.one_of(NUMBERS, some.booleans()) for name in ("minimum", "maximum")},
            **{
                name: some.one_of(NUMBERS, some.booleans())
                for name in ("exclusiveMinimum", "exclusiveMaximum")
            },
            **{name: some.integers(0, 3) for name in ("minLength", "maxLength", "minItems", "maxItems")},
            "uniqueItems": some.booleans(),
            "dependentRequired": some.dictionaries(NAMES, some.lists(NAMES, max_size=2), max_size=2),
            "title": some.just("a title"),
        },
    )


SCHEMAS: some.SearchStrategy[Any] = some.recursive(
    some.one_of(some.booleans(), some.just({})), _schemas, max_leaves=8
)


@pytest.mark.slow
@settings(max_examples=1000)
@given(SCHEMAS, VALUES, some.sampled_from([None, *DIALECTS]))
def test_what_fits_surely_has_no_fault(schema: Any, value: Any, dialect: str | None) -> None:
    if dialect is not None and isinstance(schema, dict):
        schema = {"$schema": dialect, **schema}
    if not surely_fits(schema)(value):
        return
    try:
        faults = list(validator_of(schema).iter_errors(value))
    except BROKEN:
        return  # no module offers a tool with such a schema
    assert faults == []


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "What"}},
            "required": ["text"],
        },
        {
            "type": "object",
            "properties": {"text": {"type": ["string", "null"], "maxLength": 5, "format": "x"}},
        },
        {"properties": {"text": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}}},
        {"properties": {"text": {"enum": ["hello", 3]}}, "additionalProperties": False},
        {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
        {"allOf": [{"required": ["text"]}, {"properties": {"n": {"type": "integer", "minimum": 1}}}]},
        {},
        True,
    ],
)
def test_what_most_tools_have_is_sure(schema: Any) -> None:
    assert surely_fits(schema)({"text": "hello"})


@pytest.mark.parametrize(
    "value", [{"n": 1.0}, {"n": True}, {"n": "1"}, {"n": 0}, {}, [], None, {"n": 1, "m": 1}]
)
def test_what_does_not_fit_is_not_sure(value: Any) -> None:
    number = {"type": "integer", "minimum": 1}
    schema = {"type": "object", "properties": {"n": number}, "required": ["n"], "additionalProperties": False}
    assert surely_fits(schema)({"n": 1})
    assert not surely_fits(schema)(value)
