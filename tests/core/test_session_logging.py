"""Log messages: to who wants them, from the level on that they want, and only while their request is served."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.eras import LEGACY
from mcppd.core.errors import INVALID_PARAMS
from mcppd.core.log_levels import DEFAULT_LEVEL, LEVELS
from tests.core.conversation import LOG_LEVEL, Conversation, call, modern, notification, request


@pytest.fixture
def client() -> Conversation:
    return Conversation()


def set_level(level: Any) -> dict[str, Any]:
    return request("level", "logging/setLevel", {"level": level})


def sent_levels(client: Conversation, ticket: Any) -> list[str]:
    """The levels at which a message of a ticket is sent."""
    lines = [client.session.speech.log(ticket, level, "echo", b'{"a":[1]}') for level in LEVELS]
    messages = client.told([line for line in lines if line is not None])
    assert all(each["params"]["data"] == {"a": [1]} for each in messages)
    assert all(each["params"]["logger"] == "echo" for each in messages)
    return [each["params"]["level"] for each in messages]


@pytest.mark.parametrize("revision", LEGACY)
def test_a_legacy_client_gets_the_default_level_until_it_says_another(revision: str) -> None:
    client = Conversation()
    client.shake_hands(revision)
    ticket = client.open(call(1))
    assert client.session.speech.wants_log(ticket) == DEFAULT_LEVEL
    assert sent_levels(client, ticket) == list(LEVELS[LEVELS.index(DEFAULT_LEVEL) :])
    for level in LEVELS:
        assert client.ask(set_level(level))["result"] == {}
        assert client.session.speech.wants_log(ticket) == level
        assert sent_levels(client, ticket) == list(LEVELS[LEVELS.index(level) :])


@pytest.mark.parametrize("level", [None, "", "loud", "INFO", 3, ["info"], {}])
def test_a_level_that_there_is_not_is_refused(client: Conversation, level: Any) -> None:
    client.shake_hands("2025-11-25")
    client.ask(set_level("error"))
    assert client.refused(set_level(level)) == ("level", INVALID_PARAMS)
    assert client.session.speech.wants_log(client.open(call(1))) == "error"


def test_a_new_handshake_forgets_the_level(client: Conversation) -> None:
    client.shake_hands("2025-11-25")
    client.ask(set_level("error"))
    client.shake_hands("2025-11-25")
    assert client.session.speech.wants_log(client.open(call(1))) == DEFAULT_LEVEL


def test_nothing_is_logged_to_a_client_that_is_not_initialized(client: Conversation) -> None:
    ticket = client.open(call(1))
    assert client.session.speech.wants_log(ticket) is None
    assert sent_levels(client, ticket) == []


@pytest.mark.parametrize("level", LEVELS)
def test_a_modern_request_says_its_own_level(client: Conversation, level: str) -> None:
    ticket = client.open(modern(1, "tools/call", {"name": "echo"}, **{LOG_LEVEL: level}))
    assert client.session.speech.wants_log(ticket) == level
    assert sent_levels(client, ticket) == list(LEVELS[LEVELS.index(level) :])


def test_a_modern_request_without_a_level_gets_nothing_whatever_the_session_wants(
    client: Conversation,
) -> None:
    client.shake_hands("2025-11-25")
    client.ask(set_level("debug"))
    ticket = client.open(modern(1, "tools/call", {"name": "echo"}))
    assert client.session.speech.wants_log(ticket) is None
    assert sent_levels(client, ticket) == []


def test_nothing_is_logged_after_the_end(client: Conversation) -> None:
    client.shake_hands("2025-11-25")
    answered, stopped = client.open(call(1)), client.open(call(2))
    client.finish(answered)
    client.send(notification("notifications/cancelled", {"requestId": 2}))
    assert sent_levels(client, answered) == sent_levels(client, stopped) == []


def test_a_logger_need_not_have_a_name_and_a_level_is_one_of_those(client: Conversation) -> None:
    client.shake_hands("2025-11-25")
    ticket = client.open(call(1))
    line = client.session.speech.log(ticket, "error", None, b'[\n"text"]')  # is sent as one line
    assert line is not None
    assert client.read(line)["params"] == {"level": "error", "data": ["text"]}
    assert client.session.speech.log(ticket, "loud", None, b'"text"') is None


def test_news_that_belong_to_no_request_go_to_who_asked_for_a_level(client: Conversation) -> None:
    def told(level: str) -> list[Any]:
        return [
            each["params"] for each in client.told(client.session.speech.log_news(level, "notes", "it broke"))
        ]

    assert told("error") == []  # before the handshake
    client.shake_hands("2025-11-25")
    assert told("error") == []  # nobody asked
    client.ask(set_level("warning"))
    assert told("info") == []
    assert told("warning") == [{"level": "warning", "logger": "notes", "data": "it broke"}]
    client.shake_hands("2025-11-25")  # another handshake begins anew
    assert told("error") == []
