from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mcppd.core.arguments import check_value
from mcppd.core.plain_schemas import EVALUATED
from mcppd.core.portable import portable, portable_output
from mcppd.core.portable_parts import MAX_WORDS
from mcppd.core.refusals import refused_by
from mcppd.core.schemas import check_input_schema
from mcppd.core.subschemas import HELD, NAMED
from tests.harness import first_and_slow

DRAFT_4 = "http://json-schema.org/draft-04/schema#"
DRAFT_7 = "http://json-schema.org/draft-07/schema#"
EMPTY = {"type": "object", "properties": {}}
STRING, INTEGER = {"type": "string"}, {"type": "integer"}


def obj(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **more}


PORTABLE: list[dict[str, Any]] = [
    EMPTY,
    obj({"a": {"type": "string", "default": None}}, required=[], additionalProperties=False),
    obj({"a": {"anyOf": [STRING, {"type": "null"}]}, "b": {"oneOf": [STRING, INTEGER]}}, required=["a"]),
    obj({"a": {"type": "array", "items": STRING, "uniqueItems": True}}, description="Words.", title="T"),
    obj({"a": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": obj({"next": {"$ref": "#/$defs/n"}})}}),
    obj({"me": {"$ref": "#"}}, additionalProperties={"type": "string"}),
    obj(
        {"a": {"pattern": r"^[\w.-]+(?:@|\/)\d{2,}$"}},
        patternProperties={"^x-": {}},
        additionalProperties=False,
    ),
    obj({"not": STRING, "anyOf": STRING, "pattern": STRING, "items": {"const": None}}),
    obj({}, **{"if": {"required": ["a"]}, "then": {"required": ["b"]}, "x-header": "a", "minProperties": 1}),
]


@pytest.mark.parametrize("schema", PORTABLE)
def test_a_portable_schema_comes_back_equal(schema: dict[str, Any]) -> None:
    assert portable(schema) == schema
    assert refused_by(schema) == []


CASES: list[tuple[Any, dict[str, Any]]] = [
    (None, EMPTY),
    ({}, EMPTY),
    (True, EMPTY),
    ({"type": "object"}, EMPTY),
    ({"properties": {"a": STRING}}, obj({"a": STRING})),
    ({"type": "object", "properties": None, "description": None, "required": None}, EMPTY),
    (
        obj({"a": {"type": "string", "title": None, "default": None}}),
        obj({"a": {"type": "string", "default": None}}),
    ),
    (obj({"a": True, "b": False}), obj({"a": {}, "b": {"not": {}}})),
    (obj({"a": {"items": True, "not": False}}), obj({"a": {"items": {}, "not": {"not": {}}}})),
    (obj({"a": {"type": "array"}}), obj({"a": {"type": "array", "items": {}}})),
    # several types
    (
        obj({"a": {"type": ["array", "null"]}}),
        obj({"a": {"anyOf": [{"type": "array", "items": {}}, {"type": "null"}]}}),
    ),
    (obj({"a": {"type": ["string"], "title": "A"}}), obj({"a": {"type": "string", "title": "A"}})),
    (
        obj({"a": {"type": ["string", "integer", "null"], "minLength": 1, "minimum": 2, "default": None}}),
        obj(
            {
                "a": {
                    "anyOf": [
                        {"type": "string", "minLength": 1},
                        {"type": "integer", "minimum": 2},
                        {"type": "null"},
                    ],
                    "default": None,
                }
            }
        ),
    ),
    (
        obj({"a": {"type": ["string", "null"], "enum": ["x", None], "description": "d"}}),
        obj({"a": {"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}], "description": "d"}}),
    ),
    (
        obj({"a": {"type": ["string", "null"], "enum": ["x", "y"]}}),
        obj({"a": {"type": "string", "enum": ["x", "y"]}}),
    ),
    (obj({"a": {"type": ["string", "integer"], "const": 1}}), obj({"a": {"type": "integer", "const": 1}})),
    (obj({"a": {"type": ["string", "null"], "enum": [1]}}), obj({"a": {"not": {}}})),
    (
        obj({"a": {"type": ["string", "null"], "anyOf": [{"minLength": 1}, {"maxLength": 3}]}}),
        obj(
            {
                "a": {
                    "anyOf": [{"minLength": 1}, {"maxLength": 3}],
                    "allOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}],
                }
            }
        ),
    ),
    (
        obj({"a": {"type": ["object", "array"], "properties": {"b": {"type": ["null", "boolean"]}}}}),
        obj(
            {
                "a": {
                    "anyOf": [
                        {
                            "type": "object",
                            "properties": {"b": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}},
                        },
                        {"type": "array", "items": {}},
                    ]
                }
            }
        ),
    ),
    # references below the root
    (obj({"a": {"$ref": "#/definitions/n"}}, definitions={"n": STRING}), obj({"a": STRING})),
    (
        obj(
            {"a": {"$ref": "#/$defs/n", "title": "A"}}, **{"$defs": {"n": {**STRING, "title": "N"}, "o": {}}}
        ),
        obj({"a": {"type": "string", "title": "A"}}),
    ),
    (
        obj({"a": {"$ref": "#/$defs/n", "minLength": 2}}, **{"$defs": {"n": STRING}}),
        obj({"a": {"type": "string", "minLength": 2}}),
    ),
    (
        obj({"a": {"$ref": "#/$defs/n", "not": INTEGER}}, **{"$defs": {"n": STRING}}),
        obj({"a": {"allOf": [STRING, {"not": INTEGER}]}}),
    ),
    (obj({"a": {"$ref": "#/$defs/t"}}, **{"$defs": {"t": True}}), obj({"a": {}})),
    (
        obj({"a": {"$ref": "#/$defs/x"}}, **{"$defs": {"x": {"items": {"$ref": "#/$defs/y"}}, "y": STRING}}),
        obj({"a": {"items": STRING}}),
    ),
    (obj({"a": STRING, "b": {"$ref": "#/properties/a"}}), obj({"a": STRING, "b": STRING})),
    (
        obj(
            {"a": {"$ref": "#/definitions/n"}}, definitions={"n": obj({"next": {"$ref": "#/definitions/n"}})}
        ),
        obj({"a": {"$ref": "#/$defs/n"}}, **{"$defs": {"n": obj({"next": {"$ref": "#/$defs/n"}})}}),
    ),
    (
        obj(
            {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/y"}},
            **{"$defs": {"x": {"items": {"$ref": "#/$defs/y"}}, "y": {"items": {"$ref": "#/$defs/x"}}}},
        ),
        obj(
            {"a": {"$ref": "#/$defs/x"}, "b": {"items": {"$ref": "#/$defs/x"}}},
            **{"$defs": {"x": {"items": {"items": {"$ref": "#/$defs/x"}}}}},
        ),
    ),
    (
        obj({"a": {"properties": {"b": {"$ref": "#/properties/a"}}}}),
        obj(
            {"a": {"properties": {"b": {"$ref": "#/$defs/part1"}}}},
            **{"$defs": {"part1": {"properties": {"b": {"$ref": "#/$defs/part1"}}}}},
        ),
    ),
    (
        obj(
            {"a": {"$ref": "#/$defs/x~1y%20z"}},
            **{"$defs": {"x/y z": {"items": {"$ref": "#/$defs/x~1y%20z"}}}},
        ),
        obj(
            {"a": {"$ref": "#/$defs/x~1y%20z"}},
            **{"$defs": {"x/y z": {"items": {"$ref": "#/$defs/x~1y%20z"}}}},
        ),
    ),
    (obj({"a": {"$ref": "#n"}}, **{"$defs": {"n": {"$anchor": "n", **STRING}}}), obj({"a": STRING})),
    ({"$schema": DRAFT_7, **EMPTY}, EMPTY),
    ({"$id": "http://e.org/a", **obj({"a": {"$ref": "#"}})}, obj({"a": {"$ref": "#"}})),
    (obj({"a": {"pattern": "(?i)x", "type": "string"}}), obj({"a": STRING})),
    (
        obj({"a": {"patternProperties": {r"\Ax": {}, "y": {}}, "additionalProperties": False}}),
        obj({"a": {"patternProperties": {"y": {}}}}),
    ),
    (obj({"a": {"not": {"pattern": "(?i)x"}}}), obj({"a": {}})),
    (obj({"a": {"oneOf": [{"pattern": r"x\Z"}, INTEGER]}}), obj({"a": {"anyOf": [{}, INTEGER]}})),
    (obj({"a": {"maximum": 10**30, "enum": [10**30, 1]}}), obj({"a": {"maximum": 1e30, "enum": [1e30, 1]}})),
    # references at the root
    (
        {"$ref": "#/$defs/a", "$defs": {"a": obj({"b": STRING}, required=["b"])}},
        obj({"b": STRING}, required=["b"], **{"$defs": {"a": obj({"b": STRING}, required=["b"])}}),
    ),
    (
        {"$ref": "#a", "$defs": {"a": {"$anchor": "a", **obj({"b": {"$ref": "#a"}})}}},
        obj({"b": {"$ref": "#/$defs/a"}}, **{"$defs": {"a": obj({"b": {"$ref": "#/$defs/a"}})}}),
    ),
    ({"$ref": "#"}, EMPTY),
    ({"$ref": "http://e.org/x"}, EMPTY),
    (
        obj({"a": {"$ref": "#/anyOf/0", "title": "A"}}, anyOf=[{}]),
        {**obj({"a": {"title": "A"}}), "description": 'Needs at least one of: (1) {"properties": {}}.'},
    ),
    # all of
    (
        {"allOf": [obj({"a": STRING}, required=["a"]), obj({"b": INTEGER}, required=["b"])]},
        obj({"a": STRING, "b": INTEGER}, required=["a", "b"]),
    ),
    (
        {"allOf": [obj({"a": STRING}), obj({"a": {"minLength": 2}})]},
        obj({"a": {"type": "string", "minLength": 2}}),
    ),
    (
        {"allOf": [obj({"a": {"minLength": 1}}), obj({"a": {"minLength": 2}})]},
        obj({"a": {"allOf": [{"minLength": 1}, {"minLength": 2}]}}),
    ),
    (
        {
            **obj({"a": STRING}, additionalProperties=False),
            "allOf": [obj({"a": {"minLength": 2}, "b": STRING})],
        },
        obj({"a": {"type": "string", "minLength": 2}}, additionalProperties=False),
    ),
    (
        {"allOf": [{"minProperties": 1}, {"minProperties": 2}]},
        {**EMPTY, "minProperties": 1, "description": 'Also: {"minProperties": 2}.'},
    ),
    # any of, one of
    (
        {**obj({"a": STRING, "b": STRING}), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        obj({"a": STRING, "b": STRING}, description="Needs at least one of: (1) a; (2) b."),
    ),
    (
        {
            "description": "Finds.",
            "oneOf": [obj({"id": INTEGER}, required=["id"]), obj({"name": STRING}, required=["name"])],
        },
        obj({"id": INTEGER, "name": STRING}, description="Finds. Needs exactly one of: (1) id; (2) name."),
    ),
    (
        {
            "oneOf": [
                obj({"kind": {"const": "a"}, "x": STRING}, required=["kind"]),
                obj({"kind": {"const": "b"}, "x": INTEGER}, required=["kind"]),
            ]
        },
        obj(
            {"kind": {"enum": ["a", "b"]}, "x": {"anyOf": [STRING, INTEGER]}},
            required=["kind"],
            description='Needs exactly one of: (1) kind = "a"; (2) kind = "b".',
        ),
    ),
    (
        {
            "anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}],
            "$defs": {"a": obj({"x": STRING}, required=["x"])},
        },
        obj(
            {"x": STRING},
            required=["x"],
            description="Needs at least one of: (1) x.",
            **{"$defs": {"a": obj({"x": STRING}, required=["x"])}},
        ),
    ),
    (
        {**obj({}, additionalProperties=False), "anyOf": [obj({"a": STRING})]},
        obj(
            {},
            additionalProperties=False,
            description='Needs at least one of: (1) {"properties": {"a": {"type": "string"}}}.',
        ),
    ),
    (
        {**EMPTY, "not": {"required": ["a", "b"]}},
        {**EMPTY, "description": 'Must not fit: {"required": ["a", "b"]}.'},
    ),
    # older drafts
    (
        {"$schema": DRAFT_7, **obj({"a": {"type": "array", "items": [STRING, INTEGER]}})},
        obj({"a": {"type": "array", "items": {}, "description": "In order: string, integer."}}),
    ),
    (
        {"$schema": DRAFT_7, **obj({"a": {"items": [STRING, STRING], "additionalItems": False}})},
        obj({"a": {"items": STRING, "maxItems": 2, "description": "In order: string, string."}}),
    ),
    (
        obj({"a": {"prefixItems": [STRING, INTEGER], "maxItems": 2}}),
        obj(
            {
                "a": {
                    "items": {"anyOf": [STRING, INTEGER]},
                    "maxItems": 2,
                    "description": "In order: string, integer.",
                }
            }
        ),
    ),
    (
        obj({"a": {"prefixItems": [STRING], "items": INTEGER}}),
        obj({"a": {"items": {"anyOf": [STRING, INTEGER]}, "description": "In order: string."}}),
    ),
    (
        {
            "$schema": DRAFT_4,
            **obj(
                {
                    "a": {"minimum": 1, "exclusiveMinimum": True},
                    "b": {"maximum": 1, "exclusiveMaximum": False},
                }
            ),
        },
        obj({"a": {"exclusiveMinimum": 1}, "b": {"maximum": 1}}),
    ),
    (
        {"properties": {"a": {"type": "any", "required": True}, "b": {"required": False}}},
        obj({"a": {}, "b": {}}, required=["a"]),
    ),
    (
        {"$schema": DRAFT_7, **obj({"a": {"$ref": "#x"}}, definitions={"d": {"$id": "#x"}})},
        obj({"a": {}}),
    ),
]


@pytest.mark.parametrize(("schema", "advertised"), CASES)
def test_what_some_client_refuses_is_said_another_way(schema: Any, advertised: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    assert portable(schema) == advertised
    assert schema == before
    assert portable(advertised) == advertised
    assert check_input_schema(advertised) is None
    assert refused_by(advertised) == []


@pytest.mark.parametrize(
    "pattern",
    ["", "^[a-z-]+$", r"\d{4}-\d\d", "(?:a|b)*?", "(?<=a)b(?!c)", r"[^\]]", r"\/\.", r"(a)\1", "é."],
)
def test_a_pattern_that_javascript_knows_stays(pattern: str) -> None:
    assert portable(obj({"a": {"pattern": pattern}})) == obj({"a": {"pattern": pattern}})


@pytest.mark.parametrize(
    "pattern",
    [
        "(?i)x",
        "(?P<n>x)",
        "(?P=n)",
        "(?#c)x",
        "(?>x)",
        "x++",
        r"\Ax\Z",
        r"\-",
        r"[\w-.]",
        "[]a]",
        "x{,3}",
        "{",
        r"\07",
        "(?(1)a|b)",
    ],
)
def test_a_pattern_that_javascript_refuses_or_reads_otherwise_goes(pattern: str) -> None:
    assert portable(obj({"a": {"pattern": pattern}})) == obj({"a": {}})


@pytest.mark.slow
def test_a_schema_that_is_no_json_or_without_bounds_is_advertised_as_empty() -> None:
    shared: Any = {}
    for _ in range(60):
        shared = {"properties": {"a": shared, "b": shared}}
    endless: list[Any] = [shared, {"properties": {1: {}}}, {"default": float("nan")}]
    for schema in endless:
        assert portable(schema) == EMPTY
        assert portable_output({"type": "object", **schema}) is None
        assert len(refused_by(schema)) == 1


def test_words_are_bounded_however_many_alternatives_there_are() -> None:
    schema = {"oneOf": [obj({f"p{number}": STRING}, required=[f"p{number}"]) for number in range(1_000)]}
    assert len(portable(schema)["description"]) <= MAX_WORDS + 1


def test_alternatives_that_refer_to_each_other_come_to_an_end() -> None:
    names = "abcdefghij"
    defs = {name: {"anyOf": [{"$ref": f"#/$defs/{other}"} for other in names]} for name in names}
    assert portable({"$ref": "#/$defs/a", "$defs": defs})["type"] == "object"
    assert portable({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}})["properties"] == {}


def test_what_a_few_references_stand_for_is_not_written_out_where_it_is_too_much() -> None:
    doubled = {
        f"d{n}": {"items": {"$ref": f"#/$defs/d{n + 1}"}, "not": {"$ref": f"#/$defs/d{n + 1}"}}
        for n in range(30)
    }
    schema = obj({"a": {"$ref": "#/$defs/d0"}}, **{"$defs": {**doubled, "d30": {}}})
    assert portable(schema) == schema
    chain = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(2000)}
    schema = obj({"a": {"$ref": "#/$defs/d0"}}, **{"$defs": {**chain, "d2000": STRING}})
    assert portable(schema) == schema


def test_references_whose_meaning_depends_on_where_they_stand_are_left_alone() -> None:
    inner = {"$id": "http://e.org/in", "$defs": {"x": STRING}, "items": {"$ref": "#/$defs/x"}}
    for schema in (
        obj({"a": inner, "b": {"$ref": "http://e.org/in"}}),
        obj({"a": {"$dynamicRef": "#n"}}, **{"$defs": {"n": {"$dynamicAnchor": "n", **STRING}}}),
    ):
        assert portable(schema) == schema


def test_an_output_schema_keeps_its_root() -> None:
    root = {"type": "object", "anyOf": [{"required": ["a"]}], "$ref": "#/$defs/a", "$defs": {"a": {}}}
    assert portable_output(root) == root
    assert portable_output(obj({"a": True, "b": {"pattern": "(?i)x"}})) == obj({"a": {}, "b": {}})


@pytest.mark.parametrize("schema", [None, {}, {"type": "array"}, {"anyOf": [EMPTY]}, {"$ref": "#/$defs/a"}])
def test_an_output_schema_of_no_object_is_not_for_all(schema: Any) -> None:
    assert portable_output(schema) is None


REFUSED: list[tuple[Any, list[str]]] = [
    ({}, ["$"]),
    (None, ["$"]),
    ({**EMPTY, "anyOf": [{}], "not": {}}, ["$.anyOf", "$.not"]),
    (
        obj({"a b": {}, "x" * 65: {}, "$x": {}, "a.b-c_d": {}}),
        ['$.properties["a b"]', f"$.properties.{'x' * 65}", "$.properties.$x"],
    ),
    (obj({"a": obj({"b c": {}})}), []),
    (obj({"a": True}), ["$.properties.a"]),
    (obj({"a": {"items": [STRING]}}), ["$.properties.a"]),
    (obj({"a": {"items": {"pattern": "(?i)x"}}}), ["$.properties.a.items"]),
]


@pytest.mark.parametrize(("schema", "paths"), REFUSED)
def test_what_clients_refuse_is_told_with_its_path(schema: Any, paths: list[str]) -> None:
    assert [text.partition(": ")[0] for text in refused_by(schema)] == paths


def test_names_of_properties_stay_since_only_their_author_can_change_them() -> None:
    assert portable(obj({"a b": STRING})) == obj({"a b": STRING})
    assert len(refused_by(portable(obj({"a b": STRING})))) == 1


KEYWORDS = sorted(HELD | NAMED | EVALUATED | {"$schema", "$id", "id", "$anchor", "x"})
TEXTS = [
    "string",
    "object",
    "array",
    "any",
    "#",
    "#/$defs/a",
    "#/anyOf/0",
    "#/allOf/0/properties/a",
    "a",
    "(?i)x",
    DRAFT_7,
]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(TEXTS),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a"]), inner, max_size=5)
    ),
    max_leaves=20,
)


@settings(deadline=None)
@given(JUNK)
def test_whatever_the_schema_the_result_is_portable(schema: Any) -> None:
    before = copy.deepcopy(schema)
    result = portable(schema)
    assert schema == before
    assert (result["type"], type(result["properties"])) == ("object", dict)
    assert not result.keys() & {"allOf", "anyOf", "oneOf", "not", "enum", "const", "$ref", "$schema"}
    assert portable(result) == result
    assert portable_output(result) == portable_output(portable_output(result))
    json.dumps([result, refused_by(schema)])


NAMES = st.sampled_from(["a", "b"])
VALUES = st.recursive(
    st.sampled_from([None, 1, 2, 3, "x", "ax", True]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=6,
)
LEAVES = [
    True,
    False,
    {},
    STRING,
    INTEGER,
    {"pattern": "(?i)x"},
    {"pattern": r"\Aa"},
    {"const": 1},
    {"type": "array"},
    {"type": ["string", "null"], "minLength": 2, "pattern": "^a"},
    {"type": ["integer", "array", "object"], "minimum": 2, "maxItems": 1, "required": ["a"]},
    {"type": ["string", "integer"], "enum": ["x", 2, None]},
    {"$ref": "#/$defs/d"},
    {"$ref": "#/$defs/e"},
]
DEFINITIONS = {
    "d": {"type": ["integer", "array"], "items": {"$ref": "#/$defs/d"}, "maxItems": 2},
    "e": {"allOf": [{"$ref": "#/$defs/f"}, {"maximum": 2}]},
    "f": {"minimum": 2},
}


def grown(inner: st.SearchStrategy[Any], dialect: str | None) -> st.SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=2)
    named = st.dictionaries(NAMES, inner, max_size=2)
    patterns = st.dictionaries(st.sampled_from(["^a", "(?i)b"]), inner, max_size=2)
    objects = {"properties": named, "required": st.lists(NAMES, unique=True), "patternProperties": patterns}
    single = dict.fromkeys(("additionalProperties", "not", "if", "then", "else", "contains"), inner)
    many = dict.fromkeys(("allOf", "anyOf", "oneOf", "items" if dialect else "prefixItems"), several)
    rest = {"maxItems": st.integers(0, 3), "additionalItems" if dialect else "items": inner}
    return st.fixed_dictionaries({}, optional={**objects, **single, **many, **rest})


@pytest.mark.parametrize("dialect", first_and_slow(None, DRAFT_7))
def test_what_fits_the_author_s_schema_fits_the_advertised_one(dialect: str | None) -> None:
    @settings(deadline=None, max_examples=60)
    @given(
        grown(
            st.recursive(st.sampled_from(LEAVES), lambda inner: grown(inner, dialect), max_leaves=8), dialect
        ),
        VALUES,
    )
    def holds(schema: dict[str, Any], value: Any) -> None:
        whole = {"type": "object", "properties": {"x": schema}, "$defs": DEFINITIONS}
        whole |= {"$schema": dialect} if dialect else {}
        assume(check_input_schema(whole) is None and check_value(whole, {"x": value}) == [])
        for advertised in (portable(whole), portable_output(whole)):
            assert check_input_schema(advertised) is None
            assert check_value(advertised, {"x": value}) == []

    holds()
