"""The cheap look at a line sees what a whole reading of it sees, whatever the line."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcppd_shim import scan
from mcppd_shim.scan import Message, key_of, look, value_of

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


def seen(message: Message) -> tuple[Any, Any]:
    method = message.method.decode("utf-8", "surrogatepass")
    return json.loads(message.id) if message.id else None, method


@settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(messages(), SEPARATORS, st.booleans())
def test_a_line_is_seen_as_json_reads_it(
    message: dict[str, Any], separators: tuple[str, str], is_ascii: bool
) -> None:
    text = json.dumps(message, separators=separators, ensure_ascii=is_ascii)
    found = look(text.encode("utf-8", "surrogatepass") + b"\n")
    assert isinstance(found, Message)
    ident, method = seen(found)
    if not method and {"result", "error"} & set(message):
        message.pop("method", None)  # what answers asks for nothing
    if not (method.startswith("notifications/") and ident is None):  # those have no id
        assert (ident, method) == expected(message)


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
