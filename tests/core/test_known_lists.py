"""What a client has of the lists when another daemon follows, and when it is told that they are others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.core.effects import Effect, Hello, Send
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.known_lists import KnownLists
from tests.core.conversation import META, Conversation, modern, notification, request

SERVED: dict[Kind, str] = dict.fromkeys(KINDS, "now")
HANDSHAKE = request(
    "mcppd-shim:1",
    "initialize",
    {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}},
)
INITIALIZED = notification("notifications/initialized")
LISTEN = modern("l", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})


def said(lists: KnownLists, served: dict[Kind, str] = SERVED) -> dict[str, str] | None:
    line = lists.word(served)
    if line is None:
        return None
    assert line.startswith(b'{"jsonrpc":"2.0","method":"mcppd/lists","params":{"hashes":{')
    hashes: dict[str, str] = json.loads(line)["params"]["hashes"]
    return hashes


def methods(effects: list[Effect]) -> list[str]:
    lines = [json.loads(effect.data) for effect in effects if isinstance(effect, Send)]
    return [line["method"] for line in lines if "method" in line]


def test_the_hashes_of_what_is_served_are_said_once_and_when_they_change() -> None:
    lists = KnownLists()
    lists.compare(None, SERVED)
    assert said(lists) == SERVED
    assert said(lists) is None
    assert said(lists, SERVED | {"tools": "later"}) == SERVED | {"tools": "later"}


@pytest.mark.parametrize("known", [None, {}, [], "x", {"tools": 1}, SERVED, {"other": "a"}])
def test_a_client_without_other_lists_is_told_nothing(known: Any) -> None:
    lists = KnownLists()
    lists.compare(known, SERVED)
    assert not lists.outdated
    assert not lists.owes


def test_what_the_client_was_not_told_of_is_not_said_to_be_its_own() -> None:
    lists = KnownLists()
    lists.compare({"tools": "before", "prompts": "now"}, SERVED)
    assert said(lists) == SERVED | {"tools": "before"}
    lists.told({"tools"})
    assert said(lists) == SERVED
    assert lists.outdated == {"tools"}  # a listen that is opened yet hears of it too


def test_who_lists_anew_need_not_be_told() -> None:
    lists = KnownLists()
    lists.compare({"tools": "before"}, SERVED)
    lists.listed("tools")
    assert not lists.owes
    assert not lists.outdated


@pytest.fixture
def client() -> Conversation:
    """A client that comes from another daemon, with other tools."""
    made = Conversation()
    (hello,) = made.send(notification("mcppd/hello", {"lists": {"tools": "before"}}))
    assert isinstance(hello, Hello)
    assert made.session.compare_lists(hello.params["lists"], SERVED) == []
    return made


def test_a_legacy_client_is_told_when_it_is_initialized(client: Conversation) -> None:
    client.send(HANDSHAKE)
    assert methods(client.send(INITIALIZED)) == ["notifications/tools/list_changed"]
    assert methods(client.send(INITIALIZED)) == []


def test_each_listen_is_told_when_it_opens_if_it_asked_for_it(client: Conversation) -> None:
    acknowledged = "notifications/subscriptions/acknowledged"
    assert methods(client.send(LISTEN)) == [acknowledged, "notifications/tools/list_changed"]
    other = modern("m", "subscriptions/listen", {"notifications": {"promptsListChanged": True}})
    assert methods(client.send(other)) == [acknowledged]
    again = LISTEN | {"id": "n"}
    assert methods(client.send(again)) == [acknowledged, "notifications/tools/list_changed"]


def test_a_listen_after_the_list_is_told_nothing_that_is_known(client: Conversation) -> None:
    client.send(request(1, "tools/list", {"_meta": META}))
    assert methods(client.send(LISTEN)) == ["notifications/subscriptions/acknowledged"]


def test_who_is_there_already_is_told_at_once() -> None:
    client = Conversation()
    client.send(HANDSHAKE)
    client.send(INITIALIZED)
    (line,) = client.session.compare_lists({"prompts": "before"}, SERVED)
    assert json.loads(line)["method"] == "notifications/prompts/list_changed"
