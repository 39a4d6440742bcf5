"""A sandbox forbids the daemon's socket: the shim's process becomes `mcppd stdio`, and loses nothing on the way."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox import confined, sandboxes
from tests.shim.world import Host, World, eventually

AS_ROOT = os.getuid() == 0
# What it becomes here: it writes down how it was started, and all that comes.
BECOMES = """
import json, os, pathlib, sys
if sys.argv[1] == "stdio":
    [read] = [word.removeprefix("--read=") for word in sys.argv if word.startswith("--read=")] or [None]
    before = b"" if read is None else open(int(read), "rb").read()
    facts = {"words": sys.argv[1:], "pid": os.getpid(), "environ": dict(os.environ)}
    facts["isolated"] = sys.flags.ignore_environment
    facts["came"] = (before + sys.stdin.buffer.read()).decode()
    pathlib.Path(__file__).with_name("became.json").write_text(json.dumps(facts))
else:
    import time; time.sleep(1000)
"""
WEAK = ("setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--") if AS_ROOT else ()
weaklings = pytest.mark.skipif(
    AS_ROOT and shutil.which("setpriv") is None, reason="optional: root needs setpriv to be as weak as others"
)


def became(host: Host, world: World) -> dict[str, Any]:
    """What the shim has become, after the end of stdin; it said nothing itself, and started and removed nothing."""
    host.stdin.close()
    assert host.wait() == 0
    assert host.stderr() == ""
    facts: dict[str, Any] = json.loads((world.tree / "mcppd" / "became.json").read_text())
    assert facts["pid"] == host.pid
    return facts


def because(facts: dict[str, Any]) -> str:
    [reason] = [word for word in facts["words"] if word.startswith("--because=")]
    return str(reason)


@sandboxes
@pytest.mark.parametrize("call", ["socket", "connect"])
@pytest.mark.parametrize("place", ["a daemon runs", "no daemon", "no directory"])
def test_a_system_call_that_is_forbidden_is_a_sandbox_and_not_a_dead_daemon(
    place: str, call: str, world: World
) -> None:
    if place == "a daemon runs":
        world.listen()
    elif place == "no directory":
        (world.runtime / "mcppd").rmdir()
    environ = world.environ | {"PYTHONPATH": "/some/where", "OWN": "ü"}
    host = world.start(form=confined(world.plant(BECOMES), call), environ=environ)
    host.write(b"one\ntwo")
    facts = became(host, world)
    assert facts["came"] == "one\ntwo"
    assert facts["isolated"]
    assert environ.items() <= facts["environ"].items()
    for part in ("sandbox", world.socket_path, "[Errno 1]"):
        assert part in because(facts)
    assert not world.log.exists()
    assert Path(world.socket_path).is_socket() is (place == "a daemon runs")


@weaklings
def test_a_socket_that_may_not_be_used_is_a_sandbox_too(world: World) -> None:
    world.listen()
    Path(world.socket_path).chmod(0)
    facts = became(world.start(form=(*WEAK, *world.plant(BECOMES))), world)
    assert "[Errno 13]" in because(facts)
    assert Path(world.socket_path).is_socket()


@weaklings
def test_what_was_read_by_then_is_handed_over_in_order(world: World) -> None:
    host = world.start(form=(*WEAK, *world.plant(BECOMES)))
    lines = [
        b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}\n',
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n',
        b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n',
        b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","text":"%b"}}\n'
        % (b"x" * 200_000),
    ]
    host.write(b"".join(lines) + b'{"jsonrpc":"2.0","id":4,')  # more than a pipe holds: it has been read
    eventually(lambda: waiting_in(host.stdin.fileno()) == 0, "all of it is read")
    listener = world.listen(str(world.base / "elsewhere"))
    Path(world.base / "elsewhere").chmod(0)
    Path(world.base / "elsewhere").rename(world.socket_path)
    eventually(lambda: b"\0stdio\0" in Path(f"/proc/{host.pid}/cmdline").read_bytes(), "it becomes another")
    host.write(b'"method":"ping"}\n')
    facts = became(host, world)
    assert facts["came"].encode() == b"".join(lines) + b'{"jsonrpc":"2.0","id":4,"method":"ping"}\n'
    listener.close()


def waiting_in(pipe: int) -> int:
    """How many bytes nobody has read yet."""
    from array import array
    from fcntl import ioctl
    from termios import FIONREAD

    found = array("i", [0])
    ioctl(pipe, FIONREAD, found)
    return found[0]


@sandboxes
def test_its_options_are_handed_over_absolute(world: World) -> None:
    arguments = ("--config", "tools.yaml", "--workspace=there", "--meta-tools", "--socket", "/tmp/x")
    facts = became(world.start(*arguments, form=confined(world.plant(BECOMES), "socket")), world)
    rest = [word for word in facts["words"] if not word.startswith("--because=")]
    assert rest == [
        "stdio",
        f"--config={world.home}/tools.yaml",
        f"--workspace={world.home}/there",
        "--meta-tools",
    ]


@sandboxes
def test_where_pairs_are_forbidden_too_it_stays_and_says_why(world: World) -> None:
    host = world.start(form=confined(world.plant(BECOMES), "socket", "socketpair"))
    host.write(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"plan_task_list"}}\n')
    [item] = json.loads(host.stdout.readline())["result"]["content"]
    for part in ("sandbox", "[Errno 1]", "socketpair(2)", "was not begun"):
        assert part in item["text"]
    assert host.stderr().count("\n") == 1
    host.stdin.close()
    assert host.wait() == 1
    assert not (world.tree / "mcppd" / "became.json").exists()


@weaklings
def test_a_shim_that_had_a_daemon_stays_a_shim(world: World) -> None:
    listener = world.listen()
    host = world.start(form=(*WEAK, *world.plant(BECOMES)))
    peer = listener.accept()
    peer.read_hello()
    Path(world.socket_path).chmod(0)
    peer.close()
    host.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
    assert b"mcppd_status" in host.stdout.readline()
    host.stdin.close()
    assert host.wait() == 1
