"""The cheap look at a line sees what a whole reading of it sees, whatever the line."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcppd_shim import scan
from mcppd_shim.scan import key_of, look, value_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
HARD = st.sampled_from(
    ['"', "\\", '","id":5}', '"method":"x"', "}", "]", "{", "\u00e9", "\ud800", "\n", "a/b"]
)
IDS = st.integers() | st.text(max_size=5) | HARD | st.none() | st.booleans() | st.floats(allow_nan=False)
METHODS = st.sampled_from(["tools/call", "ping", "notifications/initialized", "", "\u00e9"]) | HARD | VALUES
NAMES = st.sampled_from(["id", "method", "params", "result", "jsonrpc", "error", "x"]) | HARD
SEPARATORS = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")])


@st.composite
def messages(draw: st.DrawFn) -> dict[str, Any]:
    """Messages, with members of all kinds in any order."""
    members: dict[str, Any] = draw(st.dictionaries(NAMES, VALUES | HARD, max_size=4))
    if draw(st.booleans()):
        members["id"] = draw(IDS)
    if draw(st.booleans()):
        members["method"] = draw(METHODS)
    return dict(draw(st.permutations(list(members.items()))))


def expected(message: dict[str, Any]) -> tuple[Any, Any]:
    ident, method = message.get("id"), message.get("method")
    return (
        ident if type(ident) in (str, int) else None,
        method if isinstance(method, str) else "",
    )


def seen(message: tuple[bytes, bytes]) -> tuple[Any, Any]:
    ident, method = message
    return json.loads(ident) if ident else None, method.decode("utf-8", "surrogatepass")


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages(), SEPARATORS, st.booleans())
def test_a_line_is_seen_as_json_reads_it(
    message: dict[str, Any], separators: tuple[str, str], is_ascii: bool
) -> None:
    text = json.dumps(message, separators=separators, ensure_ascii=is_ascii)
    found = look(text.encode("utf-8", "surrogatepass") + b"\n")
    assert isinstance(found, tuple)
    ident, method = seen(found)
    if not method and {"result", "error"} & set(message):
        message.pop("method", None)  # what answers asks for nothing
    if not (method.startswith("notifications/") and ident is None):  # those have no id
        assert (ident, method) == expected(message)


ORDERS = st.sampled_from(["jsonrpc id method params", "method params jsonrpc id"])
PIECES = st.sampled_from(
    [
        b"",
        b",",
        b"}",
        b'"',
        b"1",
        b"\\",
        b" ",
        b"\r",
        b'"a":1,',
        b"{},",
        b'},"jsonrpc":"2.0","id":7',
        b',"method":"b"',
    ]
)


@st.composite
def usual_lines(draw: st.DrawFn) -> bytes:
    """Lines as most clients write them, some with a piece that stands in for another."""
    members = {"jsonrpc": "2.0", "id": draw(IDS), "method": draw(METHODS), "params": draw(VALUES)}
    members["params"] = draw(st.sampled_from([{}, {"x": members["params"]}, members["params"]]))
    message = {name: members[name] for name in draw(ORDERS).split()}
    line = json.dumps(message, separators=draw(SEPARATORS), ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    at = draw(st.integers(0, len(line)))
    return line[:at] + draw(PIECES) + line[at + draw(st.integers(0, 3)) * draw(st.integers(0, 1)) :] + b"\n"


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; ValueError if it has a member twice, of which one or the other may count."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError("twice")
    return dict(pairs)


@settings(max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(usual_lines())
def test_the_short_way_of_usual_lines_comes_to_the_same_as_the_long_one(line: bytes) -> None:
    try:
        json.loads(line.decode("utf-8", "surrogatepass"), object_pairs_hook=once)
    except ValueError:
        return  # the daemon refuses it, whatever is seen in it
    found = look(line)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "FRONTS", ())
        patch.setattr(scan, "METHOD", b"none")
        walked = look(line)
    assert isinstance(found, tuple)
    assert isinstance(walked, tuple)
    assert seen(found) == seen(walked)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"method":"a","method":"b","params":{},"jsonrpc":"2.0","id":7}\n', (b"7", b"b")),
        (b'{"method":"a","params":{},"jsonrpc":"2.0","x":%b}\n' % (b"1" * 70), (b"", b"a")),
        (b'{"method":"a","params":{},"jsonrpc":"2.0","id":77\n', (b"", b"")),
    ],
    ids=["a member twice", "a long number last", "broken off"],
)
def test_what_only_begins_or_ends_as_usual_goes_the_long_way(
    line: bytes, message: tuple[bytes, bytes]
) -> None:
    assert look(line) == message


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"a":{}}}\n',
        b'{"jsonrpc": "2.0", "id": 12, "method": "tools/call", "params": {"a": {}}}\n',
        b'{"method":"tools/call","params":{"a":{}},"jsonrpc":"2.0","id":12}\n',
    ],
)
def test_usual_lines_go_the_short_way(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_members", None)
    assert look(line) == (b"12", b"tools/call")


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=60) | st.text('{}[]":,\\ idmethod1', max_size=40).map(str.encode))
def test_no_line_is_too_strange_to_be_looked_at(line: bytes) -> None:
    look(line.replace(b"\n", b"") + b"\n")


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"a":{}}}\n',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"a": {}}}\n',
        b'{"method":"tools/call","params":{"a":{}},"jsonrpc":"2.0","id":1}\n',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}\n',
        b'{"method":"notifications/initialized","jsonrpc":"2.0"}\n',
        b'{"jsonrpc":"2.0","id":"mcppd-1:ask:1","result":{"action":"accept"}}\n',
        b'{"result":{"action":"accept"},"jsonrpc":"2.0","id":"mcppd-1:ask:1"}\n',
        b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n',
        b"\r\n",
        b"no JSON at all\n",
    ],
)
def test_what_clients_write_needs_no_decoder(line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "_parsed", None)
    look(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"method":"tools/call","params":{"text":"%b"},"jsonrpc":"2.0","id":1}\n'
        % (b"\\\\\\" * (1 << 22) + b'"'),
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"text":"%b"}}\n' % (b'\\"' * (1 << 23)),
        b'{"id":"%b","method":"ping"}\n' % (b'\\"' * (1 << 18)),
        b'{"a":"%b"\n' % (b"\\" * (1 << 22)),
        b"{" + b" " * (1 << 20) + b"\n",
        b'{"a":' + b"1" * (1 << 20) + b"\n",
    ],
    ids=lambda line: f"{line[:20]!r}, {len(line)} bytes",
)
def test_a_large_line_is_no_large_work(line: bytes) -> None:
    before = time.process_time()
    look(line)
    assert time.process_time() - before < 5  # far more than a linear look takes, far less than any other


def test_a_batch_is_seen_with_all_its_parts() -> None:
    found = look(b' [{"id":1,"method":"ping"},7,{"method":"x"},{"id":"a","result":{}}]\n')
    assert isinstance(found, list)
    assert [seen(each) for each in found] == [(1, "ping"), (None, ""), (None, "x"), ("a", "")]


@settings(deadline=None)
@given(st.text())
def test_an_id_is_the_same_however_it_is_escaped(text: str) -> None:
    forms = {
        json.dumps(text, ensure_ascii=is_ascii).encode("utf-8", "surrogatepass") for is_ascii in (True, False)
    }
    assert len({key_of(form) for form in forms}) == 1


def test_a_value_is_found_by_its_name() -> None:
    line = b'{"params" : {"reason":"\\"requestId\\": 3", "requestId" : "a\\"b" }}\n'
    assert value_of(line, b'"requestId"') == b'"a\\"b"'
    assert value_of(line, b'"other"') == b""
    assert value_of(b'{"requestId"}\n', b'"requestId"') == b""
