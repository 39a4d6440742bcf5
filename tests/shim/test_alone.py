"""What a host gets while there is no daemon, in both eras; everything is held against the official schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.core.eras import LEGACY, MODERN, capabilities
from tests.shim.flows import MEBIBYTE, fill
from tests.shim.talk import (
    ACKNOWLEDGED,
    INITIALIZE,
    INITIALIZED,
    LISTEN,
    META,
    TAG,
    Scene,
    heard,
    line,
    modern,
    notification,
    request,
    result,
    said,
)
from tests.shim.world import Host, World
from tests.wire_schema import check_message

NEWEST = "2025-11-25"


@pytest.fixture
def host(world: World) -> Host:
    """The host of a shim that can't go to any daemon till `repair`."""
    (world.runtime / "mcppd").chmod(0o755)
    return world.start(form=world.plant())


def repair(world: World, host: Host) -> Scene:
    """A daemon is there from now on."""
    scene = Scene.__new__(Scene)
    scene.host = host
    scene.listener = world.listen()
    (world.runtime / "mcppd").chmod(0o700)
    scene.hello = scene.meet()
    return scene


def ask(host: Host, method: str, revision: str = NEWEST, **params: Any) -> Any:
    """The checked answer to a request of a revision's era."""
    host.write(modern("a", method, **params) if revision in MODERN else request("a", method, params))
    message = said(host)
    check_message("server", revision, message, method)
    assert message["id"] == "a"
    return message


@pytest.mark.parametrize("revision", LEGACY)
def test_a_handshake_is_as_the_daemon_would_have_it(revision: str, host: Host) -> None:
    asked: dict[str, Any] = INITIALIZE | {"protocolVersion": revision}
    found = ask(host, "initialize", revision, **asked)["result"]
    assert found["protocolVersion"] == revision
    assert found["capabilities"] == capabilities(revision)
    assert found["serverInfo"]["name"] == "mcppd"
    assert "chmod 700" in found["instructions"]


def test_a_handshake_of_no_revision_we_know_is_of_the_newest(host: Host) -> None:
    asked: dict[str, Any] = INITIALIZE | {"protocolVersion": "2026-07-28"}
    assert ask(host, "initialize", **asked)["result"]["protocolVersion"] == NEWEST
    assert ask(host, "initialize")["error"]["code"] == -32602


def test_discovery_is_as_the_daemon_would_have_it(host: Host) -> None:
    found = ask(host, "server/discover", MODERN[0])["result"]
    assert found["supportedVersions"] == list(MODERN)
    assert found["capabilities"] == capabilities(MODERN[0])
    assert "chmod 700" in found["instructions"]


@pytest.mark.parametrize("revision", [*LEGACY, *MODERN])
def test_one_tool_says_what_is_wrong_and_every_other_fails_with_it(revision: str, host: Host) -> None:
    [tool] = ask(host, "tools/list", revision)["result"]["tools"]
    assert tool["name"] == "mcppd_status"
    for name, is_error in (("mcppd_status", False), ("plan_step_done", True)):
        found = ask(host, "tools/call", revision, name=name, arguments={})["result"]
        assert found["isError"] is is_error
        assert "chmod 700" in found["content"][0]["text"]


@pytest.mark.parametrize("revision", [*LEGACY, *MODERN])
@pytest.mark.parametrize(
    ("method", "member"),
    [
        ("prompts/list", "prompts"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resourceTemplates"),
    ],
)
def test_there_is_nothing_else(method: str, member: str, revision: str, host: Host) -> None:
    assert ask(host, method, revision)["result"][member] == []


@pytest.mark.parametrize("revision", [NEWEST, *MODERN])
def test_what_can_not_be_had_is_an_error_that_says_why(revision: str, host: Host) -> None:
    for method, params in (("prompts/get", {"name": "x"}), ("resources/read", {"uri": "a:/b"})):
        error = ask(host, method, revision, **params)["error"]
        assert error["code"] == -32603
        assert "chmod 700" in error["message"]
    assert ask(host, "vendor/what", revision)["error"]["code"] == -32601
    reference = {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}}
    assert ask(host, "completion/complete", revision, **reference)["result"]["completion"] == {"values": []}


def test_each_era_has_its_own_methods(host: Host) -> None:
    for method, params in (("ping", {}), ("logging/setLevel", {"level": "info"})):
        assert ask(host, method, **params)["result"] == {}
        assert ask(host, method, MODERN[0], **params)["error"]["code"] == -32601
    assert ask(host, "initialize", MODERN[0])["error"]["code"] == -32601


def test_a_version_that_is_none_of_ours_is_told_as_such(host: Host) -> None:
    meta = META | {"io.modelcontextprotocol/protocolVersion": "2030-01-01"}
    host.write(request(1, "tools/list", {"_meta": meta}))
    error = said(host)["error"]
    assert error["code"] == -32022
    assert error["data"] == {"supported": list(MODERN), "requested": "2030-01-01"}


def test_a_batch_is_answered_as_one_and_no_json_as_such(host: Host) -> None:
    batch = [json.loads(request(1, "ping")), json.loads(INITIALIZED), json.loads(request("x", "tools/list"))]
    host.write(line(batch) + b"[1,\n" + line([json.loads(INITIALIZED)]) + request(2, "ping"))
    assert [each["id"] for each in said(host)] == [1, "x"]
    assert said(host)["error"]["code"] == -32700
    assert said(host)["id"] == 2


def test_what_a_legacy_host_has_got_from_us_holds_when_the_daemon_is_there(world: World, host: Host) -> None:
    host.write(request(0, "initialize", INITIALIZE))
    said(host)
    host.write(INITIALIZED + request(1, "logging/setLevel", {"level": "debug"}))
    said(host)
    ask(host, "tools/list")
    ask(host, "resources/list")
    scene = repair(world, host)
    repeated = [heard(scene.peer) for _ in range(3)]
    assert [each["method"] for each in repeated] == [
        "initialize",
        "notifications/initialized",
        "logging/setLevel",
    ]
    scene.peer.send(result(repeated[0]["id"]))
    changed = [said(host), said(host)]
    for each in changed:
        check_message("server", NEWEST, each)
    assert [each["method"] for each in changed] == [
        "notifications/resources/list_changed",
        "notifications/tools/list_changed",
    ]
    scene.peer.send(result(repeated[2]["id"]))
    scene.assert_quiet()
    scene.next_daemon()
    assert heard(scene.peer)["method"] == "initialize"
    assert heard(scene.peer)["method"] == "notifications/initialized"
    assert heard(scene.peer)["method"] == "logging/setLevel"
    scene.assert_quiet()  # it has been told once


def test_a_listen_is_open_without_a_daemon_and_told_when_there_is_one(world: World, host: Host) -> None:
    host.write(LISTEN + LISTEN.replace(b"listen:0", b"listen:1").replace(b"tools", b"prompts"))
    acknowledged = said(host)
    check_message("server", MODERN[0], acknowledged)
    assert acknowledged == json.loads(ACKNOWLEDGED)
    assert said(host)["params"]["_meta"] != TAG["_meta"]
    ask(host, "tools/list", MODERN[0])
    scene = repair(world, host)
    assert scene.peer.read_line() == LISTEN
    scene.peer.read_line()
    scene.peer.send(ACKNOWLEDGED)
    changed = said(host)
    check_message("server", MODERN[0], changed)
    assert changed == json.loads(notification("notifications/tools/list_changed", TAG))
    scene.assert_quiet()


def test_a_host_that_has_listed_nothing_is_told_nothing(world: World, host: Host) -> None:
    host.write(request(0, "initialize", INITIALIZE))
    said(host)
    host.write(INITIALIZED)
    ask(host, "tools/call", name="x")
    scene = repair(world, host)
    scene.peer.send(result(heard(scene.peer)["id"]))
    scene.peer.read_line()
    scene.assert_quiet()


def test_a_host_that_still_calls_our_own_tool_is_answered_by_us(world: World, host: Host) -> None:
    ask(host, "tools/list")
    scene = repair(world, host)
    assert ask(host, "tools/call", name="mcppd_status")["result"]["isError"] is False
    asked = request(1, "tools/call", {"name": "other", "arguments": {"text": "mcppd_status"}})
    assert scene.ask(asked) == asked
    scene.tell(result(1))
    scene.assert_quiet()


def test_a_call_that_waited_long_enough_is_answered_and_never_made(world: World) -> None:
    host = world.start(form=world.plant(ALONE_SECONDS=0.5))
    host.write(request(1, "tools/call", {"name": "x"}))
    assert said(host)["result"]["isError"] is True
    scene = Scene.__new__(Scene)
    scene.host = host
    scene.listener = world.listen()
    scene.meet()
    scene.assert_quiet()


@pytest.mark.slow
def test_a_host_that_reads_nothing_makes_nothing_grow(host: Host) -> None:
    ask(host, "ping")
    assert fill(host.stdin.fileno(), request(1, "ping") * 1000) < 4 * MEBIBYTE
