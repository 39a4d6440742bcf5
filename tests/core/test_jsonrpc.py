"""Any bytes become a message or an answer that says why not; ids and values come back as they were."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcppd.core.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from mcppd.core.jsonrpc import (
    MAX_BATCH,
    MAX_VALUES,
    Invalid,
    Notification,
    Request,
    Response,
    decode,
    encode_error,
    encode_id,
    encode_notification,
    encode_request,
    encode_result,
    encode_value,
)
from tests.harness import first_and_slow

steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Not judged by time: a fresh checkout first builds its Unicode tables, for seconds."""

NUMBERS = [
    0,
    -1,
    2**53 + 1,
    2**64 - 1,
    2**64,
    -(2**63),
    -(2**63) - 1,
    int("123456789012345678901234567890"),
    -(10**40),
]


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


def refusal(value: object) -> tuple[Any, int]:
    assert isinstance(value, Invalid)
    return value.id, value.code


# --- messages ---


def test_the_four_kinds_of_messages_are_told_apart() -> None:
    assert decode(line(id=1, method="m", params={"a": 1})) == Request(1, "m", {"a": 1})
    assert decode(line(method="m", params={"a": 1})) == Notification("m", {"a": 1})
    assert decode(line(id="x", result={"a": 1})) == Response("x", {"a": 1}, None)
    assert decode(line(id="x", error={"code": 1})) == Response("x", None, {"code": 1})
    assert decode(line(id=None, error={"code": 1})) == Response(None, None, {"code": 1})
    assert decode(line(id=True, result={})) == Response(None, {}, None)
    assert decode(line(id=1, method="m", result={})) == Request(1, "m", {})
    assert decode(line(method="m", error={})) == Notification("m", {})


@pytest.mark.parametrize("noise", [b"", b"\r", b"  \t\r", b"\xef\xbb\xbf", b"\xef\xbb\xbf\r"])
def test_a_line_without_anything_is_no_message(noise: bytes) -> None:
    assert decode(noise) is None


@pytest.mark.parametrize(("before", "after"), [(b"\xef\xbb\xbf", b""), (b"", b"\r"), (b" \t", b" \r")])
def test_a_byte_order_mark_and_a_carriage_return_are_ignored(before: bytes, after: bytes) -> None:
    assert decode(before + line(id=1, method="m") + after) == Request(1, "m", {})


@pytest.mark.parametrize("ident", [1, "1", "", "a b", "ü", *NUMBERS], ids=repr)
def test_an_id_is_read_as_it_is(ident: Any) -> None:
    found = decode(line(id=ident, method="m"))
    assert isinstance(found, Request)
    assert (type(found.id), found.id) == (type(ident), ident)


@pytest.mark.parametrize("ident", ["null", "true", "false", "1.0", "1e2", "[1]", '{"a":1}'])
def test_an_id_of_another_type_is_refused_without_an_id(ident: str) -> None:
    assert refusal(decode(b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % ident.encode())) == (
        None,
        INVALID_REQUEST,
    )


@pytest.mark.parametrize(
    "members",
    [
        {"jsonrpc": "1.0", "method": "m"},
        {"jsonrpc": 2.0, "method": "m"},
        {"jsonrpc": None, "method": "m"},
        {},
        {"method": 1},
        {"method": None},
        {"method": "m", "params": "text"},
        {"method": "m", "params": 1},
        {"method": "m", "params": False},
    ],
)
def test_what_is_no_request_is_refused_with_its_id(members: dict[str, Any]) -> None:
    assert refusal(decode(line(**{"id": "i", **members}))) == ("i", INVALID_REQUEST)


def test_a_request_without_the_jsonrpc_member_is_refused_with_its_id() -> None:
    assert refusal(decode(b'{"id":5,"method":"m"}')) == (5, INVALID_REQUEST)
    assert refusal(decode(b'{"method":"m"}')) == (None, INVALID_REQUEST)


def test_params_that_are_an_array_are_no_params_of_mcp() -> None:
    assert refusal(decode(line(id=1, method="m", params=[1]))) == (1, INVALID_PARAMS)


def test_params_that_are_null_are_none() -> None:
    assert decode(line(id=1, method="m", params=None)) == Request(1, "m", {})


@pytest.mark.parametrize("params", [None, [1], "x", 1])
def test_a_notification_with_wrong_params_stays_one_since_it_is_never_answered(params: Any) -> None:
    assert decode(line(method="m", params=params)) == Notification("m", {})


@pytest.mark.parametrize("text", [b"1", b'"x"', b"null", b"true", b"1.5"])
def test_a_value_that_is_no_object_is_refused(text: bytes) -> None:
    assert refusal(decode(text)) == (None, INVALID_REQUEST)


@pytest.mark.parametrize(
    "text",
    [
        b"{",
        b'{"jsonrpc":"2.0","id":1',
        b"[1,]",
        b"nothing",
        b"NaN",
        b"[Infinity]",
        b"\x00",
        b'{"a":"\xff"}',
        b'"\xed\xa0\xbd"',
    ],
)
def test_what_is_no_json_is_a_parse_error(text: bytes) -> None:
    assert refusal(decode(text)) == (None, PARSE_ERROR)


def test_a_batch_is_a_tuple_of_its_messages() -> None:
    text = b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"b"},1,[]]'
    first, second, *others = decode(text) or ()  # type: ignore[misc]
    assert (first, second) == (Request(1, "a", {}), Notification("b", {}))
    assert [refusal(other) for other in others] == [(None, INVALID_REQUEST)] * 2
    assert decode(b"[]") == ()


def test_a_batch_may_be_large_but_not_without_end() -> None:
    largest = decode(b"[" + b",".join([b"1"] * MAX_BATCH) + b"]")
    assert isinstance(largest, tuple)
    assert len(largest) == MAX_BATCH
    assert refusal(decode(b"[" + b",".join([b"1"] * (MAX_BATCH + 1)) + b"]")) == (None, INVALID_REQUEST)


# --- values that one decoder alone can't read ---


def test_a_lone_surrogate_in_a_value_is_read() -> None:
    found = decode(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"\\ud83d"}}')
    assert found == Request(1, "m", {"a": "\ud83d"})


@pytest.mark.parametrize("number", NUMBERS)
def test_an_integer_of_any_size_is_that_integer(number: int) -> None:
    found = decode(line(id=1, method="m", params={"a": number}))
    assert isinstance(found, Request)
    assert (type(found.params["a"]), found.params["a"]) == (int, number)


def test_digits_in_a_string_or_a_fraction_change_nothing() -> None:
    params = {"a": "1" * 40, "b": 0.1234567890123456789}
    assert decode(line(id=1, method="m", params=params)) == Request(1, "m", params)


@pytest.mark.parametrize("where", ["before", "after"])
@pytest.mark.parametrize(
    "value", ["[" * 3000 + "]" * 3000, "1e400", "9" * 5000], ids=["deep", "float", "integer"]
)
def test_a_request_with_a_value_that_cannot_be_read_is_answered_by_its_id(value: str, where: str) -> None:
    text = '"method":"id","params":{"id":2,"x":["id",' + value + "]}"
    text = f'"id":"i\\"1",{text}' if where == "before" else f'{text},"id" : "i\\"1"'
    assert refusal(decode(b'{"jsonrpc":"2.0",%b}' % text.encode())) == ('i"1', PARSE_ERROR)


@pytest.mark.parametrize("ident", ["1.5", "1e3", "9" * 4500, "null", '"\\q"'])
def test_an_id_that_is_none_is_not_guessed(ident: str) -> None:
    text = b'{"jsonrpc":"2.0","method":"m","params":{"x":1e400},"id":%b}' % ident.encode()
    assert refusal(decode(text)) == (None, PARSE_ERROR)


def test_a_line_of_nothing_but_nesting_is_refused() -> None:
    assert refusal(decode(b"[" * (1 << 20))) == (None, PARSE_ERROR)
    assert refusal(decode(b'{"a":' * (1 << 18))) == (None, PARSE_ERROR)


@steady
@given(st.binary(max_size=300))
def test_decoding_never_raises_on_any_bytes(data: bytes) -> None:
    decode(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
names = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"])


@steady
@given(st.dictionaries(names, json_values | st.just("2.0")), st.integers(min_value=0), st.binary(max_size=3))
def test_decoding_never_raises_on_what_resembles_a_message(value: Any, at: int, noise: bytes) -> None:
    data = json.dumps(value).encode()
    decode(data)
    at %= len(data)
    decode(data[:at] + noise + data[at + 1 :])


@steady
@given(json_values)
def test_params_come_out_as_any_json_decoder_has_them(value: Any) -> None:
    data = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"v": value}}).encode()
    assert decode(data) == Request(1, "m", {"v": json.loads(json.dumps(value))})


# --- answers ---

ids = st.integers() | st.text(st.characters(exclude_categories=[]))


@steady
@given(ids)
def test_an_id_comes_back_as_it_was(ident: int | str) -> None:
    sent = json.dumps({"jsonrpc": "2.0", "id": ident, "method": "m"}).encode()
    request = decode(sent)
    assert isinstance(request, Request)
    for answer in (encode_result(request.id, b"{}"), encode_error(request.id, 1, "text")):
        assert answer.startswith(b'{"jsonrpc":"2.0","id":')
        assert b"\n" not in answer
        back = json.loads(answer)["id"]
        assert (type(back), back) == (type(ident), ident)


def test_a_lone_surrogate_in_an_id_comes_back_escaped() -> None:
    assert encode_id("\ud83d") == b'"\\ud83d"'


def test_an_error_without_an_id_says_null() -> None:
    error = json.loads(encode_error(None, -32700, "text", {"a": 1}))
    assert error == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "text", "data": {"a": 1}},
    }


def test_requests_and_notifications_of_ours_are_what_they_say() -> None:
    assert decode(encode_request("r", "roots/list")) == Request("r", "roots/list", {})
    assert decode(encode_notification("n")) == Notification("n", {})
    assert decode(encode_notification("n", b'{"a":1}')) == Notification("n", {"a": 1})


@steady
@given(json_values)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    text = encode_value(value)
    assert b"\n" not in text
    assert json.loads(text) == value


def test_values_that_have_no_json_are_made_ones_that_have() -> None:
    value = {"a": "\ud83d", "b": [float("nan"), float("inf"), 10**30], "c\udc00": (1,)}
    assert orjson.loads(encode_value(value)) == {"a": "?", "b": [None, None, 1e30], "c?": [1]}


def test_a_value_too_deep_for_one_encoder_is_left_to_the_other() -> None:
    value: Any = 1
    for _ in range(300):
        value = [value]
    assert encode_value(value) == b"[" * 300 + b"1" + b"]" * 300


@pytest.mark.parametrize("value", first_and_slow(b"{}", b"[]", b"0", b'""', b'{"a":1}'))
def test_more_values_than_anybody_sends_are_refused_unread_by_their_id(value: bytes) -> None:
    many = b",".join([value] * (MAX_VALUES + 1))
    assert refusal(decode(b"[" + many + b"]")) == (None, PARSE_ERROR)
    line = b'{"jsonrpc":"2.0","id":"a","method":"m","params":{"id":2,"a":[' + many + b"]}}"
    assert refusal(decode(line)) == ("a", PARSE_ERROR)


def test_a_long_text_may_hold_what_looks_like_values() -> None:
    text = '{[,\\"' * MAX_VALUES
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "m", "params": {"text": text}}).encode()
    message = decode(line)
    assert isinstance(message, Request)
    assert message.params == {"text": text}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("number", [b"1e999", b"1" * 5000])
def test_an_id_is_looked_for_once_in_a_text_without_end(number: bytes) -> None:
    line = b'{"x":' + number + b',"y":"' + b'\\"' * 1_000_000
    assert isinstance(decode(line), Invalid)
    assert refusal(decode(b'{"id":7,' + line[1:])) == (7, PARSE_ERROR)
