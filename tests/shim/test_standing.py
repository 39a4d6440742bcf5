"""A daemon ends while something stands open for long: questions, listens, batches, large lines, a host's end."""

from __future__ import annotations

import json

import pytest

from tests.shim.flows import MEBIBYTE, in_thread, join
from tests.shim.talk import (
    ACKNOWLEDGED,
    LISTEN,
    META,
    TAG,
    Scene,
    failure,
    heard,
    line,
    lost_call,
    notification,
    request,
    result,
    said,
)
from tests.shim.world import END, World, cpu_seconds, eventually


@pytest.fixture
def scene(world: World) -> Scene:
    """Nothing is started when a daemon is missing."""
    return Scene(world, form=world.plant())


QUESTION = request("mcppd-1:ask:1", "elicitation/create", {"message": "Sure?"})


def test_a_question_of_a_dead_daemon_is_cancelled_and_its_answer_dropped(scene: Scene) -> None:
    scene.ask(request(1, "tools/call"))
    assert scene.tell(QUESTION)["method"] == "elicitation/create"
    scene.next_daemon()
    cancelled = said(scene.host)
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == "mcppd-1:ask:1"
    lost_call(said(scene.host), 1)
    scene.host.write(result("mcppd-1:ask:1", {"action": "accept"}))
    scene.assert_quiet()


def test_a_question_with_the_id_of_a_call_is_no_answer_to_it(scene: Scene) -> None:
    scene.ask(request(1, "tools/call"))
    assert scene.tell(request(1, "elicitation/create"))["method"] == "elicitation/create"
    scene.next_daemon()
    assert said(scene.host)["params"]["requestId"] == 1
    lost_call(said(scene.host), 1)
    scene.assert_quiet()


def test_a_question_that_is_answered_or_taken_back_is_over(scene: Scene) -> None:
    scene.tell(QUESTION)
    scene.ask(result("mcppd-1:ask:1", {"action": "decline"}))
    scene.tell(QUESTION.replace(b"ask:1", b"ask:2"))
    taken_back = notification("notifications/cancelled", {"requestId": "mcppd-1:ask:2"})
    assert scene.tell(taken_back)["params"] == {"requestId": "mcppd-1:ask:2"}
    scene.next_daemon()
    scene.assert_quiet()


def test_an_open_listen_goes_on_at_the_next_daemon(scene: Scene) -> None:
    scene.ask(LISTEN)
    assert scene.tell(ACKNOWLEDGED)["params"]["_meta"] == TAG["_meta"]
    for _ in range(5):
        scene.next_daemon()
        assert scene.peer.read_line() == LISTEN
        scene.peer.send(ACKNOWLEDGED)
        assert scene.tell(notification("notifications/tools/list_changed", TAG))["params"] == TAG


def test_a_listen_that_was_never_acknowledged_still_is(scene: Scene) -> None:
    scene.ask(LISTEN)
    scene.next_daemon()
    assert scene.peer.read_line() == LISTEN
    assert scene.tell(ACKNOWLEDGED)["method"] == "notifications/subscriptions/acknowledged"


def test_a_listen_that_a_daemon_ends_with_itself_goes_on(scene: Scene) -> None:
    scene.ask(LISTEN)
    scene.tell(ACKNOWLEDGED)
    scene.peer.send(result("listen:0", {"resultType": "complete", **TAG}))
    scene.peer.send(notification("notifications/cancelled", {"requestId": "listen:0"}))
    scene.next_daemon()
    assert scene.peer.read_line() == LISTEN
    scene.peer.send(ACKNOWLEDGED)
    scene.assert_quiet()


def test_a_listen_that_the_host_ends_or_the_daemon_refuses_is_over(scene: Scene) -> None:
    scene.ask(LISTEN)
    scene.tell(ACKNOWLEDGED)
    scene.ask(notification("notifications/cancelled", {"requestId": "listen:0"}))
    scene.ask(LISTEN.replace(b"listen:0", b"listen:1"))
    assert "error" in scene.tell(failure("listen:1"))
    scene.next_daemon()
    scene.assert_quiet()


def test_of_a_batch_only_the_calls_are_lost(scene: Scene) -> None:
    asked = [
        json.loads(request(number, method))
        for number, method in enumerate(["ping", "tools/call", "tools/list"])
    ]
    scene.ask(line([*asked, json.loads(notification("notifications/whatever"))]))
    scene.next_daemon()
    assert [each["id"] for each in heard(scene.peer)] == [0, 2]
    answers = scene.tell(line([json.loads(result(2, {"tools": []})), json.loads(result(0))]))
    assert sorted(each["id"] for each in answers) == [0, 1, 2]
    lost_call(next(each for each in answers if each["id"] == 1), 1)
    scene.next_daemon()
    scene.assert_quiet()


def test_of_a_batch_of_calls_all_are_lost(scene: Scene) -> None:
    scene.ask(line([json.loads(request(number, "tools/call")) for number in range(2)]))
    scene.next_daemon()
    for number, answer in enumerate(said(scene.host)):
        lost_call(answer, number)
    scene.assert_quiet()


@pytest.mark.slow
def test_a_line_of_many_mebibytes_is_asked_again_too(scene: Scene) -> None:
    asked = request(1, "resources/read", {"uri": "x" * (17 * MEBIBYTE)})
    writing = in_thread(lambda: scene.host.write(asked))
    assert scene.peer.read_line() == asked
    join(writing)
    before = cpu_seconds(scene.host.pid)
    scene.next_daemon()
    assert scene.peer.read_line() == asked
    assert cpu_seconds(scene.host.pid) - before < 1
    scene.tell(result(1))
    scene.assert_quiet()


def test_what_is_too_much_to_be_kept_is_answered(world: World) -> None:
    scene = Scene(world, form=world.plant(KEPT_BYTES=1000))
    for ident, method in enumerate(("tools/list", "resources/read", "tools/call")):
        scene.ask(request(ident, method, {"uri": "x" * 600}))
    scene.next_daemon()
    assert said(scene.host)["error"]["code"] == -32603
    lost_call(said(scene.host), 2)
    assert heard(scene.peer)["id"] == 0
    scene.tell(result(0))
    scene.assert_quiet()


def test_a_host_that_has_ended_still_gets_its_answers_from_the_next_daemon(scene: Scene) -> None:
    scene.ask(request(1, "tools/list"))
    scene.ask(request(2, "tools/call"))
    scene.host.stdin.close()
    assert scene.peer.read_line() == END
    scene.next_daemon()
    assert scene.peer.read_rest() == request(1, "tools/list") + END
    lost_call(said(scene.host), 2)
    scene.peer.send(result(1))
    scene.peer.close()
    assert said(scene.host)["id"] == 1
    assert scene.host.wait() == 0


@pytest.mark.slow
def test_daemons_that_end_as_soon_as_they_are_reached_cost_little(scene: Scene) -> None:
    scene.peer.close()
    before = cpu_seconds(scene.host.pid)
    count = 0

    def is_slow() -> bool:
        nonlocal count
        scene.listener.socket.settimeout(0.5)
        try:
            scene.listener.accept().close()
        except TimeoutError:
            return True
        count += 1
        return False

    eventually(is_slow, "the shim takes its time")
    assert count < 200
    assert cpu_seconds(scene.host.pid) - before < 1
    scene.listener.socket.settimeout(20)
    scene.meet()
    scene.assert_quiet()


def test_the_envelope_of_a_modern_request_is_all_that_makes_it_one(scene: Scene) -> None:
    """The same words in an argument don't."""
    scene.ask(request(1, "tools/call", {"name": "x", "arguments": {"text": json.dumps(META)}}))
    scene.next_daemon()
    assert "resultType" not in lost_call(said(scene.host), 1)
