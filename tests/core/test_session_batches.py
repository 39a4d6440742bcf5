"""Batches: one revision has them, and there they get one array when the last answer is there."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.effects import CallTool, Cancel, Close, Effect, End, Roots, Send, Ticket
from mcppd.core.eras import LEGACY
from mcppd.core.errors import INVALID_REQUEST, METHOD_NOT_FOUND
from tests.core.conversation import Conversation, call, modern, notification, request

PING = request("p", "ping")


@pytest.fixture
def client() -> Conversation:
    client = Conversation()
    client.shake_hands("2025-03-26")
    return client


def tickets(effects: list[Effect]) -> list[Ticket]:
    return [effect.ticket for effect in effects if isinstance(effect, CallTool)]


def codes(answers: list[Any]) -> list[Any]:
    return [(answer["id"], answer.get("error", {}).get("code")) for answer in answers]


@pytest.mark.parametrize("revision", [revision for revision in LEGACY if revision != "2025-03-26"])
@pytest.mark.parametrize(
    "batch", [[], [PING], [PING, call(1), notification("x")]], ids=["none", "one", "three"]
)
def test_other_revisions_refuse_a_batch_with_one_error(revision: str, batch: list[Any]) -> None:
    client = Conversation()
    assert client.refused(batch) == (None, INVALID_REQUEST)
    client.shake_hands(revision)
    assert client.refused(batch) == (None, INVALID_REQUEST)
    assert client.session.in_flight == 0


def test_an_empty_batch_is_refused_with_one_error(client: Conversation) -> None:
    assert client.refused([]) == (None, INVALID_REQUEST)


def test_a_batch_that_can_be_answered_at_once_is(client: Conversation) -> None:
    answers = client.ask([PING, request(2, "nonsense"), notification("x"), request(3, "shutdown")])
    assert codes(answers) == [("p", None), (2, METHOD_NOT_FOUND), (3, None)]


def test_a_batch_is_answered_when_its_last_answer_is_there(client: Conversation) -> None:
    first, second = tickets(client.send([call(1), PING, call(2)]))
    assert client.session.in_flight == 2
    assert client.finish(second) is None
    assert codes(client.finish(first)) == [("p", None), (2, None), (1, None)]
    assert client.finish(first) is None


def test_a_batch_of_notifications_only_gets_nothing(client: Conversation) -> None:
    assert client.send([notification("x"), notification("notifications/initialized")]) == []


def test_what_is_no_message_in_a_batch_gets_an_error_of_its_own(client: Conversation) -> None:
    assert codes(client.ask([1, {}, [], {"id": 4}, PING])) == [
        (None, INVALID_REQUEST),
        (None, INVALID_REQUEST),
        (None, INVALID_REQUEST),
        (4, INVALID_REQUEST),
        ("p", None),
    ]


@pytest.mark.parametrize(
    "message",
    [
        request(1, "initialize", {"protocolVersion": "2025-03-26"}),
        modern(1, "tools/list"),
        modern(1, "server/discover"),
        modern(1, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}),
    ],
    ids=lambda message: message["method"],
)
def test_some_requests_are_not_for_batches(client: Conversation, message: Any) -> None:
    assert codes(client.ask([PING, message])) == [("p", None), (1, INVALID_REQUEST)]
    assert client.session.initialized
    assert client.session.end_listens() == []


def test_an_id_twice_in_a_batch_is_refused_the_second_time(client: Conversation) -> None:
    (ticket,) = tickets(client.send([call(1), call(1)]))
    assert codes(client.finish(ticket)) == [(1, INVALID_REQUEST), (1, None)]


def test_a_cancelled_request_is_left_out_of_the_answer(client: Conversation) -> None:
    first, second = tickets(client.send([call(1), call(2)]))
    assert client.send(notification("notifications/cancelled", {"requestId": 1})) == [Cancel(first)]
    assert codes(client.finish(second)) == [(2, None)]
    assert client.finish(first) is None


def test_cancelling_the_last_open_request_sends_the_rest(client: Conversation) -> None:
    first, second = tickets(client.send([call(1), call(2)]))
    assert client.finish(second) is None
    cancel, answer = client.send(notification("notifications/cancelled", {"requestId": 1}))
    assert cancel == Cancel(first)
    assert isinstance(answer, Send)
    assert codes(client.read(answer.data)) == [(2, None)]


def test_a_batch_whose_requests_are_all_cancelled_gets_nothing(client: Conversation) -> None:
    (ticket,) = tickets(client.send([call(1), notification("x")]))
    assert client.send(notification("notifications/cancelled", {"requestId": 1})) == [Cancel(ticket)]


def test_a_request_cancelled_in_its_own_batch_gets_nothing(client: Conversation) -> None:
    cancel = notification("notifications/cancelled", {"requestId": 1})
    start, stop, answer = client.send([call(1), cancel, PING])
    assert isinstance(start, CallTool)
    assert stop == Cancel(start.ticket)
    assert isinstance(answer, Send)
    assert codes(client.read(answer.data)) == [("p", None)]


def test_two_batches_at_once_keep_their_answers_apart(client: Conversation) -> None:
    (first,) = tickets(client.send([call(1)]))
    (second,) = tickets(client.send([call(2)]))
    assert codes(client.finish(second)) == [(2, None)]
    assert codes(client.finish(first)) == [(1, None)]


def test_progress_does_not_wait_for_the_batch(client: Conversation) -> None:
    (ticket,) = tickets(client.send([call(1, _meta={"progressToken": "t"})]))
    line = client.session.speech.progress(ticket, 1, None, None)
    assert line is not None
    assert client.read(line)["params"]["progressToken"] == "t"


def test_other_messages_in_a_batch_do_what_they_do(client: Conversation) -> None:
    assert client.send([notification("mcppd/end"), notification("exit")]) == [End(), Close()]
    assert client.send([notification("mcppd/hello", {})]) == []


def test_a_batch_is_answered_before_it_closes(client: Conversation) -> None:
    answer, close = client.send([request(1, "exit"), PING])
    assert isinstance(answer, Send)
    assert codes(client.read(answer.data)) == [(1, None), ("p", None)]
    assert close == Close()


def test_a_hello_in_a_batch_is_none() -> None:
    assert Conversation().refused([notification("mcppd/hello", {})]) == (None, INVALID_REQUEST)


def test_roots_may_be_answered_in_a_batch() -> None:
    client = Conversation()
    client.shake_hands("2025-03-26", roots={})
    response = {"jsonrpc": "2.0", "id": "mcppd:roots:1", "result": {"roots": [{"uri": "file:///a"}]}}
    assert client.send([response]) == [Roots(("file:///a",))]
