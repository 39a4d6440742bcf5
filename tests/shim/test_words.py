"""The words between the daemon and the shim: each does what it says, and none reaches the host."""

from __future__ import annotations

import json
import select

import pytest

from tests.shim.talk import LISTEN, Scene, heard, line, lost_call, notification, request, result, said
from tests.shim.world import World, eventually

RESEND = notification("mcppd/resend", {"id": 1})
HANDOVER = notification("mcppd/handover")
STOP = notification("mcppd/stop")
CALL = request(1, "tools/call", {"name": "x"})
REFUSED = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"mcppd: not \\"your\\" registry"}}\n'


@pytest.fixture
def scene(world: World) -> Scene:
    """Nothing is started when a daemon is missing."""
    return Scene(world, form=world.plant())


def lists(**hashes: str) -> bytes:
    return notification("mcppd/lists", {"hashes": hashes})


def test_what_the_lists_were_is_said_in_the_next_hello(scene: Scene) -> None:
    assert "lists" not in scene.hello
    scene.peer.send(lists(tools="a", prompts="b") + lists(tools="c", prompts="b"))
    scene.assert_quiet()
    assert scene.next_daemon() == scene.hello | {"lists": {"tools": "c", "prompts": "b"}}
    assert scene.next_daemon()["lists"] == {"tools": "c", "prompts": "b"}


def test_lists_that_the_host_has_from_us_are_not_said_to_be_known(world: World) -> None:
    scene = Scene(world, form=world.plant(ALONE_SECONDS=0))
    scene.peer.send(lists(tools="a", prompts="b", resources="c", resourceTemplates="d"))
    scene.assert_quiet()
    for ident, method, known in (
        (1, "tools/list", {"prompts", "resources", "resourceTemplates"}),
        (2, "resources/templates/list", {"tools", "prompts"}),
    ):
        scene.listener.close()
        scene.peer.close()
        scene.host.write(request(ident, method))
        assert said(scene.host)["id"] == ident
        scene.listener = world.listen_again()
        assert set(scene.meet()["lists"]) == known
        scene.peer.send(lists(tools="a", prompts="b", resources="c", resourceTemplates="d"))
        scene.assert_quiet()


def test_a_word_that_nobody_knows_is_for_a_newer_shim(scene: Scene) -> None:
    scene.peer.send(notification("mcppd/whatever", {"id": 1}) + notification("mcppd/listsandmore"))
    scene.assert_quiet()


def test_a_call_that_was_not_begun_is_made_by_the_next_daemon(scene: Scene) -> None:
    scene.ask(CALL)
    scene.ask(request(2, "tools/call"))
    scene.peer.send(RESEND)
    scene.assert_quiet()  # not at this one
    scene.next_daemon()
    lost_call(said(scene.host), 2)
    assert scene.peer.read_line() == CALL
    assert scene.tell(result(1))["id"] == 1
    scene.assert_quiet()


def test_a_batch_that_was_not_begun_goes_to_the_next_daemon_as_a_whole(scene: Scene) -> None:
    batch = line([json.loads(CALL), json.loads(request(2, "ping"))])
    scene.ask(batch)
    scene.peer.send(RESEND)
    scene.next_daemon()
    assert scene.peer.read_line() == batch


def test_a_call_that_was_not_begun_and_is_cancelled_is_never_made(scene: Scene) -> None:
    scene.ask(CALL)
    scene.peer.send(RESEND)
    scene.assert_quiet()
    scene.host.write(notification("notifications/cancelled", {"requestId": 1}))
    scene.assert_quiet()
    scene.next_daemon()
    scene.assert_quiet()


def test_a_handover_moves_to_the_next_daemon_when_the_first_has_had_its_say(scene: Scene) -> None:
    scene.ask(CALL)
    scene.ask(request(2, "tools/list"))
    scene.ask(request(3, "tools/call"))
    scene.peer.send(HANDOVER)
    assert scene.peer.read_rest() == b""  # its end: nothing comes after it
    scene.host.write(request(4, "tools/call"))
    assert scene.tell(result(3))["id"] == 3
    scene.peer.send(RESEND)
    assert scene.next_daemon() == scene.hello
    assert [heard(scene.peer)["id"] for _ in range(3)] == [1, 2, 4]
    for ident in (1, 2, 4):
        assert scene.tell(result(ident))["id"] == ident
    scene.assert_quiet()


def test_a_daemon_that_hands_over_and_does_not_end_is_left(world: World) -> None:
    scene = Scene(world, form=world.plant(MOVING_SECONDS=0.3))
    scene.ask(CALL)
    old = scene.peer
    old.send(HANDOVER)
    assert scene.meet() == scene.hello
    lost_call(said(scene.host), 1)
    assert old.read_rest() == b""
    scene.assert_quiet()


def test_an_open_listen_moves_along(scene: Scene) -> None:
    scene.ask(LISTEN)
    scene.peer.send(HANDOVER)
    scene.next_daemon()
    assert scene.peer.read_line() == LISTEN


def stop(scene: Scene) -> None:
    """The shim knows of it when the host has what came behind it."""
    scene.peer.send(STOP)
    scene.tell(notification("notifications/message", {"level": "info", "data": "stopping"}))


def answered_by_nobody(scene: Scene, ident: int) -> str:
    scene.host.write(request(ident, "tools/call", {"name": "x"}))
    message = said(scene.host)
    assert message["id"] == ident
    assert message["result"]["isError"] is True
    return str(message["result"]["content"][0]["text"])


def test_a_stop_is_a_stop_until_there_is_a_daemon_again(world: World, scene: Scene) -> None:
    scene.ask(CALL)
    stop(scene)
    assert "mcppd start" in answered_by_nobody(scene, 2)
    assert scene.tell(result(1)) == {"jsonrpc": "2.0", "id": 1, "result": {}}  # what runs may end
    scene.listener.close()
    scene.peer.close()
    for ident in range(3, 6):
        assert "mcppd start" in answered_by_nobody(scene, ident)
        select.select([], [], [], 0.2)
    assert not world.log.exists()  # nothing was started
    assert scene.host.stderr().count("\n") <= 1
    scene.listener = world.listen_again()
    scene.meet()
    scene.assert_quiet()


def test_a_stopped_daemon_gives_back_what_it_has_not_begun(scene: Scene) -> None:
    scene.ask(CALL)
    scene.peer.send(STOP + RESEND)
    message = said(scene.host)
    assert message["id"] == 1
    assert "mcppd start" in message["result"]["content"][0]["text"]


def test_what_a_stopped_daemon_was_doing_when_it_ended_is_unknown(scene: Scene) -> None:
    scene.ask(CALL)
    scene.peer.send(STOP)
    scene.listener.close()
    scene.peer.close()
    lost_call(said(scene.host), 1)


def test_a_daemon_that_crashed_after_a_stop_was_undone_is_started_again(world: World, scene: Scene) -> None:
    scene.peer.send(STOP)
    scene.next_daemon()
    scene.assert_quiet()
    scene.listener.close()
    scene.peer.close()
    eventually(world.log.exists, "a daemon is started")


def test_a_daemon_that_refuses_us_is_told_and_asked_again_now_and_then(scene: Scene) -> None:
    scene.peer.send(REFUSED)
    scene.next_daemon()
    scene.host.write(CALL)
    scene.peer.read_line()
    scene.peer.send(REFUSED)
    scene.peer.close()
    message = said(scene.host)
    assert message["result"]["isError"] is True
    assert 'not "your" registry' in message["result"]["content"][0]["text"]
    assert scene.host.stderr().count("\n") == 1
    scene.meet()
    scene.assert_quiet()


def test_a_daemon_that_may_refuse_us_too_is_not_said_to_be_there(world: World) -> None:
    scene = Scene(world, form=world.plant(ALONE_SECONDS=0))
    scene.peer.send(REFUSED)
    scene.listener.close()
    scene.peer.close()
    scene.host.write(request(1, "tools/list"))
    assert said(scene.host)["result"]["tools"][0]["name"] == "mcppd_status"
    scene.listener = world.listen_again()
    scene.meet()
    asked = request(2, "tools/call", {"name": "mcppd_status"})
    assert scene.ask(asked) == asked
    scene.peer.send(REFUSED)
    scene.peer.close()
    assert 'not "your" registry' in said(scene.host)["result"]["content"][0]["text"]
