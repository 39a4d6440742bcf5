from __future__ import annotations

import copy
import gc
import json
import socket
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcppd.core import arguments as core
from mcppd.core.arguments import accept, check_value

ANY = ["null", "boolean", "integer", "number", "array", "object"]
BIG = "123456789012345678901234567890"
CAT = {
    "type": "object",
    "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}, "note": {"type": "integer"}},
    "required": ["kind"],
}
DOG = {
    "type": "object",
    "properties": {
        "kind": {"const": "dog"},
        "age": {"type": "integer"},
        "note": {"type": "string"},
        "walks": {"type": "array", "items": {"type": "integer"}},
    },
    "required": ["kind"],
}


def taken(schema: Any, value: Any) -> tuple[Any, list[str]]:
    """What one argument `x` becomes, and its faults."""
    arguments = {"x": value}
    before = copy.deepcopy(arguments)
    accepted, faults = accept({"properties": {"x": schema}}, arguments)
    assert arguments == before
    assert accepted is not arguments
    return accepted["x"], faults


CONVERTED: list[tuple[Any, str, Any]] = [
    ("integer", "5", 5),
    ("integer", "-5", -5),
    ("integer", "0", 0),
    ("integer", BIG, int(BIG)),
    ("number", "5", 5),
    ("number", "0.1", 0.1),
    ("number", "-2.50", -2.5),
    ("number", "1e3", 1000.0),
    ("number", "1E-2", 0.01),
    ("boolean", "true", True),
    ("boolean", "false", False),
    ("null", "null", None),
    ("array", "[1]", [1]),
    ("array", "[]", []),
    ("array", ' [1,\n "\\ud83d"] ', [1, "\ud83d"]),
    ("array", f"[{BIG}]", [int(BIG)]),
    ("object", "{}", {}),
    ("object", '{"a": [true, null]}', {"a": [True, None]}),
    (["integer", "null"], "null", None),
    (["integer", "null"], "7", 7),
    (ANY, "1.5", 1.5),
    (ANY, "{}", {}),
]


@pytest.mark.parametrize(("types", "text", "value"), CONVERTED)
def test_text_becomes_the_type_that_the_schema_asks_for(types: Any, text: str, value: Any) -> None:
    converted, faults = taken({"type": types}, text)
    assert faults == []
    assert (converted, type(converted)) == (value, type(value))


LOSSY = [
    "0.12345678901234567890123",
    "1e400",
    "1e-400",
    "-1e-99999999999999999999",
    "[0.12345678901234567890123]",
]
NOT_JSON = [
    "NaN",
    "Infinity",
    "[NaN]",
    "[1",
    "[" * 10_000,
    '{"a": 1, "a": 2}',
    "{'a': 1}",
    "True",
    "None",
    "٣",
]
ODD = [" 7 ", "7 ", "0x1", "007", "1_000", "+5", "--5", ".5", "5.", "", "1" * 5_000]


@pytest.mark.parametrize("text", [*LOSSY, *NOT_JSON, *ODD])
def test_text_that_is_no_json_or_would_lose_something_stays_and_is_refused(text: str) -> None:
    assert taken({"type": ANY}, text)[0] == text
    assert len(taken({"type": ANY}, text)[1]) == 1


@pytest.mark.parametrize("text", ["1e3", "5.0", "1.5", "true", "[5]"])
def test_only_an_integer_becomes_an_integer(text: str) -> None:
    assert taken({"type": "integer"}, text)[0] == text


@pytest.mark.parametrize("text", ["5", "true", "null", "[1]", "{}", "1e3", " 7 ", "0x1", "007"])
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"type": ["integer", "boolean", "null", "array", "object", "string"]},
        {"anyOf": [{"type": "integer"}, {"type": "object"}, {"type": "string"}]},
        {"enum": [5, True, None, "5", "true", "null", "[1]", "{}", "1e3", " 7 ", "0x1", "007"]},
        {},
    ],
)
def test_text_stays_text_where_the_schema_allows_it(schema: Any, text: str) -> None:
    assert taken(schema, text) == (text, [])


INSIDE: list[tuple[Any, Any, Any]] = [
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
    ({"oneOf": [{"type": "boolean"}, {"type": "array"}]}, "[1]", [1]),
    ({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}, "5", 5),
    ({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "integer"}]}, "500", 500),
    ({"allOf": [{"minimum": 1}, {"type": "integer"}]}, "5", 5),
    ({"if": {"const": "x"}, "else": {"type": "integer"}}, "5", 5),
    ({"enum": [1, 2.5, None]}, "2.5", 2.5),
    ({"const": True}, "true", True),
    ({"items": {"type": "integer"}}, ["1", 2, "3"], [1, 2, 3]),
    ({"type": "array", "items": {"type": "integer"}}, '["1", 2]', [1, 2]),
    (
        {"additionalProperties": {"type": "array", "items": {"type": "boolean"}}},
        {"a": '["true"]'},
        {"a": [True]},
    ),
    ({"items": {"anyOf": [{"type": "integer"}, {"type": "null"}]}}, ["1", "null"] * 500, [1, None] * 500),
    ({"oneOf": [CAT, DOG]}, {"kind": "dog", "note": "5", "age": "7"}, {"kind": "dog", "note": "5", "age": 7}),
    (
        {"oneOf": [CAT, DOG]},
        {"kind": "dog", "note": "5", "walks": '["1"]'},
        {"kind": "dog", "note": "5", "walks": [1]},
    ),
    ({"anyOf": [CAT, DOG]}, '{"kind": "cat", "note": "5"}', {"kind": "cat", "note": 5}),
    (
        {"anyOf": [{"items": {"anyOf": [CAT, DOG]}, "type": "array"}]},
        [{"kind": "cat", "lives": "9"}] * 5,
        [{"kind": "cat", "lives": 9}] * 5,
    ),
    (
        {
            "anyOf": [
                {"type": "null"},
                {"anyOf": [{"type": "object", "required": ["a"], "properties": {"a": CAT}}]},
            ]
        },
        {"a": {"kind": "cat", "lives": "9"}},
        {"a": {"kind": "cat", "lives": 9}},
    ),
]


@pytest.mark.parametrize(("schema", "value", "expected"), INSIDE)
def test_conversion_reaches_into_alternatives_and_containers(schema: Any, value: Any, expected: Any) -> None:
    assert taken(schema, value) == (expected, [])


def test_conversion_reaches_through_references() -> None:
    node = {"properties": {"v": {"type": "integer"}, "c": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}
    schema = {"$defs": {"n": node}, "$ref": "#/$defs/n"}
    assert accept(schema, {"v": "1", "c": '[{"v": "2", "c": [{"v": "3"}]}]'}) == (
        {"v": 1, "c": [{"v": 2, "c": [{"v": 3}]}]},
        [],
    )


def test_a_whole_float_is_an_integer_already() -> None:
    value, faults = taken({"type": "integer"}, 5.0)
    assert (type(value), faults) == (float, [])


def test_only_text_is_converted() -> None:
    for types, value in (("string", 5), ("boolean", 1), ("integer", True), ("array", {"a": 1})):
        assert taken({"type": types}, value)[0] == value
        assert len(taken({"type": types}, value)[1]) == 1


def test_what_is_not_converted_is_shared_and_what_is_converted_is_a_copy() -> None:
    arguments = {"same": [1], "other": {"n": "5", "same": [2]}}
    accepted, _ = accept({"properties": {"other": {"properties": {"n": {"type": "integer"}}}}}, arguments)
    assert accepted["same"] is arguments["same"]
    assert accepted["other"] == {"n": 5, "same": [2]}
    assert arguments["other"] == {"n": "5", "same": [2]}


def test_the_result_can_be_changed_without_harm() -> None:
    arguments = {"a": 1}
    accepted, _ = accept({}, arguments)
    accepted.pop("a")
    assert arguments == {"a": 1}


def test_every_fault_is_told_with_its_path() -> None:
    item = {"properties": {"b": {"type": "integer"}}, "required": ["c"], "additionalProperties": False}
    schema = {"properties": {"a": {"items": item}, "n": {"maximum": 3}}, "required": ["z"]}
    _, faults = accept(schema, {"a": [{"b": "x"}], "n": 4})
    assert sorted(fault.partition(": ")[0] for fault in faults) == ["$", "$.a[0]", "$.a[0].b", "$.n"]


def test_the_fault_of_an_alternative_is_that_of_the_nearest_form() -> None:
    _, faults = taken({"oneOf": [CAT, DOG]}, {"kind": "dog", "age": "x", "note": 5})
    assert sorted(fault.partition(": ")[0] for fault in faults) == ["$.x.age", "$.x.note"]


def test_alternatives_that_are_all_types_are_told_as_one() -> None:
    _, faults = taken({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x")
    assert len(faults) == 1
    assert all(name in faults[0] for name in ("integer", "null"))


def test_faults_have_a_limit_and_say_how_many_are_left_out() -> None:
    _, faults = taken({"items": {"type": "integer"}}, ["x"] * 50)
    assert len(faults) == core.MAX_FAULTS + 1
    assert str(50 - core.MAX_FAULTS) in faults[-1]
    _, faults = taken({"items": {"type": "integer"}}, ["x"] * core.MAX_FAULTS)
    assert len(faults) == core.MAX_FAULTS


HUGE = "x" * 10**6
SHORT: list[tuple[Any, Any]] = [
    ({"type": "integer"}, HUGE),
    ({"maxLength": 3}, HUGE),
    ({"maxItems": 3}, [HUGE] * 10),
    ({"additionalProperties": False}, {HUGE: 1, "b": HUGE}),
    ({"additionalProperties": False}, {f"p{number}": 1 for number in range(10_000)}),
    ({"required": [f"p{number}" for number in range(3_000)]}, {}),
    ({"additionalProperties": {"type": "integer"}}, {HUGE: "x"}),
    ({"enum": [HUGE, *range(10_000)]}, "x"),
    ({"anyOf": [{"const": HUGE}, {"enum": [HUGE]}]}, {"a": HUGE}),
    ({"not": {}}, [[[HUGE]]]),
    (False, HUGE),
    ({"dependentRequired": {"a": [HUGE]}}, {"a": 1}),
    ({"contains": {"type": "string"}}, [10**4_000] * 10),
]


@pytest.mark.parametrize(("schema", "value"), SHORT)
def test_a_fault_is_short_and_can_be_sent_however_big_the_value(schema: Any, value: Any) -> None:
    _, faults = taken(schema, value)
    assert faults
    assert all(len(fault) < 1_000 and "\n" not in fault for fault in faults)
    json.dumps(faults).encode()


def test_a_lone_surrogate_is_a_value_like_any_other() -> None:
    assert taken({"type": "string", "maxLength": 1}, "\ud83d") == ("\ud83d", [])
    _, faults = accept({"additionalProperties": {"type": "integer"}}, {"\ud83d": "\ud83d"})
    assert len(faults) == 1
    faults[0].encode()


def test_big_integers_are_checked_exactly() -> None:
    assert taken({"type": "integer", "minimum": int(BIG)}, int(BIG)) == (int(BIG), [])
    assert taken({"type": "integer", "exclusiveMinimum": int(BIG)}, BIG)[1] != []


def test_nesting_that_is_too_deep_is_a_fault() -> None:
    deep: dict[str, Any] = {}
    other: dict[str, Any] = {}
    for _ in range(20_000):
        deep, other = {"a": deep}, {"a": other}
    for schema in (
        {"properties": {"a": {"$ref": "#"}}},
        {"const": {"a": other}},
        {"type": "array"},
        {"type": "strin"},
    ):
        _, faults = accept(schema, {"a": deep})
        assert len(faults) == 1
        assert check_value(schema, deep)


BROKEN: list[Any] = [
    {"type": "strin"},
    {"$ref": "#/$defs/gone"},
    {"$ref": "#"},
    {"$schema": "http://e.org/mine"},
    {"properties": {"x": {"pattern": "(("}}},
    {"properties": []},
    {"required": 5},
    {"properties": {"x": {"minimum": "a"}}},
    {"properties": {"x": {"multipleOf": 0}}},
    5,
]


@pytest.mark.parametrize("schema", BROKEN)
def test_a_schema_that_can_not_be_applied_is_a_fault(schema: Any) -> None:
    arguments = {"x": 1} if schema != BROKEN[4] else {"x": "a"}
    accepted, faults = accept(schema, arguments)
    assert (accepted, len(faults)) == (arguments, 1)
    assert len(check_value(schema, arguments)) == 1


def test_nothing_is_fetched_for_a_reference() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        fetching = threading.Thread(target=accept, args=({"$ref": f"http://127.0.0.1:{port}/x.json"}, {}))
        fetching.daemon = True  # waits for an answer if it does connect
        fetching.start()
        fetching.join(timeout=10)
        with pytest.raises(BlockingIOError):
            server.accept()
    assert len(accept({"$ref": "http://127.0.0.1:9/x.json"}, {})[1]) == 1


@pytest.mark.parametrize("schema", [None, {}, True, {"properties": None, "required": None, "x": None}])
def test_no_schema_and_keywords_that_are_null_ask_for_nothing(schema: Any) -> None:
    assert accept(schema, {"a": 1}) == ({"a": 1}, [])


def test_each_dialect_is_obeyed() -> None:
    tuples = {"items": [{"type": "integer"}], "exclusiveMinimum": True, "minimum": 1}
    schema = {"$schema": "http://json-schema.org/draft-04/schema#", "additionalProperties": tuples}
    assert accept(schema, {"a": ["5"]}) == ({"a": [5]}, [])
    assert len(accept(schema, {"a": 1})[1]) == 1
    old = {"$schema": "http://json-schema.org/draft-03/schema#", "properties": {"a": {"required": True}}}
    assert len(accept(old, {})[1]) == 1


def test_a_value_is_checked_as_it_is() -> None:
    assert check_value({"type": "array", "items": {"type": "integer"}}, [1, 2]) == []
    assert [fault.partition(": ")[0] for fault in check_value({"items": {"type": "integer"}}, [1, "2"])] == [
        "$[1]"
    ]


def test_validators_are_kept_for_the_schemas_that_they_are_for() -> None:
    for number in range(3 * core.MAX_VALIDATORS):
        assert accept({"properties": {"x": {"const": number}}}, {"x": number})[1] == []
        gc.collect(0)
    assert len(core._validators) <= core.MAX_VALIDATORS
    schema = {"type": "object"}
    assert core._validator(schema) is core._validator(schema)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["5", "[1]", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=3),
    max_leaves=10,
)
LEAVES: list[Any] = [
    True,
    False,
    *({"type": name} for name in [*ANY, "string"]),
    {"enum": [1, "5"]},
    {"const": [1]},
]
SCHEMAS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: (
        st.fixed_dictionaries(
            {}, optional={"properties": st.dictionaries(st.sampled_from("ab"), inner), "items": inner}
        )
        | st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)})
        | st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)})
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(SCHEMAS, VALUES)
def test_what_is_accepted_fits_and_what_fits_is_left_alone(schema: Any, value: Any) -> None:
    whole = {"properties": {"x": schema}}
    fits = check_value(whole, {"x": value}) == []
    accepted, faults = accept(whole, {"x": value})
    assert (faults == []) == (check_value(whole, accepted) == [])
    if fits:
        assert accepted["x"] is value
