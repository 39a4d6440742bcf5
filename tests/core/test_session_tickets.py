"""Requests in flight: answered once or cancelled, with progress in between."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.core.effects import CallTool, Cancel, Page, ServerInfo, Ticket
from mcppd.core.eras import NEWEST_LEGACY
from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.session import Session
from tests.core.conversation import OK, PAGE, Conversation, call, notification, request

INITIALIZE: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {}}


@pytest.fixture
def client() -> Conversation:
    return Conversation()


def cancelled(ident: Any) -> dict[str, Any]:
    return notification("notifications/cancelled", {"requestId": ident, "reason": "because"})


# --- cancelling, and answering once ---


def test_a_cancelled_request_is_never_answered(client: Conversation) -> None:
    ticket = client.open(call(1))
    assert client.send(cancelled(1)) == [Cancel(ticket)]
    assert ticket.cancelled
    assert client.session.in_flight == 0
    assert client.finish(ticket) is None
    assert client.send(cancelled(1)) == []


def test_cancelling_one_request_leaves_the_others(client: Conversation) -> None:
    first, second = client.open(call(1)), client.open(call("1"))
    assert client.send(cancelled("1")) == [Cancel(second)]
    assert not first.cancelled
    assert client.finish(first)["id"] == 1


@pytest.mark.parametrize("ident", [2, "1", 1.0, True, None, [1], {}])
def test_cancelling_what_is_not_in_flight_is_ignored(client: Conversation, ident: Any) -> None:
    ticket = client.open(call(1))
    assert client.send(cancelled(ident)) == []
    assert client.send(notification("notifications/cancelled")) == []
    assert client.finish(ticket)["id"] == 1


def test_cancelling_what_is_answered_is_ignored(client: Conversation) -> None:
    client.ask(request(0, "initialize", INITIALIZE))
    assert client.send(cancelled(0)) == []
    ticket = client.open(call(1))
    client.finish(ticket)
    assert client.send(cancelled(1)) == []
    assert not ticket.cancelled


def test_an_id_used_again_after_cancelling_belongs_to_the_new_request(client: Conversation) -> None:
    old = client.open(call(1))
    client.send(cancelled(1))
    new = client.open(call(1, _meta={"progressToken": "t"}))
    old.progress_token = "t"
    assert client.finish(old) is None
    assert client.session.speech.progress(old, 1, None, None) is None
    assert client.finish(new)["id"] == 1


def test_a_request_is_answered_once(client: Conversation) -> None:
    ticket = client.open(call(1))
    assert client.finish(ticket)["id"] == 1
    assert client.finish(ticket) is None
    assert client.finish(Ticket(1, "tools/call", NEWEST_LEGACY)) is None


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (OK, {"result": {"content": [{"type": "text", "text": "ok"}], "isError": False}}),
        (Page("tools", b"[]", "c"), {"result": {"tools": [], "nextCursor": "c"}}),
        (ProtocolError(INVALID_PARAMS, "no"), {"error": {"code": INVALID_PARAMS, "message": "no"}}),
        (ProtocolError(1, "no", {"a": 1}), {"error": {"code": 1, "message": "no", "data": {"a": 1}}}),
        ({"a": 1}, {"result": {"a": 1}}),
    ],
)
def test_a_ticket_takes_every_kind_of_answer(answer: Any, expected: dict[str, Any]) -> None:
    session = Session(lambda: ServerInfo("mcppd", "1"))
    (effect,) = session.receive(json.dumps(call(1)).encode())
    assert isinstance(effect, CallTool)
    line = session.finish(effect.ticket, answer)
    assert line is not None
    assert line.endswith(b"\n")
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 1, **expected}


def test_an_answer_that_cannot_be_encoded_leaves_room_for_another(client: Conversation) -> None:
    ticket = client.open(call(1))
    with pytest.raises(TypeError):
        client.session.finish(ticket, {"a": object()})
    assert client.finish(ticket)["id"] == 1


def test_what_is_in_flight_is_counted(client: Conversation) -> None:
    tickets = [client.open(call(1)), client.open(request(2, "tools/list")), client.open(call(3))]
    assert client.session.in_flight == 3
    client.finish(tickets[0])
    client.finish(tickets[1], PAGE)
    client.send(cancelled(3))
    assert client.session.in_flight == 0


# --- progress ---


@pytest.mark.parametrize("token", [4, "t", "", 10**30], ids=repr)
def test_progress_is_told_under_the_token_of_the_request(client: Conversation, token: Any) -> None:
    ticket = client.open(call(1, _meta={"progressToken": token}))
    line = client.session.speech.progress(ticket, 1, 8, "half")
    assert line is not None
    params = {"progressToken": token, "progress": 1, "total": 8, "message": "half"}
    assert client.read(line) == notification("notifications/progress", params)
    line = client.session.speech.progress(ticket, 1.5, None, None)
    assert line is not None
    assert client.read(line)["params"] == {"progressToken": token, "progress": 1.5}


@pytest.mark.parametrize(
    "meta", [{}, {"progressToken": None}, {"progressToken": 1.5}, {"progressToken": True}]
)
def test_progress_without_a_token_is_not_told(client: Conversation, meta: Any) -> None:
    assert client.session.speech.progress(client.open(call(1, _meta=meta)), 1, None, None) is None


def test_progress_only_grows(client: Conversation) -> None:
    ticket = client.open(call(1, _meta={"progressToken": 1}))
    steps: list[Any] = [0, 0, -1, 0.5, 0.5, float("nan"), float("inf"), "7", None, True, 2, 1, 10**400]
    told = [step for step in steps if client.session.speech.progress(ticket, step, None, None) is not None]
    assert told == [0, 0.5, 2, 10**400]


def test_progress_after_the_end_is_not_told(client: Conversation) -> None:
    answered, stopped = (client.open(call(ident, _meta={"progressToken": ident})) for ident in (1, 2))
    client.finish(answered)
    client.send(cancelled(2))
    assert client.session.speech.progress(answered, 1, None, None) is None
    assert client.session.speech.progress(stopped, 1, None, None) is None


def test_a_total_or_a_message_that_is_none_is_left_out(client: Conversation) -> None:
    ticket = client.open(call(1, _meta={"progressToken": 1}))
    odd: Any = ["x", {}]
    line = client.session.speech.progress(ticket, 1, *odd)
    assert line is not None
    assert client.read(line)["params"] == {"progressToken": 1, "progress": 1}
    line = client.session.speech.progress(ticket, 2, float("inf"), "\ud83d")
    assert line is not None
    assert client.read(line)["params"] == {"progressToken": 1, "progress": 2, "message": "?"}


def test_the_oldest_revision_has_no_messages_of_progress(client: Conversation) -> None:
    client.shake_hands("2024-11-05")
    line = client.session.speech.progress(client.open(call(1, _meta={"progressToken": 1})), 1, 2, "half")
    assert line is not None
    assert client.read(line)["params"] == {"progressToken": 1, "progress": 1, "total": 2}
