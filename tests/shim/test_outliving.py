"""A daemon ends, the next one takes its place, and the host hardly notices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.core.effects import Send, ServerInfo
from mcppd.core.jsonrpc import MAX_BATCH
from mcppd.core.session import Session
from tests.shim.flows import MEBIBYTE, in_thread, join
from tests.shim.talk import (
    INITIALIZE,
    INITIALIZED,
    Scene,
    failure,
    heard,
    line,
    lost_call,
    modern,
    notification,
    request,
    result,
    said,
)
from tests.shim.world import World, eventually

ASKED_AGAIN = [
    *("server/discover", "ping", "completion/complete", "tools/list", "prompts/list", "prompts/get"),
    *("resources/list", "resources/templates/list", "resources/read"),
]


@pytest.fixture
def scene(world: World) -> Scene:
    """Nothing is started when a daemon is missing."""
    return Scene(world, form=world.plant())


def test_the_next_daemon_gets_the_same_hello(scene: Scene) -> None:
    assert scene.next_daemon() == scene.hello
    assert scene.next_daemon() == scene.hello
    scene.assert_quiet()
    assert scene.host.stderr() == ""


def test_a_handshake_is_repeated_and_its_answer_is_for_nobody(scene: Scene) -> None:
    scene.shake_hands()
    for _ in range(2):
        scene.next_daemon()
        repeated = heard(scene.peer)
        assert (repeated["method"], repeated["params"]) == ("initialize", INITIALIZE)
        assert scene.peer.read_line() == INITIALIZED
        scene.peer.send(result(repeated["id"], {"protocolVersion": "2025-11-25"}))
        scene.assert_quiet()


def test_a_handshake_that_was_not_finished_is_not_finished_by_us(scene: Scene) -> None:
    scene.ask(request(0, "initialize", INITIALIZE))
    scene.tell(result(0))
    scene.next_daemon()
    assert heard(scene.peer)["method"] == "initialize"
    scene.assert_quiet()
    assert scene.ask(INITIALIZED) == INITIALIZED


def test_a_handshake_that_was_not_answered_is_asked_again_in_the_hosts_own_words(scene: Scene) -> None:
    opening = request(0, "initialize", INITIALIZE)
    scene.ask(opening)
    scene.ask(INITIALIZED)  # by a host that waits for nothing
    scene.next_daemon()
    assert scene.peer.read_line() == opening
    assert scene.peer.read_line() == INITIALIZED
    assert scene.tell(result(0))["id"] == 0
    scene.assert_quiet()


def test_a_handshake_that_failed_is_not_repeated(scene: Scene) -> None:
    scene.ask(request(0, "initialize"))
    scene.tell(failure(0))
    scene.next_daemon()
    scene.assert_quiet()


def test_what_was_set_is_set_again_and_what_was_given_up_is_not(scene: Scene) -> None:
    scene.shake_hands()
    settings: list[tuple[str, dict[str, Any]]] = [
        ("logging/setLevel", {"level": "debug"}),
        ("resources/subscribe", {"uri": "a:/1"}),
        ("resources/subscribe", {"uri": "a:/2", "_meta": {"uri": "a:/3"}}),
        ("logging/setLevel", {"level": "error"}),
        ("resources/unsubscribe", {"uri": "a:/1"}),
    ]
    for number, (method, params) in enumerate(settings, 1):
        scene.ask(request(number, method, params))
        scene.tell(result(number))
    scene.ask(request(9, "resources/subscribe", {"uri": "refused"}))
    scene.tell(failure(9))
    for _ in range(2):
        scene.next_daemon()
        repeated = [heard(scene.peer) for _ in range(4)]
        assert [(each["method"], each.get("params")) for each in repeated] == [
            ("initialize", INITIALIZE),
            ("notifications/initialized", None),
            settings[2],
            settings[3],
        ]
        for each in repeated:
            if "id" in each:
                scene.peer.send(result(each["id"]))
        scene.assert_quiet()


def test_another_handshake_takes_back_what_was_set(scene: Scene) -> None:
    scene.shake_hands()
    scene.ask(request(1, "logging/setLevel", {"level": "debug"}))
    scene.tell(result(1))
    scene.shake_hands(request(2, "initialize", INITIALIZE | {"protocolVersion": "2025-06-18"}))
    scene.next_daemon()
    assert heard(scene.peer)["params"]["protocolVersion"] == "2025-06-18"
    assert scene.peer.read_line() == INITIALIZED
    scene.assert_quiet()


@pytest.mark.parametrize("method", ASKED_AGAIN)
def test_what_changes_nothing_is_asked_again_and_answered_once(method: str, scene: Scene) -> None:
    asked = request("a", method, {"name": "x"})
    scene.ask(asked)
    scene.next_daemon()
    assert scene.peer.read_line() == asked
    assert scene.tell(result("a", {"found": 1}))["result"] == {"found": 1}
    scene.next_daemon()
    scene.assert_quiet()


def test_a_call_is_never_sent_twice_in_the_legacy_era(scene: Scene) -> None:
    scene.ask(request(5, "tools/call", {"name": "pay"}))
    scene.next_daemon()
    assert set(lost_call(said(scene.host), 5)) == {"content", "isError"}
    scene.assert_quiet()


def test_a_call_is_never_sent_twice_in_the_modern_era(scene: Scene) -> None:
    scene.ask(modern("c", "tools/call", name="pay"))
    scene.next_daemon()
    found = lost_call(said(scene.host), "c")
    assert found["resultType"] == "complete"
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "mcppd"
    scene.assert_quiet()


@pytest.mark.parametrize(
    "text",
    [
        '{"method":"tools/call","params":{"name":"pay","id":3,"method":"ping"},"jsonrpc":"2.0","id":7}',
        '{ "jsonrpc" : "2.0", "id" : 7, "params" : {"name": "}\\"id\\":8}"}, "method" : "tools\\/call" }',
        '{"params":{"a":[{}]},"id":7,"x":{},"method":"tools/call","jsonrpc":"2.0"}',
        '\ufeff{"jsonrpc":"2.0","id":7,"method":"tools/call"}\r',
    ],
)
def test_a_call_is_known_however_it_is_written(text: str, scene: Scene) -> None:
    scene.ask(text.encode() + b"\n")
    scene.next_daemon()
    lost_call(said(scene.host), 7)
    scene.assert_quiet()


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ('"\\u00e9"', '"\u00e9"'),
        ('"a\\/b"', '"a/b"'),
        ('"quo\\"te"', '"quo\\"te"'),
        ('"\\ud800"', '"\\ud800"'),
        ('""', '""'),
        ("-1", "-1"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ],
)
def test_an_answer_is_known_however_its_id_is_written(asked: str, answered: str, scene: Scene) -> None:
    scene.ask(b'{"jsonrpc":"2.0","id":%b,"method":"tools/call"}\n' % asked.encode())
    scene.peer.send(b'{"jsonrpc":"2.0","id":%b,"result":{}}\n' % answered.encode())
    assert scene.host.stdout.readline() == b'{"jsonrpc":"2.0","id":%b,"result":{}}\n' % answered.encode()
    scene.next_daemon()
    scene.assert_quiet()


def test_one_and_the_text_one_are_two_ids(scene: Scene) -> None:
    for ident in (1, "1"):
        scene.ask(request(ident, "tools/call"))
    scene.tell(result("1"))
    scene.next_daemon()
    lost_call(said(scene.host), 1)
    scene.assert_quiet()


def test_what_nobody_knows_is_not_asked_twice_either(scene: Scene) -> None:
    scene.ask(request(1, "vendor/launch"))
    scene.next_daemon()
    assert said(scene.host)["error"]["code"] == -32603
    scene.assert_quiet()


def test_a_request_that_ends_every_daemon_is_given_up(scene: Scene) -> None:
    poison = request(1, "prompts/get", {"name": "poison"})
    scene.ask(poison)
    for _ in range(2):
        scene.next_daemon()
        assert scene.peer.read_line() == poison
    scene.next_daemon()
    error = said(scene.host)["error"]
    assert error["code"] == -32603
    assert "again and again" in error["message"]
    scene.assert_quiet()


def test_a_call_of_which_the_daemon_had_not_all_is_made_by_the_next(scene: Scene) -> None:
    call = request(1, "tools/call", {"name": "big", "text": "x" * (4 * MEBIBYTE)})
    writing = in_thread(lambda: scene.host.write(call))
    scene.peer.connection.recv(100)
    scene.next_daemon()
    assert scene.peer.read_line() == call
    join(writing)
    assert scene.tell(result(1))["id"] == 1
    scene.assert_quiet()


@pytest.mark.parametrize(
    "text", ['{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{', '{"id":1,"method":"ping","a":NaN}']
)
def test_what_no_daemon_can_read_is_not_asked_again(text: str, scene: Scene) -> None:
    scene.ask(request(0, "tools/list"))
    scene.ask(text.encode() + b"\n")
    unreadable = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}}
    assert scene.tell(line(unreadable)) == unreadable
    scene.next_daemon()
    assert scene.peer.read_line() == request(0, "tools/list")
    scene.assert_quiet()


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25"])
def test_a_batch_that_the_daemon_refuses_as_a_whole_is_answered_with_that(
    revision: str, scene: Scene
) -> None:
    session = Session(lambda: ServerInfo("mcppd", "1"))
    hand = {"protocolVersion": revision, "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}}
    session.receive(request(0, "initialize", hand))
    many = [json.loads(request(number, "ping")) for number in range(1, MAX_BATCH + 2)]
    batch = line(many if revision == "2025-03-26" else many[:2])
    scene.ask(batch)
    [refusal] = session.receive(batch)
    assert isinstance(refusal, Send)
    assert scene.tell(refusal.data)["id"] is None
    scene.next_daemon()  # which isn't asked again
    scene.assert_quiet()


def test_half_an_answer_is_none(scene: Scene) -> None:
    scene.ask(request(1, "tools/call"))
    scene.ask(request(2, "tools/list"))
    scene.peer.send(result(1)[:-5])
    scene.next_daemon()
    lost_call(said(scene.host), 1)
    assert scene.peer.read_line() == request(2, "tools/list")
    scene.tell(result(2))
    scene.assert_quiet()


def test_what_is_asked_while_there_is_no_daemon_waits_and_comes_in_order(world: World) -> None:
    host = world.start(form=world.plant())
    eventually(world.log.exists, "it has looked for a daemon")
    lines = [
        request(0, "initialize", INITIALIZE),
        INITIALIZED,
        b"{ this is no JSON\n",
        request(1, "tools/call", {"name": "x"}),
        request(2, "tools/list"),
    ]
    host.write(b"".join(lines))
    peer = world.listen().accept()
    peer.read_hello()
    assert [peer.read_line() for _ in lines] == lines
    for ident in range(3):
        peer.send(result(ident))
    assert [said(host)["id"] for _ in range(3)] == [0, 1, 2]
    assert host.stderr() == ""


def test_what_is_cancelled_while_it_waits_is_never_begun(world: World) -> None:
    host = world.start(form=world.plant())
    host.write(request(1, "tools/call") + request(2, "tools/list"))
    host.write(notification("notifications/cancelled", {"requestId": 1, "reason": "changed my mind"}))
    eventually(world.log.exists, "it has looked for a daemon")
    peer = world.listen().accept()
    peer.read_hello()
    assert peer.read_line() == request(2, "tools/list")


def test_a_ping_is_answered_at_once_though_there_is_no_daemon(scene: Scene) -> None:
    scene.shake_hands()
    scene.ask(request(1, "ping"))
    scene.listener.close()
    scene.host.write(request(2, "tools/list") + request(3, "ping"))
    for ident in (1, 3):
        assert said(scene.host) == {"jsonrpc": "2.0", "id": ident, "result": {}}


def test_nobody_waits_any_more_for_a_call_that_was_cancelled(scene: Scene) -> None:
    scene.ask(request(1, "tools/call"))
    cancel = notification("notifications/cancelled", {"requestId": 1})
    assert scene.ask(cancel) == cancel
    scene.next_daemon()
    scene.assert_quiet()
