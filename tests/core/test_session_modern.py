"""Modern requests: each says what it is, none depends on another, and both eras live on one connection."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.effects import CallTool, Cancel, ClientInfo, List, Send, ServerInfo
from mcppd.core.eras import capabilities
from mcppd.core.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    UNSUPPORTED_PROTOCOL_VERSION,
    ProtocolError,
)
from tests.core.conversation import (
    CAPABILITIES,
    CLIENT,
    LOG_LEVEL,
    META,
    NEWEST,
    PAGE,
    SERVER_INFO,
    SUBSCRIPTION,
    VERSION,
    Conversation,
    call,
    modern,
    notification,
    request,
)

WANTED = {"toolsListChanged": True}
SELF = {"name": "mcppd", "version": "1.2.3", "title": "Tools"}


@pytest.fixture
def client() -> Conversation:
    return Conversation()


def listen(ident: Any, notifications: Any) -> dict[str, Any]:
    return modern(ident, "subscriptions/listen", {"notifications": notifications})


def test_discovery_says_all_there_is(client: Conversation) -> None:
    assert client.ask(modern("d", "server/discover"))["result"] == {
        "resultType": "complete",
        "supportedVersions": [NEWEST],
        "capabilities": capabilities(NEWEST),
        "instructions": "Call help first.",
        "ttlMs": 0,
        "cacheScope": "private",
        "_meta": {SERVER_INFO: SELF},
    }
    assert (
        "instructions" not in Conversation(ServerInfo("a", "1")).ask(modern(1, "server/discover"))["result"]
    )


def test_a_call_is_served_statelessly(client: Conversation) -> None:
    info = {CLIENT: {"name": "claude-code", "version": "2.1"}, "progressToken": "p"}
    (effect,) = client.send(modern(1, "tools/call", {"name": "echo", "arguments": {"a": 1}}, **info))
    assert isinstance(effect, CallTool)
    assert (effect.name, effect.arguments) == ("echo", {"a": 1})
    ticket = effect.ticket
    assert (ticket.revision, ticket.client) == (NEWEST, ClientInfo("claude-code", "2.1"))
    line = client.session.speech.progress(ticket, 1, None, "m")
    assert line is not None
    assert client.read(line)["params"] == {"progressToken": "p", "progress": 1, "message": "m"}
    result = client.finish(ticket)["result"]
    assert (result["resultType"], result["_meta"]) == ("complete", {SERVER_INFO: SELF})
    assert client.session.client is None
    assert client.open(modern(2, "tools/call", {"name": "echo"})).client is None


def test_a_list_is_not_to_be_cached(client: Conversation) -> None:
    (effect,) = client.send(modern(1, "tools/list", {"cursor": "c"}))
    assert isinstance(effect, List)
    assert effect.cursor == "c"
    result = client.finish(effect.ticket, PAGE)["result"]
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")


def test_an_error_stays_an_error(client: Conversation) -> None:
    ticket = client.open(modern(1, "tools/call", {"name": "gone"}))
    assert client.finish(ticket, ProtocolError(INVALID_PARAMS, "no"))["error"]["code"] == INVALID_PARAMS


@pytest.mark.parametrize(
    "method", ["server/discover", "subscriptions/listen", "tools/list", "tools/call", "ping"]
)
@pytest.mark.parametrize("missing", [VERSION, CAPABILITIES])
def test_half_an_envelope_is_refused_by_the_name_of_what_it_lacks(
    client: Conversation, method: str, missing: str
) -> None:
    meta = {key: value for key, value in META.items() if key != missing}
    answer = client.ask(request(1, method, {"name": "echo", "notifications": {}, "_meta": meta}))
    assert answer["error"]["code"] == INVALID_PARAMS
    assert missing in answer["error"]["message"]
    assert answer["error"]["data"] == {"missing": missing}


@pytest.mark.parametrize(
    "params", [None, {}, {"_meta": None}, {"_meta": {}}, {"_meta": {CLIENT: {}}}, {"_meta": 1}]
)
@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_a_modern_method_without_an_envelope_is_refused(
    client: Conversation, method: str, params: Any
) -> None:
    assert client.refused(request(1, method, params)) == (1, INVALID_PARAMS)


@pytest.mark.parametrize(
    "meta",
    [
        {VERSION: None},
        {VERSION: 20260728},
        {VERSION: [NEWEST]},
        {CAPABILITIES: None},
        {CAPABILITIES: []},
        {CAPABILITIES: "x"},
        {CLIENT: "claude"},
        {CLIENT: None},
        {LOG_LEVEL: "loud"},
        {LOG_LEVEL: None},
        {LOG_LEVEL: []},
    ],
)
def test_an_envelope_of_wrong_types_is_refused(client: Conversation, meta: dict[str, Any]) -> None:
    assert client.refused(modern(1, "tools/list", {}, **meta)) == (1, INVALID_PARAMS)


def test_a_client_need_not_say_who_it_is(client: Conversation) -> None:
    assert client.open(modern(1, "tools/list", {}, **{CLIENT: {}})).client is None


@pytest.mark.parametrize("version", ["2030-01-01", "2025-11-25", "", "\ud83d", "9" * 1000], ids=repr)
@pytest.mark.parametrize("method", ["server/discover", "tools/call", "nonsense"])
def test_an_unknown_version_is_answered_with_those_we_have(
    client: Conversation, method: str, version: str
) -> None:
    message = request(
        1, method, {"_meta": {VERSION: version}}
    )  # what else it needs is for that version to say
    error = client.ask(message)["error"]
    assert error["code"] == UNSUPPORTED_PROTOCOL_VERSION
    assert error["data"] == {"supported": [NEWEST], "requested": version[:200].replace("\ud83d", "?")}


@pytest.mark.parametrize(
    "method",
    [
        "initialize",
        "ping",
        "shutdown",
        "exit",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "unknown/method",
    ],
)
def test_a_method_of_the_other_era_is_not_found(client: Conversation, method: str) -> None:
    answer = client.ask(modern(1, method, {"protocolVersion": "2025-11-25"}))
    assert (answer["error"]["code"], answer["error"]["data"]) == (METHOD_NOT_FOUND, {"method": method})


def test_no_era_is_ever_locked(client: Conversation) -> None:
    client.ask(modern("d", "server/discover"))
    client.shake_hands("2025-06-18")
    assert client.open(call(1)).revision == "2025-06-18"
    assert client.open(modern(2, "tools/list")).revision == NEWEST
    assert client.ask(request(3, "ping"))["result"] == {}
    client.ask(listen("l", {"toolsListChanged": True}))
    messages = [client.read(line) for line in client.session.list_changed(["tools"])]
    assert [message.get("params", {}).get("_meta") for message in messages] == [None, {SUBSCRIPTION: "l"}]


# --- subscriptions ---


@pytest.mark.parametrize("ident", [1, "listen:0", 10**30, "\ud83d"], ids=repr)
@pytest.mark.parametrize(
    ("wanted", "honoured"),
    [
        (WANTED, {"toolsListChanged": True}),
        ({"toolsListChanged": False}, {}),
        ({}, {}),
        ({"toolsListChanged": True, "nonsenseListChanged": True, "x": 1}, {"toolsListChanged": True}),
    ],
)
def test_a_listen_is_acknowledged_with_what_will_be_honoured(
    client: Conversation, ident: Any, wanted: Any, honoured: Any
) -> None:
    assert client.session.list_changed(["tools"]) == []
    assert client.ask(listen(ident, wanted)) == notification(
        "notifications/subscriptions/acknowledged",
        {"_meta": {SUBSCRIPTION: ident}, "notifications": honoured},
    )
    told = [client.read(line) for line in client.session.list_changed(["tools"])]
    tagged = notification("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: ident}})
    assert told == ([tagged] if honoured else [])
    assert client.session.in_flight == 0


@pytest.mark.parametrize("wanted", [None, [], "x", {"toolsListChanged": 1}, {"toolsListChanged": None}])
def test_a_listen_that_wants_nothing_readable_is_refused(client: Conversation, wanted: Any) -> None:
    assert client.refused(listen(1, wanted)) == (1, INVALID_PARAMS)
    assert client.session.end_listens() == []


def test_every_listen_is_told_once_and_no_one_else(client: Conversation) -> None:
    for ident in ("a", 1, "1"):
        client.ask(listen(ident, WANTED))
    client.ask(listen("deaf", {}))
    told = [
        client.read(line)["params"]["_meta"][SUBSCRIPTION] for line in client.session.list_changed(["tools"])
    ]
    assert told == ["a", 1, "1"]


def test_a_cancelled_listen_is_over_without_a_word(client: Conversation) -> None:
    client.ask(listen("a", WANTED))
    cancel = notification("notifications/cancelled", {"requestId": "a"})
    assert client.send(cancel) == []
    assert client.session.list_changed(["tools"]) == []
    assert client.session.end_listens() == []
    assert client.ask(listen("a", WANTED))["method"] == "notifications/subscriptions/acknowledged"


@pytest.mark.parametrize("message", [listen("a", WANTED), modern("a", "tools/list"), request("a", "ping")])
def test_the_id_of_an_open_listen_is_taken(client: Conversation, message: Any) -> None:
    client.ask(listen("a", WANTED))
    assert client.refused(message) == ("a", INVALID_REQUEST)
    assert len(client.session.list_changed(["tools"])) == 1


def test_the_id_of_a_request_in_flight_is_none_for_a_listen(client: Conversation) -> None:
    ticket = client.open(call(1))
    assert client.refused(listen(1, WANTED)) == (1, INVALID_REQUEST)
    assert client.session.list_changed(["tools"]) == []
    assert client.send(notification("notifications/cancelled", {"requestId": 1})) == [Cancel(ticket)]


def test_listens_end_with_a_result_and_then_a_notification(client: Conversation) -> None:
    client.ask(listen("a", WANTED))
    client.ask(listen(2, {}))
    lines = client.session.end_listens()
    for ident, result, cancel in zip(("a", 2), lines[::2], lines[1::2], strict=True):
        assert client.read(result)["result"] == {
            "resultType": "complete",
            "_meta": {SUBSCRIPTION: ident, SERVER_INFO: SELF},
        }
        assert client.read(result)["id"] == ident
        assert client.read(cancel) == notification("notifications/cancelled", {"requestId": ident})
    assert client.session.end_listens() == []
    assert client.session.list_changed(["tools"]) == []


def test_an_acknowledgement_is_written_before_anything_of_its_listen(client: Conversation) -> None:
    (effect,) = client.send(listen("a", WANTED))
    assert isinstance(effect, Send)  # the connection writes effects in order, and changes only after them
    assert client.read(effect.data)["method"] == "notifications/subscriptions/acknowledged"
