"""Which fields of a definition are others than before."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.differences import DEPTH, FIELDS, differing_fields


def schema(**properties: Any) -> dict[str, Any]:
    return {"inputSchema": {"type": "object", "properties": properties}}


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        ({"name": "a"}, {"name": "a"}, ()),
        ({"description": "a"}, {"description": "b"}, ("description",)),
        ({"title": "a"}, {"annotations": {}}, ("annotations", "title")),
        (schema(), schema(who={"type": "string"}), ("inputSchema.properties.who",)),
        (
            schema(who={"type": "string"}),
            schema(who={"type": "integer"}, when={}),
            ("inputSchema.properties.when", "inputSchema.properties.who.type"),
        ),
        ({"inputSchema": {"required": ["a"]}}, {"inputSchema": {"required": []}}, ("inputSchema.required",)),
        (schema(a={}, b={}), schema(b={}, a={}), ("inputSchema.properties",)),  # only the order
        (schema(a={"default": 1}), schema(a={"default": True}), ("inputSchema.properties.a.default",)),
        ({"outputSchema": {"type": "object"}}, {"outputSchema": True}, ("outputSchema",)),
    ],
    ids=str,
)
def test_fields_that_came_went_or_changed_are_named_by_their_paths(
    old: dict[str, Any], new: dict[str, Any], fields: tuple[str, ...]
) -> None:
    assert differing_fields(old, new) == fields


def test_what_lies_deep_is_told_as_a_change_of_what_it_lies_in() -> None:
    old: Any = 1
    new: Any = 2
    for _ in range(200):
        old, new = {"x": old}, {"x": new}
    assert differing_fields(old, new) == (".".join("x" * DEPTH),)


def test_ten_thousand_fields_are_not_told() -> None:
    old = schema(**{f"p{number}": {"type": "string"} for number in range(10_000)})
    new = schema(**{f"p{number}": {"type": "integer"} for number in range(10_000)})
    assert len(differing_fields(old, new)) == FIELDS
