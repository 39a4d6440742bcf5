"""What comes without asking for an answer: notifications, the client's roots, the shim's private words."""

from __future__ import annotations

import gc
import json
from typing import Any

import pytest

from mcppd.core.effects import Close, End, Hello, Roots, Send
from tests.core.conversation import Conversation, call, notification, request

INITIALIZE: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}


@pytest.fixture
def client() -> Conversation:
    return Conversation()


# --- notifications ---


@pytest.mark.parametrize(
    "message",
    [
        notification("nonsense"),
        notification("notifications/nonsense", {"a": 1}),
        notification("notifications/progress", {"progressToken": 1, "progress": 1}),
        notification("notifications/roots/list_changed"),
        notification("ping"),
        notification("shutdown"),
        notification("tools/list"),
        notification("tools/call", {"name": "echo"}),
        notification("initialize", INITIALIZE),
        notification("nonsense", [1]),
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "mcppd:roots:1", "result": {"roots": []}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}},
    ],
)
def test_what_asks_for_nothing_gets_nothing(client: Conversation, message: Any) -> None:
    assert client.send(message) == []
    assert client.session.in_flight == 0


def test_nothing_is_sent_unasked_before_the_client_is_initialized(client: Conversation) -> None:
    assert client.session.list_changed(["tools"]) == []
    client.ask(request(0, "initialize", INITIALIZE))
    assert client.session.list_changed(["tools"]) == []
    client.send(notification("notifications/initialized"))
    (line,) = client.session.list_changed(["tools"])
    assert client.read(line) == notification("notifications/tools/list_changed")


@pytest.mark.parametrize("message", [notification("exit"), notification("exit", [1])])
def test_exit_closes(client: Conversation, message: Any) -> None:
    assert client.send(message) == [Close()]


def test_exit_as_a_request_is_answered_and_closes(client: Conversation) -> None:
    answer, close = client.send(request(1, "exit"))
    assert isinstance(answer, Send)
    assert client.read(answer.data)["result"] == {}
    assert close == Close()


# --- roots ---


def asked_roots(effects: Any) -> str:
    (effect,) = effects
    question = json.loads(effect.data)
    assert question["method"] == "roots/list"
    ident: str = question["id"]
    return ident


@pytest.mark.parametrize(
    ("answer", "uris"),
    [
        (
            {"result": {"roots": [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]}},
            ("file:///a", "file:///b"),
        ),
        ({"result": {"roots": []}}, ()),
        ({"result": {"roots": [1, {}, {"uri": 1}, {"uri": "file:///c"}]}}, ("file:///c",)),
        ({"result": {"roots": "x"}}, ()),
        ({"result": None}, ()),
        ({"error": {"code": -32601, "message": "x"}}, ()),
    ],
)
def test_a_client_with_roots_is_asked_for_them(
    client: Conversation, answer: Any, uris: tuple[str, ...]
) -> None:
    wants = [client.session.wants_roots]
    ident = asked_roots(client.shake_hands("2025-06-18", roots={"listChanged": True}))
    wants.append(client.session.wants_roots)
    assert client.send({"jsonrpc": "2.0", "id": ident, **answer}) == [Roots(uris)]
    wants.append(client.session.wants_roots)
    assert wants == [False, True, False]
    assert client.send({"jsonrpc": "2.0", "id": ident, **answer}) == []


@pytest.mark.parametrize("capabilities", [{}, {"roots": None}, {"roots": True}])
def test_a_client_without_roots_is_not_asked(client: Conversation, capabilities: Any) -> None:
    assert client.shake_hands("2025-06-18", **capabilities) == []
    assert client.send(notification("notifications/roots/list_changed")) == []


def test_changed_roots_are_asked_for_again_and_an_older_answer_no_longer_counts(client: Conversation) -> None:
    first = asked_roots(client.shake_hands("2025-06-18", roots={}))
    second = asked_roots(client.send(notification("notifications/roots/list_changed")))
    assert first != second
    assert client.send({"jsonrpc": "2.0", "id": first, "result": {"roots": [{"uri": "file:///old"}]}}) == []
    new = {"jsonrpc": "2.0", "id": second, "result": {"roots": [{"uri": "file:///new"}]}}
    assert client.send(new) == [Roots(("file:///new",))]


def test_a_second_initialized_asks_nothing_again(client: Conversation) -> None:
    client.shake_hands("2025-06-18", roots={})
    assert client.send(notification("notifications/initialized")) == []


def test_a_new_handshake_forgets_the_roots_of_the_last(client: Conversation) -> None:
    ident = asked_roots(client.shake_hands("2025-06-18", roots={}))
    client.ask(request(5, "initialize", INITIALIZE))
    assert not client.session.wants_roots
    assert client.send({"jsonrpc": "2.0", "id": ident, "result": {"roots": []}}) == []


# --- private words ---

HELLO = notification("mcppd/hello", {"version": 1, "env": {"TOKEN": "very secret"}})


def test_a_hello_counts_as_the_first_line_only(client: Conversation) -> None:
    assert client.send(b"\r") == []
    assert client.send(HELLO) == [Hello(HELLO["params"])]
    assert client.send(HELLO) == []


@pytest.mark.parametrize("first", [request(1, "ping"), notification("x"), b"{", b"[]"], ids=str)
def test_a_hello_after_anything_else_is_ignored(client: Conversation, first: Any) -> None:
    client.send(first)
    assert client.send(HELLO) == []


def test_a_hello_after_an_overlong_line_is_ignored(client: Conversation) -> None:
    client.session.overlong()
    assert client.send(HELLO) == []


def test_nothing_of_a_hello_stays_in_the_session_or_in_a_text(client: Conversation) -> None:
    (hello,) = client.send(HELLO)
    assert "secret" not in repr(hello)
    seen: set[int] = set()
    left: list[Any] = [client.session]
    while left:
        value = left.pop()
        if id(value) not in seen and not isinstance(value, type) and not callable(value):
            seen.add(id(value))
            assert value != "very secret"
            left.extend(gc.get_referents(value))


def test_the_end_may_be_said_at_any_time(client: Conversation) -> None:
    client.open(call(1))
    assert client.send(notification("mcppd/end")) == [End()]
    assert client.session.in_flight == 1


@pytest.mark.parametrize("word", ["mcppd/handover", "mcppd/resend", "mcppd/lists", "mcppd/nonsense"])
def test_other_private_words_are_ignored(client: Conversation, word: str) -> None:
    assert client.send(notification(word, {})) == []
