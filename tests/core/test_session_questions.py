"""Questions of calls to a legacy client: each answered at most once, and by nobody but to this run of the daemon."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.core.effects import CallTool, Replied, Roots, Ticket
from mcppd.core.errors import ToolError
from mcppd.core.session import Session
from tests.core.conversation import SERVER, Conversation, call, notification, request

PARAMS = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {}}}


@pytest.fixture
def client() -> Conversation:
    client = Conversation()
    client.shake_hands("2025-11-25", elicitation={})
    return client


def asked(client: Conversation, ticket: Ticket) -> str:
    """Ask for a ticket; the id of the question, which is that of the request."""
    question, line = client.session.ask(ticket, "elicitation/create", PARAMS)
    message = client.read(line)
    assert message == {"jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": PARAMS}
    return question


def response(ident: Any, **members: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": ident, **members}


def test_an_answer_comes_back_once(client: Conversation) -> None:
    question = asked(client, client.open(call(1)))
    answer = response(question, result={"action": "decline"})
    assert client.send(answer) == [Replied(question, {"action": "decline"}, None)]
    assert client.send(answer) == []
    assert client.session.drop_question(question) is None


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"code": -1, "message": "User rejected"}, "User rejected (-1)"),
        ({"message": "x"}, "an error that says nothing"),
        ("x", "an error that says nothing"),
    ],
)
def test_an_error_comes_back_as_a_text(client: Conversation, error: Any, text: str) -> None:
    question = asked(client, client.open(call(1)))
    assert client.send(response(question, error=error)) == [Replied(question, None, text)]


def test_questions_at_once_are_told_apart(client: Conversation) -> None:
    ticket = client.open(call(1))
    first, second = asked(client, ticket), asked(client, ticket)
    assert first != second
    assert client.send(response(second, result={"action": "cancel"}))[0] == Replied(
        second, {"action": "cancel"}, None
    )
    assert client.send(response(first, result=None))[0] == Replied(first, None, None)


def test_a_question_that_is_dropped_is_taken_back_and_a_late_answer_counts_for_nothing(
    client: Conversation,
) -> None:
    question = asked(client, client.open(call(1)))
    line = client.session.drop_question(question)
    assert line is not None
    assert json.loads(line) == notification("notifications/cancelled", {"requestId": question})
    assert client.send(response(question, result={"action": "accept"})) == []
    assert client.session.drop_question(question) is None


@pytest.mark.parametrize("ident", [None, 1, "mcppd:ask:7", "other:ask:1", "", 10**30])
def test_an_answer_to_no_question_is_dropped(client: Conversation, ident: Any) -> None:
    question = asked(client, client.open(call(1)))
    assert question == "mcppd:ask:1"
    assert client.send(response(ident, result={"action": "accept"})) == []


def test_ids_carry_the_prefix_of_the_run() -> None:
    session = Session(lambda: SERVER, "mcppd-4711")
    (effect,) = session.receive(json.dumps(call(1)).encode())
    assert isinstance(effect, CallTool)
    question, _ = session.ask(effect.ticket, "elicitation/create", PARAMS)
    assert question == "mcppd-4711:ask:1"


@pytest.mark.parametrize("end", ["finish", "cancel"])
def test_nothing_can_be_asked_for_a_call_that_has_ended(client: Conversation, end: str) -> None:
    ticket = client.open(call(1))
    if end == "finish":
        client.finish(ticket)
    else:
        client.send(notification("notifications/cancelled", {"requestId": 1}))
    with pytest.raises(ToolError):
        client.session.ask(ticket, "elicitation/create", PARAMS)


def test_the_roots_that_a_call_asks_for_are_its_own_answer() -> None:
    client = Conversation()
    client.shake_hands("2025-06-18", roots={})
    question, line = client.session.ask(client.open(call(1)), "roots/list", {})
    assert client.read(line) == request(question, "roots/list")
    result: dict[str, Any] = {"roots": [{"uri": "file:///a"}]}
    assert client.send(response(question, result=result)) == [Replied(question, result, None)]
    assert client.send(response("mcppd:roots:1", result=result)) == [Roots(("file:///a",))]
