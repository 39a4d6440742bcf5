"""The handshake and the requests of a legacy client, and what in any era can't be served."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.effects import CallTool, ClientInfo, List, Send, ServerInfo
from mcppd.core.eras import LEGACY, NEWEST_LEGACY, capabilities
from mcppd.core.errors import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from mcppd.core.framing import MAX_LINE
from tests.core.conversation import Conversation, call, request

INITIALIZE: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}
IDS = [1, 0, -1, "1", "", "a b", 2**53 + 1, 10**30, "\ud83d"]


@pytest.fixture
def client() -> Conversation:
    return Conversation()


# --- handshake ---


@pytest.mark.parametrize("revision", LEGACY)
def test_a_handshake_settles_the_revision(client: Conversation, revision: str) -> None:
    params = {**INITIALIZE, "protocolVersion": revision, "clientInfo": {"name": "codex", "version": "9"}}
    result = client.ask(request(0, "initialize", params))["result"]
    assert result["protocolVersion"] == revision
    assert result["capabilities"] == capabilities(revision)
    assert result["instructions"] == "Call help first."
    assert ("title" in result["serverInfo"]) is (revision >= "2025-06-18")
    assert client.session.client == ClientInfo("codex", "9")
    assert client.open(call(1)).revision == revision
    assert client.open(call(2)).client == ClientInfo("codex", "9")


@pytest.mark.parametrize("asked", ["2026-07-28", "2030-01-01", "1.0", "", 20251125])
def test_a_version_that_a_handshake_cannot_settle_is_answered_with_the_newest_that_it_can(
    client: Conversation, asked: Any
) -> None:
    params = {**INITIALIZE, "protocolVersion": asked}
    assert client.ask(request(0, "initialize", params))["result"]["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize(
    "params",
    [None, {}, {"protocolVersion": None}, {"protocolVersion": True}, {"protocolVersion": ["2025-11-25"]}],
)
def test_a_handshake_without_a_version_is_refused(client: Conversation, params: Any) -> None:
    assert client.refused(request(0, "initialize", params)) == (0, INVALID_PARAMS)
    assert client.session.revision == NEWEST_LEGACY


@pytest.mark.parametrize("info", [None, 1, {}, {"name": 1}, {"version": "1"}])
def test_a_client_without_a_name_is_served_all_the_same(client: Conversation, info: Any) -> None:
    answer = client.ask(request(0, "initialize", {"protocolVersion": "2025-06-18", "clientInfo": info}))
    assert "result" in answer
    assert client.session.client is None


def test_a_server_without_instructions_sends_none() -> None:
    client = Conversation(ServerInfo("mcppd", "1"))
    result = client.ask(request(0, "initialize", INITIALIZE))["result"]
    assert "instructions" not in result
    assert result["serverInfo"] == {"name": "mcppd", "version": "1"}


def test_a_handshake_may_come_again_at_any_time(client: Conversation) -> None:
    client.shake_hands("2024-11-05")
    ticket = client.open(call(1))
    client.ask(request(2, "initialize", INITIALIZE))
    assert client.session.initialized is False
    assert client.session.list_changed(["tools"]) == []
    assert client.open(call(3)).revision == "2025-11-25"
    assert ticket.revision == "2024-11-05"
    assert client.finish(ticket)["id"] == 1


def test_requests_before_any_handshake_are_answered_in_the_newest_legacy_revision(
    client: Conversation,
) -> None:
    assert client.open(request(1, "tools/list")).revision == NEWEST_LEGACY
    assert client.open(call(2)).revision == NEWEST_LEGACY
    assert client.ask(request(3, "ping"))["result"] == {}


# --- requests ---


@pytest.mark.parametrize("method", ["ping", "shutdown"])
def test_an_empty_question_has_an_empty_answer_even_while_a_call_runs(
    client: Conversation, method: str
) -> None:
    client.open(call(1))
    assert client.ask(request(2, method))["result"] == {}


@pytest.mark.parametrize("ident", IDS, ids=repr)
def test_an_id_comes_back_as_it_was(client: Conversation, ident: Any) -> None:
    answers = [client.ask(request(ident, "ping")), client.ask(request(ident, "nonsense"))]
    answers.append(client.finish(client.open(call(ident))))
    assert all((type(answer["id"]), answer["id"]) == (type(ident), ident) for answer in answers)


def test_ids_that_look_alike_are_two(client: Conversation) -> None:
    text, number = client.open(call("1")), client.open(call(1))
    assert client.finish(number)["id"] == 1
    assert client.finish(text)["id"] == "1"


def test_an_id_that_is_still_open_is_refused_and_harms_no_one(client: Conversation) -> None:
    ticket = client.open(call(1))
    assert client.refused(call(1)) == (1, INVALID_REQUEST)
    assert client.refused(request(1, "ping")) == (1, INVALID_REQUEST)
    assert client.finish(ticket)["id"] == 1
    assert client.ask(request(1, "ping"))["result"] == {}


@pytest.mark.parametrize(
    "method",
    [
        "nonsense",
        "tasks/list",
        "prompts/set",
        "server/discover ",
        "notifications/initialized",
        "mcppd/hello",
        "",
        "x" * 5000,
    ],
    ids=lambda method: method[:30],
)
def test_a_method_that_is_not_served_is_told_so(client: Conversation, method: str) -> None:
    answer = client.ask(request(1, method))
    assert answer["error"]["code"] == METHOD_NOT_FOUND
    assert answer["error"]["data"] == {"method": method[:200]}
    assert not client.session.initialized


def test_a_method_of_nonsense_bytes_is_answered_with_what_every_client_can_read(client: Conversation) -> None:
    (effect,) = client.send(request(1, "\ud83d"))
    assert isinstance(effect, Send)
    assert b"\\ud83d" not in effect.data


@pytest.mark.parametrize(
    ("params", "arguments"),
    [({}, {}), ({"arguments": None}, {}), ({"arguments": {}}, {}), ({"arguments": {"a": [1]}}, {"a": [1]})],
)
def test_a_call_has_its_arguments(client: Conversation, params: dict[str, Any], arguments: Any) -> None:
    (effect,) = client.send(call(1, "echo", **params))
    assert isinstance(effect, CallTool)
    assert (effect.name, effect.arguments) == ("echo", arguments)
    assert (effect.ticket.id, effect.ticket.method, effect.ticket.progress_token) == (1, "tools/call", None)


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"name": None},
        {"name": 1},
        [],
        ["echo"],
        *({"name": "x", "arguments": a} for a in ([], [1], "{}", 1, False)),
    ],
    ids=repr,
)
def test_a_call_that_is_none_is_refused(client: Conversation, params: Any) -> None:
    assert client.refused(request(1, "tools/call", params)) == (1, INVALID_PARAMS)
    assert client.session.in_flight == 0


@pytest.mark.parametrize("meta", [1, [], "x", True])
def test_a_meta_that_is_no_object_is_refused(client: Conversation, meta: Any) -> None:
    assert client.refused(call(1, _meta=meta)) == (1, INVALID_PARAMS)


@pytest.mark.parametrize(
    ("params", "cursor"),
    [(None, None), ({}, None), ({"cursor": None}, None), ({"cursor": ""}, ""), ({"cursor": "c"}, "c")],
)
def test_a_list_has_its_cursor(client: Conversation, params: Any, cursor: str | None) -> None:
    (effect,) = client.send(request(1, "tools/list", params))
    assert isinstance(effect, List)
    assert effect.cursor == cursor


@pytest.mark.parametrize("cursor", [1, [], {}, False])
def test_a_cursor_that_is_none_is_refused(client: Conversation, cursor: Any) -> None:
    assert client.refused(request(1, "tools/list", {"cursor": cursor})) == (1, INVALID_PARAMS)


# --- what can't be read ---


@pytest.mark.parametrize(
    ("line", "ident", "code"),
    [
        (b"{", None, PARSE_ERROR),
        (b'{"id":1,"method":"ping"}', 1, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 1, INVALID_PARAMS),
        (b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"a":1e999}}', 2, PARSE_ERROR),
        (b"[]", None, INVALID_REQUEST),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID_REQUEST),
        (b"17", None, INVALID_REQUEST),
    ],
)
def test_what_cannot_be_served_is_answered(client: Conversation, line: bytes, ident: Any, code: int) -> None:
    assert client.refused(line) == (ident, code)


def test_a_line_over_the_limit_is_answered_with_the_limit(client: Conversation) -> None:
    for limit, effects in ((MAX_LINE, client.session.overlong()), (7, client.session.overlong(7))):
        (effect,) = effects
        assert isinstance(effect, Send)
        answer = client.read(effect.data)
        assert (answer["id"], answer["error"]["code"]) == (None, PARSE_ERROR)
        assert str(limit) in answer["error"]["message"]


@pytest.mark.parametrize("line", [b"", b"\r", b"\xef\xbb\xbf", b"   "])
def test_blank_lines_are_nothing(client: Conversation, line: bytes) -> None:
    assert client.send(line) == []
