"""No call begins any more: a shim gets it back, any other client a result that says so; the rest is answered."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.core.draining import Draining
from mcppd.core.effects import CallTool, Effect, List, Send
from mcppd.core.results import error_result
from tests.core.conversation import OK, Conversation, call, modern, notification, request

REFUSAL = error_result("not begun")


@pytest.fixture
def behind_shim() -> Conversation:
    client = Conversation()
    client.session.drain(Draining(REFUSAL, gives_back=True))
    return client


def given_back(effects: list[Effect]) -> Any:
    (effect,) = effects
    assert isinstance(effect, Send)
    assert effect.data.startswith(b'{"jsonrpc":"2.0","method":"mcppd/resend","params":{"id":')
    return json.loads(effect.data)["params"]["id"]


@pytest.mark.parametrize("ident", [1, "1", 2**70, "é\ud83d"], ids=repr)
def test_a_call_goes_back_by_its_very_id(behind_shim: Conversation, ident: Any) -> None:
    line = json.dumps(call(ident)).encode()
    assert given_back(behind_shim.session.receive(line)) == ident
    assert behind_shim.session.has_given_back


def test_a_modern_call_goes_back_too(behind_shim: Conversation) -> None:
    line = json.dumps(modern(7, "tools/call", {"name": "echo"})).encode()
    assert given_back(behind_shim.session.receive(line)) == 7


def test_all_else_is_served(behind_shim: Conversation) -> None:
    assert isinstance(behind_shim.send(request(1, "tools/list"))[0], List)
    assert behind_shim.ask(request(2, "ping"))["result"] == {}
    assert not behind_shim.session.has_given_back


def test_a_batch_with_a_call_goes_back_as_a_whole_and_without_one_is_served(
    behind_shim: Conversation,
) -> None:
    hand = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    behind_shim.send(request(0, "initialize", hand))
    batch = [notification("notifications/initialized"), request(1, "tools/list"), call(2)]
    assert given_back(behind_shim.session.receive(json.dumps(batch).encode())) == 1
    assert behind_shim.session.in_flight == 0
    assert not behind_shim.session.initialized
    assert isinstance(behind_shim.send([request(1, "tools/list")])[0], List)


def test_without_a_shim_a_call_is_answered_that_it_was_not_begun() -> None:
    client = Conversation()
    client.session.drain(Draining(REFUSAL, gives_back=False))
    for message in (call(1), modern(2, "tools/call", {"name": "echo"})):
        result = client.ask(message)["result"]
        assert result["isError"]
        assert result["content"][0]["text"] == "not begun"
    assert client.session.in_flight == 0


def test_what_was_not_begun_can_be_given_back_once_and_is_then_open_no_more() -> None:
    client = Conversation()
    (effect,) = client.send(call(1))
    assert isinstance(effect, CallTool)
    assert json.loads(client.session.give_back(effect.ticket) or b"")["params"] == {"id": 1}
    assert client.session.give_back(effect.ticket) is None
    assert client.session.finish(effect.ticket, OK) is None
    assert effect.ticket.cancelled


def test_what_is_in_a_batch_is_not_given_back_by_itself() -> None:
    client = Conversation()
    hand = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    client.send(request(0, "initialize", hand))
    (effect,) = client.send([call(1)])
    assert isinstance(effect, CallTool)
    assert client.session.give_back(effect.ticket) is None
    assert client.session.in_flight == 1
