from __future__ import annotations

import os
import select
import signal
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcppd_shim.launch import base_environment

from tests.shim.world import LIMIT, Host, World, eventually, is_running

PLANTED = (Path(__file__).parent / "planted.py").read_text()


@pytest.fixture
def planted(world: World) -> Sequence[str]:
    """How to start a shim that has a real daemon's stand-in beside it."""
    return world.plant(PLANTED)


def ask(host: Host, line: bytes = b"ping\n") -> None:
    host.write(line)
    assert host.stdout.readline() == line


def the_start(world: World) -> dict[str, Any]:
    (start,) = world.starts()
    return start


def serving(world: World) -> list[int]:
    """The daemons that took the lock and live."""
    pids = [int(path.stem.partition("-")[2]) for path in world.tree.glob("serving-*.json")]
    return [pid for pid in pids if is_running(pid)]


def test_a_shim_starts_the_daemon_that_is_not_there(planted: Sequence[str], world: World) -> None:
    (world.runtime / "mcppd").rmdir()
    host = world.start(form=planted)
    ask(host)
    host.stdin.close()
    assert host.stdout.read() == b""
    assert host.wait() == 0
    assert host.stderr() == ""
    assert the_start(world)["arguments"] == ["serve", "--background"]


def test_the_next_shim_uses_the_daemon_that_is_there(planted: Sequence[str], world: World) -> None:
    for _ in range(2):
        ask(world.start(form=planted))
    assert len(world.starts()) == 1


def test_a_socket_that_a_killed_daemon_left_behind_is_no_obstacle(
    planted: Sequence[str], world: World
) -> None:
    first = world.start(form=planted)
    ask(first)
    process = os.pidfd_open(the_start(world)["pid"])
    signal.pidfd_send_signal(process, signal.SIGKILL)
    assert select.select([process], [], [], LIMIT)[0]  # all of its threads are gone, and its sockets
    os.close(process)
    eventually(lambda: len(serving(world)) == 1, "the shim has noticed, and another serves")
    for host in (first, world.start(form=planted)):
        ask(host)
    assert len(serving(world)) == 1


def test_eight_shims_at_once_share_one_daemon(planted: Sequence[str], world: World) -> None:
    hosts = [world.start(form=planted) for _ in range(8)]
    for number, host in enumerate(hosts):
        ask(host, b"%d\n" % number)
    eventually(lambda: len(serving(world)) == 1, "one daemon serves")
    others = [start["pid"] for start in world.starts() if start["pid"] not in serving(world)]
    eventually(lambda: not any(map(is_running, others)), "those that found the lock taken have ended")
    for host in hosts:
        ask(host)
        assert host.stderr() == ""


def test_a_daemon_that_was_just_ending_is_followed_by_another_at_once(world: World) -> None:
    loser = "import sys, pathlib\nflag = pathlib.Path(__file__).with_name('lost')\n"
    loser += "if not flag.exists():\n    flag.touch()\n    sys.exit(3)\n"
    text = PLANTED.replace("\nmain()\n", "\n" + loser + "main()\n")
    host = world.start(form=world.plant(text, MIN_RELAUNCH_SECONDS=60))
    ask(host)
    assert (world.tree / "mcppd" / "lost").exists()


@pytest.mark.slow
def test_where_systemd_listens_nothing_is_started_by_us(world: World) -> None:
    enabled = world.home / ".config" / "systemd" / "user" / "sockets.target.wants" / "mcppd.socket"
    enabled.parent.mkdir(parents=True)
    enabled.symlink_to("/usr/lib/systemd/user/mcppd.socket")  # whose target is somewhere else, or gone
    form = world.plant(PLANTED, ALONE_SECONDS=2)
    (world.runtime / "systemd").mkdir()
    (world.runtime / "systemd" / "private").touch()
    host = world.start(form=form)
    host.write(b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}\n')
    assert b"run `mcppd start`" in host.stdout.readline()
    assert not world.log.exists()
    ask(world.start("--socket", f"{world.runtime}/mcppd/other.sock", form=form))  # which isn't systemd's
    (world.runtime / "systemd" / "private").unlink()  # as in a container that shares the home directory
    ask(world.start(form=form))


def test_of_many_shims_that_miss_the_daemon_one_starts_it(planted: Sequence[str], world: World) -> None:
    hosts = [world.start(form=planted) for _ in range(4)]
    for host in hosts:
        ask(host)
    before = len(world.starts())
    [pid] = serving(world)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: len(serving(world)) == 1 and serving(world) != [pid], "another serves")
    asked = [b"%d\n" % number for number in range(len(hosts))]
    eventually(lambda: len(connections(world)) == len(hosts), "all are connected to it")
    for host, line in zip(hosts, asked, strict=True):
        ask(host, line)
    assert len(world.starts()) == before + 1


def connections(world: World) -> list[Path]:
    """What the daemon that serves has accepted, once it is only one."""
    pid, *others = serving(world) or [0]
    if others or not pid:
        return []
    files = Path(f"/proc/{pid}/fd").iterdir()
    return [file for file in files if os.readlink(file).startswith("socket:")][1:]


@pytest.mark.slow
def test_a_daemon_that_has_worked_has_time_to_get_well(world: World) -> None:
    broken = (
        "import pathlib, sys\nif pathlib.Path(__file__).with_name('broken').exists(): sys.exit('broken')\n"
    )
    text = PLANTED.replace("from __future__ import annotations\n", broken)
    host = world.start(form=world.plant(text))
    ask(host)
    flag = world.tree / "mcppd" / "broken"
    flag.touch()
    process = os.pidfd_open(the_start(world)["pid"])
    signal.pidfd_send_signal(process, signal.SIGKILL)
    assert select.select([process], [], [], LIMIT)[0]
    os.close(process)
    asked = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n'
    host.write(asked)
    eventually(lambda: world.log.read_text().count("broken") >= 3, "it is tried again and again")
    flag.unlink()
    assert host.stdout.readline() == asked
    assert host.stderr() == ""


def test_a_shim_that_is_reached_by_a_link_finds_the_daemon_of_its_tree(
    planted: Sequence[str], world: World
) -> None:
    links = world.base / "links"
    links.mkdir()
    (links / "mcppd_shim").symlink_to(world.tree / "shim")
    ask(world.start(form=(*planted[:-1], f"{links}/mcppd_shim/__main__.py")))
    assert len(world.starts()) == 1


def test_the_daemon_stands_apart_from_whoever_started_it(planted: Sequence[str], world: World) -> None:
    host = world.start(form=planted, start_new_session=True)
    ask(host)
    start = the_start(world)
    assert start["parent"] != host.pid
    assert start["session"] not in (host.pid, start["pid"], os.getsid(0))
    assert start["group"] == start["session"]
    assert start["cwd"] == "/"
    assert start["umask"] == 0o077
    os.killpg(host.pid, signal.SIGKILL)
    host.wait()
    ask(world.start(form=planted))
    assert the_start(world)["pid"] == start["pid"]


def test_the_daemon_has_no_descriptor_of_anybody_else(planted: Sequence[str], world: World) -> None:
    reader, writer = os.pipe()
    host = world.start(form=planted, pass_fds=(reader, writer))
    os.close(reader)
    os.close(writer)
    ask(host)
    assert the_start(world)["files"] == {"0": "/dev/null", "1": str(world.log), "2": str(world.log)}


def test_ignored_and_blocked_signals_stay_behind(planted: Sequence[str], world: World) -> None:
    code = (
        "import os, signal, sys; every = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP};"
        "[signal.signal(number, signal.SIG_IGN) for number in every];"
        "signal.pthread_sigmask(signal.SIG_BLOCK, every); os.execv(sys.argv[1], sys.argv[1:])"
    )
    ask(world.start(form=(sys.executable, "-c", code, *planted)))
    start = the_start(world)
    pythons_own = 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)
    until_it_serves = 1 << (signal.SIGHUP - 1) | 1 << (signal.SIGUSR1 - 1)
    assert start["ignored"] & ~pythons_own == until_it_serves
    assert start["blocked"] == 0


def test_the_daemon_gets_the_base_environment_and_nothing_else(planted: Sequence[str], world: World) -> None:
    kept = {
        **world.environ,
        "USER": "u",
        "LOGNAME": "l",
        "SHELL": "/bin/sh",
        "TZ": "UTC",
        "XDG_DATA_HOME": "/d",
        "MCPP_LOG_LEVEL": "debug",
        "MCPP_TIMEOUT_SECONDS": "5",
        "MCPPD_PLAN_DB": "/p.db",
    }
    systemd = (
        "NOTIFY_SOCKET",
        "LISTEN_FDS",
        "LISTEN_PID",
        "WATCHDOG_USEC",
        "INVOCATION_ID",
        "JOURNAL_STREAM",
    )
    dropped = {"SECRET": "s", "PYTHONPATH": "/nowhere", "LC_ALL": "C", "EMPTY": "", "MCPPX": "x"}
    ask(world.start(form=planted, environ={**kept, **dropped, **dict.fromkeys(systemd, "1")}))
    assert the_start(world)["environ"] == kept


def test_a_blank_environment_is_filled_with_what_a_daemon_needs() -> None:
    base = base_environment({})
    assert set(base) == {"HOME", "PATH", "LANG"}
    assert Path(base["HOME"]).is_absolute()
    assert "/usr/bin" in base["PATH"].split(":")


@pytest.mark.parametrize(
    ("given", "held"),
    [("en_US.UTF-8", "en_US.UTF-8"), ("de_DE.utf8", "de_DE.utf8"), ("C", "C.UTF-8"), ("de_DE", "C.UTF-8")],
)
def test_the_language_is_always_utf8(given: str, held: str) -> None:
    assert base_environment({"LANG": given})["LANG"] == held


def test_names_given_relative_to_the_shim_reach_the_daemon_as_absolute_ones(
    planted: Sequence[str], world: World
) -> None:
    (world.home / "run").mkdir(0o700)
    environ = world.environ | {"MCPP_BASE_DIR": "base"}
    arguments = "--config=own.yaml", "--socket", "run/own.sock", "--workspace", "w", "--meta-tools"
    ask(world.start(*arguments, form=planted, environ=environ))
    start = the_start(world)
    assert start["arguments"] == [
        "serve",
        "--background",
        "--config",
        f"{world.home}/own.yaml",
        "--socket",
        f"{world.home}/run/own.sock",
    ]
    assert start["environ"]["MCPP_BASE_DIR"] == f"{world.home}/base"


def test_another_registry_has_another_daemon(planted: Sequence[str], world: World) -> None:
    ask(world.start(form=planted))
    ask(world.start("--config", "/some/tools.yaml", form=planted))
    ask(world.start("--config", "/other/tools.yaml", form=planted))
    ask(world.start("--config", "/other/tools.yaml", form=planted))
    eventually(lambda: len(serving(world)) == 3, "three registries, three daemons")


def test_the_log_is_private_and_appended_to(planted: Sequence[str], world: World) -> None:
    world.log.parent.mkdir(0o755)
    world.log.write_text("before\n")
    world.log.chmod(0o644)
    ask(world.start(form=planted))
    assert stat.S_IMODE(world.log.stat().st_mode) == 0o600
    assert stat.S_IMODE(world.log.parent.stat().st_mode) == 0o700
    said = world.log.read_text()
    assert said.startswith("before\n")
    assert "planted daemon" in said


def test_the_way_to_the_log_is_made(planted: Sequence[str], world: World) -> None:
    environ = {name: value for name, value in world.environ.items() if name != "XDG_STATE_HOME"}
    ask(world.start(form=planted, environ=environ))
    state = world.home / ".local" / "state" / "mcppd"
    assert (state / "daemon.log").exists()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (state, *state.parents[:2])} == {0o700}


@pytest.mark.parametrize("obstacle", ["no directory", "link"])
def test_a_log_that_can_not_be_opened_keeps_nobody_from_working(
    obstacle: str, planted: Sequence[str], world: World
) -> None:
    if obstacle == "link":
        world.log.parent.mkdir()
        world.log.symlink_to(world.base / "elsewhere")
    else:
        world.log.parent.write_text("")
    host = world.start(form=planted)
    ask(host)
    assert the_start(world)["files"] == dict.fromkeys("012", "/dev/null")
    assert not (world.base / "elsewhere").exists()
