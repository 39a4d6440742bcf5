from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcppd.core.plain_schemas import EVALUATED, MAX_PLAIN, MAX_PLAIN_REPEATED, is_plain
from mcppd.core.schema_text import MAX_PATH, path_text, shown
from mcppd.core.schemas import (
    check_input_schema,
    check_output_schema,
    check_schema,
)
from mcppd.core.subschemas import HELD, MAX_DEPTH, MAX_SUBSCHEMAS, NAMED

DRAFT_3 = "http://json-schema.org/draft-03/schema#"
DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema"
DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema"

KEYWORDS = sorted(HELD | NAMED | EVALUATED | {"$schema", "$id", "id", "$anchor", "x"})
VALUES = [
    "string",
    "object",
    "any",
    "#",
    "#/$defs/a",
    "#/anyOf/0",
    "a",
    "(?i)x",
    "((",
    DRAFT_3,
    DRAFT_7,
    "http://x",
]
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | st.sampled_from(VALUES)
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=5)
    ),
    max_leaves=20,
)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    attempts: list[object] = []

    def refuse(*address: object, **_: object) -> None:
        attempts.append(address)
        raise OSError(errno.ENETUNREACH, "no network")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    yield
    assert attempts == []


def nested(levels: int, keyword: str = "not") -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {keyword: schema}
    return schema


GOOD: list[Any] = [
    True,
    {},
    {"type": "object", "properties": {"a": {"type": "string"}, "b": True}, "additionalProperties": False},
    {"properties": {"$ref": {"type": "string"}, "pattern": {"type": "object"}, "$schema": {}}},
    {"properties": {"a": {"pattern": "^(a|b)+$", "patternProperties": {"^x": {}}}}},
    {"description": None, "type": "object", "properties": None, "default": None},
    {"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}},
    {"definitions": {"a/b~c": {}}, "properties": {"x": {"$ref": "#/definitions/a~1b~0c"}}},
    {"$defs": {"n": {"$anchor": "node"}}, "items": {"$ref": "#node"}},
    {
        "$id": "https://e.org/a",
        "$defs": {"b": {"$id": "b"}},
        "anyOf": [{"$ref": "b"}, {"$ref": "https://e.org/b"}],
    },
    {
        "$id": "https://e.org/a",
        "$defs": {
            "b": {
                "$id": "in/b",
                "$defs": {"c": {"$id": "c"}},
                "items": {"$ref": "c"},
                "not": {"$ref": "#/$defs/c"},
            }
        },
    },
    {"$id": "tree/a", "$defs": {"b": {}}, "items": {"$ref": "#/$defs/b"}},
    {"$dynamicRef": "#n", "$defs": {"n": {"$dynamicAnchor": "n"}}},
    {"x-types": {"n": {"type": "string"}}, "properties": {"a": {"$ref": "#/x-types/n"}}},
    {"$schema": DRAFT_2019, "items": [{}], "properties": {"a": {"$recursiveRef": "#"}}},
    {"$schema": DRAFT_7, "items": [{"type": "string"}], "dependencies": {"a": ["b"], "c": {}}},
    {"$schema": DRAFT_7.rstrip("#"), "$id": "http://e.org/x", "properties": {"a": {"$id": "#here"}}},
    {"$schema": DRAFT_4, "id": "http://e.org/x", "minimum": 1, "exclusiveMinimum": True},
    {"$schema": DRAFT_3, "properties": {"a": {"required": True, "type": ["string", {"type": "any"}]}}},
    nested(MAX_DEPTH),
]


@pytest.mark.parametrize("schema", GOOD)
def test_a_schema_that_is_right_in_its_dialect_passes(schema: Any) -> None:
    assert check_schema(schema) is None


BAD: list[tuple[Any, str]] = [
    (None, "$"),
    ([], "$"),
    ({"type": "strin"}, "$.type"),
    ({"properties": {"a b": {"type": "strin"}}}, '$.properties["a b"].type'),
    ({"anyOf": [{}, {"required": "a"}]}, "$.anyOf[1].required"),
    ({"properties": {"a": None}}, "$.properties.a"),
    ({"items": [{}]}, "$.items"),
    ({"$schema": DRAFT_4, "minimum": 1, "exclusiveMinimum": 2}, "$.exclusiveMinimum"),
    ({"$schema": "http://e.org/mine"}, "$.$schema"),
    ({"$schema": 7}, "$.$schema"),
    ({"properties": {"a": {"$schema": "http://e.org/mine"}}}, "$.properties.a.$schema"),
    ({"properties": {"a": {"pattern": "(("}}}, "$.properties.a.pattern"),
    ({"properties": {"a": {"patternProperties": {"[": {}}}}}, '$.properties.a.patternProperties["["]'),
    ({"$ref": "#/$defs/gone"}, "$.$ref"),
    ({"properties": {"a": {"$ref": "#gone"}}}, "$.properties.a.$ref"),
    ({"$dynamicRef": "#gone"}, "$.$dynamicRef"),
    ({"properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}, "$.properties.a.$ref"),
    ({"properties": {"a": {"$ref": "other.json"}}}, "$.properties.a.$ref"),
    ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "$.properties.a.$ref"),
    ({"properties": {"a": {"$ref": DRAFT_7}}}, "$.properties.a.$ref"),
    ({"properties": {"a": {"$ref": "#/properties/b/enum"}, "b": {"enum": [1]}}}, "$.properties.a.$ref"),
    ({"x": {"type": 5}, "properties": {"a": {"$ref": "#/x"}}}, "$.properties.a.$ref.type"),
    ({"x": {"pattern": "(("}, "properties": {"a": {"$ref": "#/x"}}}, "$.properties.a.$ref.pattern"),
    ({"$ref": "#"}, "$"),
    ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}]}, "b": {"$ref": "#/$defs/a"}}}, "$.$defs.a"),
    ({"properties": {1: {}}}, "$.properties"),
    ({"default": {"a": float("nan")}}, "$.default.a"),
    ({"description": "\ud83d"}, "$.description"),
    ({"default": {"\ud83d": 1}}, "$.default"),
    ({"default": {1, 2}}, "$.default"),
]


@pytest.mark.parametrize(("schema", "path"), BAD)
def test_what_is_wrong_is_told_in_one_line_after_its_path(schema: Any, path: str) -> None:
    verdict = check_schema(schema)
    assert verdict is not None
    assert verdict.startswith(f"{path}: ")
    assert "\n" not in verdict
    verdict.encode()


def test_depth_is_bounded() -> None:
    for levels in (MAX_DEPTH + 1, 5_000):
        assert (check_schema(nested(levels)) or "").startswith("$.not.not")


def test_a_schema_that_contains_itself_is_wrong() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"me": schema}
    assert check_schema(schema) is not None
    assert not is_plain(schema)


def test_the_number_of_values_is_bounded_however_often_a_part_is_shared() -> None:
    shared: Any = {"enum": list(range(100))}
    for _ in range(10):
        shared = {"properties": dict.fromkeys("abcdefgh", shared)}
    assert check_schema(shared) is not None
    assert not is_plain(shared)


@pytest.mark.slow
def test_the_number_of_subschemas_is_bounded() -> None:
    names = [f"p{number}" for number in range(MAX_SUBSCHEMAS)]
    assert check_schema({"properties": {name: {} for name in names}}) is not None


def test_a_message_is_short_however_big_the_schema() -> None:
    for schema in ({"required": "x" * 10**6}, {"pattern": "(" * 10**5}, {"$ref": "#/" + "x" * 10**6}):
        assert len(check_schema(schema) or "") < 1_000


@pytest.mark.parametrize("schema", [None, [], "object", True, {"type": "string"}, {"type": ["object"]}])
def test_an_input_schema_is_a_mapping_for_an_object(schema: Any) -> None:
    assert check_input_schema(schema) is not None


@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": None}, {"anyOf": [{"type": "object"}]}])
def test_the_type_of_an_input_schema_may_be_left_out(schema: Any) -> None:
    assert check_input_schema(schema) is None


def test_an_output_schema_is_a_mapping_for_anything() -> None:
    assert check_output_schema({"type": "array"}) is None
    assert check_output_schema({"type": "strin"}) is not None
    assert check_output_schema(True) is not None


PLAIN: list[Any] = [
    True,
    {},
    {"type": "object", "properties": {"a": {"type": ["string", "null"], "minLength": 1}}, "required": ["a"]},
    {"properties": {name: {"type": "string"} for name in ("pattern", "$ref", "uniqueItems", "enum")}},
    {"required": ["pattern", "$ref"], "properties": {"x": {"const": "pattern"}}},
    {
        "title": "t",
        "x-order": [{"pattern": "a"}],
        "default": {"$ref": "#"},
        "examples": [{"uniqueItems": True}],
    },
    {"anyOf": [{"type": "integer"}, {"type": "null"}], "if": {}, "then": {}, "else": False},
    {"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}, "enum": list(range(1_000))},
    {"$schema": DRAFT_7, "$id": "http://e.org/a", "format": "email", "$defs": {"a": {"type": "string"}}},
    {"properties": {f"p{number}": {"type": "string"} for number in range(500)}},
]


@pytest.mark.parametrize("schema", PLAIN)
def test_a_schema_without_anything_slow_is_plain(schema: Any) -> None:
    assert is_plain(schema)


NOT_PLAIN: list[Any] = [
    None,
    [],
    {"pattern": "a"},
    {"properties": {"pattern": {"pattern": "a"}}},
    {"patternProperties": {"a": {}}},
    {"uniqueItems": True},
    {"$ref": "#/$defs/a"},
    {"$dynamicRef": "#a"},
    {"$recursiveRef": "#"},
    {"unevaluatedProperties": False},
    {"anyOf": [{"not": {"items": {"additionalProperties": {"$ref": "#"}}}}]},
    {"dependentSchemas": {"a": {"pattern": "a"}}},
    {"dependencies": {"a": ["b"]}},
    {"dependentRequired": {"a": ["b"]}},
    {"if": {"contains": {"pattern": "a"}}},
    {"then": {"propertyNames": {"pattern": "a"}}},
    {"$defs": {"a": {"pattern": "a"}}},
    {"type": ["string", {"pattern": "a"}]},
    {"extends": {"pattern": "a"}},
    {"properties": [{"pattern": "a"}]},
    {"properties": {"a": 5}},
    {"const": {"a": 1}},
    {"$schema": "http://e.org/mine"},
    {1: 2},
    {"items": {"enum": list(range(100))}},
    {"items": {"anyOf": [{"minimum": number} for number in range(MAX_PLAIN_REPEATED)]}},
    {"additionalProperties": {"allOf": [{"properties": {"a": {"oneOf": [{}, {}, {}]}}}, {}]}},
    {"properties": {f"p{number}": {"type": "string"} for number in range(MAX_PLAIN)}},
    {"enum": list(range(100_000))},
]


@pytest.mark.parametrize("schema", NOT_PLAIN)
def test_a_schema_with_anything_slow_or_unknown_is_not_plain(schema: Any) -> None:
    assert not is_plain(schema)


@settings(deadline=None)
@given(JUNK)
def test_no_junk_makes_a_check_raise(schema: Any) -> None:
    for check in (check_schema, check_input_schema, check_output_schema):
        verdict = check(schema)
        assert verdict is None or verdict.startswith("$")
    is_plain(schema)


def test_a_path_is_written_as_people_write_it() -> None:
    assert path_text(("a", 0, "b c", 'd"')) == '$.a[0]["b c"]["d\\""]'
    assert len(path_text(["a" * 10_000])) < 2 * MAX_PATH


def test_a_value_is_shown_no_further_than_its_beginning() -> None:
    assert shown({"a": [1, "é", None]}, 80) == '{"a": [1, "é", null]}'
    assert len(shown(["x" * 10**6], 10)) == len(shown("x" * 10**6, 10)) == 11
    assert shown("\ud83d", 10).encode()
    assert shown({1, 2}, 10) == '"set"'
