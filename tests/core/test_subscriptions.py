"""What a client is told unasked: only what it asked for, in the way of its era, and no more than is reasonable."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.eras import LEGACY
from mcppd.core.errors import INVALID_PARAMS
from mcppd.core.kinds import KINDS
from mcppd.core.subscriptions import LIMIT
from tests.core.conversation import SUBSCRIPTION, Conversation, modern, notification, request

URI = "file:///a b"
CHANGES = {
    "tools": "notifications/tools/list_changed",
    "prompts": "notifications/prompts/list_changed",
    "resources": "notifications/resources/list_changed",
    "resourceTemplates": "notifications/resources/list_changed",
}
WISHES = {
    "tools": "toolsListChanged",
    "prompts": "promptsListChanged",
    "resources": "resourcesListChanged",
    "resourceTemplates": "resourcesListChanged",
}


@pytest.fixture
def client() -> Conversation:
    return Conversation()


def subscribe(ident: Any, uri: Any = URI, method: str = "resources/subscribe") -> dict[str, Any]:
    return request(ident, method, {"uri": uri})


def listen(ident: Any, **notifications: Any) -> dict[str, Any]:
    return modern(ident, "subscriptions/listen", {"notifications": notifications})


def tag(ident: Any, **members: Any) -> dict[str, Any]:
    return {"_meta": {SUBSCRIPTION: ident}, **members}


# --- lists ---


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("kind", KINDS)
def test_a_legacy_client_is_told_of_every_changed_list(revision: str, kind: Any) -> None:
    client = Conversation()
    client.shake_hands(revision)
    assert client.told(client.session.list_changed([kind])) == [notification(CHANGES[kind])]


@pytest.mark.parametrize("kind", KINDS)
def test_a_listen_is_told_of_the_lists_that_it_asked_for(client: Conversation, kind: Any) -> None:
    answer = client.ask(listen("mine", **{WISHES[kind]: True}))
    assert answer["params"] == tag("mine", notifications={WISHES[kind]: True})
    client.ask(listen("others", **{wish: True for wish in WISHES.values() if wish != WISHES[kind]}))
    assert client.told(client.session.list_changed([kind])) == [notification(CHANGES[kind], tag("mine"))]


def test_several_lists_at_once_are_told_once_each(client: Conversation) -> None:
    client.shake_hands("2025-11-25")
    told = client.told(client.session.list_changed(KINDS))
    assert [each["method"] for each in told] == sorted(
        set(CHANGES.values()), key=list(CHANGES.values()).index
    )
    assert client.session.list_changed([]) == []


# --- resources, by request ---


@pytest.mark.parametrize("revision", LEGACY)
def test_a_subscribed_resource_is_told_of_until_it_is_unsubscribed(revision: str) -> None:
    client = Conversation()
    client.shake_hands(revision)
    assert client.session.resource_updated(URI) == []
    assert client.ask(subscribe(1))["result"] == {}
    assert client.ask(subscribe(2))["result"] == {}  # twice is once
    told = client.told(client.session.resource_updated(URI))
    assert told == [notification("notifications/resources/updated", {"uri": URI})]
    assert client.session.resource_updated("file:///other") == []
    assert client.ask(subscribe(3, method="resources/unsubscribe"))["result"] == {}
    assert client.ask(subscribe(4, method="resources/unsubscribe"))["result"] == {}
    assert client.session.resource_updated(URI) == []


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
@pytest.mark.parametrize("uri", [None, 1, ["file:///a"]])
def test_a_subscription_to_nothing_readable_is_refused(client: Conversation, method: str, uri: Any) -> None:
    assert client.refused(subscribe(1, uri, method)) == (1, INVALID_PARAMS)


def test_nothing_is_told_before_the_client_is_initialized(client: Conversation) -> None:
    client.ask(subscribe(1))
    assert client.session.resource_updated(URI) == []


def test_a_new_handshake_ends_the_subscriptions_of_the_last_but_no_listen(client: Conversation) -> None:
    client.shake_hands("2025-06-18")
    client.ask(subscribe(1))
    client.ask(listen("l", resourceSubscriptions=[URI]))
    client.shake_hands("2025-06-18")
    told = client.told(client.session.resource_updated(URI))
    assert [each["params"] for each in told] == [tag("l", uri=URI)]


# --- resources, by listen ---


def test_a_listen_is_told_of_the_resources_that_it_asked_for(client: Conversation) -> None:
    answer = client.ask(listen("l", resourceSubscriptions=["b:x", URI, URI]))
    assert answer["params"] == tag("l", notifications={"resourceSubscriptions": ["b:x", URI]})
    client.ask(listen("deaf", resourcesListChanged=True))
    told = client.told(client.session.resource_updated(URI))
    assert told == [notification("notifications/resources/updated", tag("l", uri=URI))]
    assert client.session.resource_updated("file:///other") == []
    client.send(notification("notifications/cancelled", {"requestId": "l"}))
    assert client.session.resource_updated(URI) == []


@pytest.mark.parametrize("uris", [None, "file:///a", [1], [None], {"a": 1}])
def test_a_listen_for_no_readable_resources_is_refused(client: Conversation, uris: Any) -> None:
    assert client.refused(listen(1, resourceSubscriptions=uris)) == (1, INVALID_PARAMS)
    assert client.session.end_listens() == []


def test_a_listen_and_a_session_are_both_told(client: Conversation) -> None:
    client.shake_hands("2025-11-25")
    client.ask(subscribe(1))
    client.ask(listen("l", resourceSubscriptions=[URI]))
    told = client.told(client.session.resource_updated(URI))
    assert [each["params"] for each in told] == [{"uri": URI}, tag("l", uri=URI)]


# --- how many ---


def test_subscriptions_have_a_limit_and_ending_some_makes_room(client: Conversation) -> None:
    for number in range(LIMIT):
        client.session.receive(
            b'{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:%d"}}' % number
        )
    assert client.refused(subscribe(1, "a:one-more")) == (1, INVALID_PARAMS)
    assert client.refused(listen(2)) == (2, INVALID_PARAMS)
    assert client.ask(subscribe(3, "a:0"))["result"] == {}  # it is there already
    client.ask(subscribe(4, "a:0", "resources/unsubscribe"))
    assert client.ask(subscribe(5, "a:one-more"))["result"] == {}


def test_listens_and_what_they_ask_for_count_too(client: Conversation) -> None:
    assert (
        client.refused(listen(1, resourceSubscriptions=[f"a:{n}" for n in range(LIMIT)]))[1] == INVALID_PARAMS
    )
    client.ask(listen(2, resourceSubscriptions=[f"a:{n}" for n in range(LIMIT - 2)]))
    client.ask(listen(3))
    assert client.refused(listen(4)) == (4, INVALID_PARAMS)
    client.send(notification("notifications/cancelled", {"requestId": 3}))
    assert client.ask(listen(4))["params"] == tag(4, notifications={})
