from __future__ import annotations

import json
import os
import socket
import sys
import time
from pathlib import Path

import pytest

from tests.shim.flows import fill
from tests.shim.world import PLAIN, Host, World, eventually

AS_ROOT = os.getuid() == 0
NOBODY = 65534


def reason_of(host: Host) -> str:
    """Why there is no daemon, as an agent gets it that calls a tool; the agent's person has it on stderr too."""
    host.write(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"plan_task_list"}}\n')
    answer = json.loads(host.stdout.readline())
    assert answer["id"] == 7
    assert answer["result"]["isError"] is True
    [item] = answer["result"]["content"]
    assert "was not begun" in item["text"]
    said = host.stderr()
    assert said.count("\n") == 1
    assert said.removeprefix("mcppd-shim: ").rstrip() in item["text"].replace("\n", " ")
    return str(item["text"])


def assert_refused(host: Host, world: World, *words: str) -> None:
    """It says why in one line, answers with it, stays; and nothing was started or taken away."""
    said = reason_of(host)
    for word in words:
        assert word in said
    assert not world.log.exists()
    assert host.process.poll() is None
    host.stdin.close()
    assert host.wait() == 1


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_runtime_directory_that_others_can_enter_is_refused(mode: int, world: World) -> None:
    world.listen()
    (world.runtime / "mcppd").chmod(mode)
    host = world.start(form=world.plant())
    assert_refused(host, world, f"{world.runtime}/mcppd", f"{mode:04o}", "chmod 700")


def test_a_runtime_directory_that_is_a_link_is_refused(world: World) -> None:
    (world.runtime / "mcppd").rename(world.base / "moved")
    (world.runtime / "mcppd").symlink_to(world.base / "moved")
    world.listen()
    assert_refused(world.start(form=world.plant()), world, f"{world.runtime}/mcppd", "link")


def test_the_directory_of_another_registry_is_checked_too(world: World) -> None:
    form = world.plant()
    arguments = ("--config", "/some/tools.yaml")
    (world.runtime / "mcppd").chmod(0o755)
    assert_refused(world.start(*arguments, form=form), world, f"{world.runtime}/mcppd has mode")


def test_the_directory_of_a_named_socket_is_checked(world: World) -> None:
    open_directory = world.base / "open"
    open_directory.mkdir()
    open_directory.chmod(0o755)
    world.listen(f"{open_directory}/own.sock")
    host = world.start("--socket", f"{open_directory}/own.sock", form=world.plant())
    assert_refused(host, world, str(open_directory))


def test_a_way_that_leads_through_a_file_is_refused_by_name(world: World) -> None:
    (world.base / "file").write_text("")
    host = world.start("--socket", f"{world.base}/file/run/own.sock", form=world.plant())
    assert_refused(host, world, f"{world.base}/file/run")


@pytest.mark.skipif(not AS_ROOT, reason="optional: only root can listen as another user")
def test_a_socket_that_another_user_serves_is_refused(world: World) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(world.socket_path)
        os.seteuid(NOBODY)
        try:
            listener.listen()  # the moment whose user SO_PEERCRED tells
        finally:
            os.seteuid(0)
        host = world.start(form=world.plant())
        assert_refused(host, world, str(NOBODY))


def test_a_daemon_that_is_behind_with_accepting_is_waited_for_and_not_doubled(world: World) -> None:
    listener = world.listen(backlog=0)
    with socket.socket(socket.AF_UNIX) as first:
        first.connect(world.socket_path)  # fills the backlog
        host = world.start(form=world.plant())
        before = waits(host.pid)
        eventually(lambda: waits(host.pid) > before + 10, "the shim waits between its attempts")
        listener.accept()
        listener.accept().read_hello()
    assert not world.log.exists()


def waits(pid: int) -> int:
    """How often a process has given up the processor to wait."""
    (line,) = [
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "voluntary" in line[:9]
    ]
    return int(line.split()[1])


def test_a_daemon_that_does_not_come_is_told_with_path_errno_and_the_end_of_its_log(world: World) -> None:
    world.log.parent.mkdir()
    world.log.write_text("a fault of yesterday\n")
    daemon = "import sys; sys.exit('/x/tools.yaml:3: not a mapping')"
    host = world.start(form=world.plant(daemon))  # it is known to have ended: nobody waits
    said = reason_of(host)
    for part in (world.socket_path, "[Errno 2]", str(world.log), "/x/tools.yaml:3: not a mapping"):
        assert part in said
    assert "yesterday" not in said


@pytest.mark.slow
def test_a_daemon_that_does_not_come_is_tried_less_and_less_often(world: World) -> None:
    daemon = "import pathlib, sys; pathlib.Path(__file__).with_name('tries').open('a').write('x')"
    host = world.start(form=world.plant(daemon))
    tries = world.tree / "mcppd" / "tries"
    eventually(lambda: tries.exists() and len(tries.read_text()) == 8, "it is tried again")
    before = time.monotonic()
    eventually(lambda: len(tries.read_text()) == 9, "and again")
    assert time.monotonic() - before > 0.35
    assert reason_of(host)


def test_a_daemon_that_says_too_much_before_it_dies_is_cut_short(world: World) -> None:
    daemon = "import sys; sys.exit(('x' * 500_000) + '\\x1b[31m\\xff the cause')"
    host = world.start(form=world.plant(daemon, ALONE_SECONDS=0.5))
    assert "the cause" in reason_of(host)
    assert "\x1b" not in host.stderr()


def test_a_refused_connection_that_stays_refused_is_told_with_its_errno(world: World) -> None:
    world.listen().close()
    host = world.start(form=world.plant(ALONE_SECONDS=0.3))
    assert "[Errno 111]" in reason_of(host)


def test_a_stderr_that_nobody_drains_holds_nobody_up(world: World) -> None:
    reader, writer = os.pipe()
    fill(writer)
    os.set_blocking(writer, True)
    code = "import os, sys; os.dup2(int(sys.argv[1]), 2); os.execv(sys.argv[2], sys.argv[2:])"
    host = world.start("--wrong", form=(sys.executable, "-c", code, str(writer), *PLAIN), pass_fds=(writer,))
    assert host.wait() == 2
    os.close(reader)
    os.close(writer)
