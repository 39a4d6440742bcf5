"""How a shim ends with those who started it: signals, and a parent that is gone."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from typing import IO

import pytest

from tests.shim.flows import fill
from tests.shim.world import END, PLAIN, Host, Peer, World, eventually, is_running

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
# A parent that starts a shim, says its pid, and then waits to be killed.
PARENT = """
import subprocess, sys
stdin, stdout = (getattr(subprocess, name) for name in sys.argv[1:3])
child = subprocess.Popen(sys.argv[3:], stdin=stdin, stdout=stdout)
print(child.pid, flush=True)
child.wait()
"""
GONE_SECONDS = 2.0  # A2


def idle(world: World) -> tuple[Host, Peer]:
    return world.connect()


def ended_by_its_host(world: World) -> tuple[Host, Peer]:
    host, peer = world.connect()
    host.stdin.close()
    assert peer.read_rest() == END
    return host, peer


def behind_a_host_that_reads_nothing(world: World) -> tuple[Host, Peer]:
    host, peer = world.connect()
    fill(peer.connection.fileno())
    return host, peer


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
@pytest.mark.parametrize("state", [idle, ended_by_its_host, behind_a_host_that_reads_nothing])
def test_a_signal_ends_the_shim_at_once_and_without_a_word(
    state: Callable[[World], tuple[Host, Peer]], number: signal.Signals, world: World
) -> None:
    host, peer = state(world)
    host.process.send_signal(number)
    assert host.wait() == -number
    assert host.stderr() == ""
    eventually(peer.is_closed, "the daemon sees it go")


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_a_signal_ends_the_shim_even_if_its_parent_ignored_or_blocked_it(
    number: signal.Signals, world: World
) -> None:
    listener = world.listen()
    code = (
        "import os, signal, sys; number = int(sys.argv[1]);"
        "signal.signal(number, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, [number]);"
        "os.execv(sys.argv[2], sys.argv[2:])"
    )
    host = world.start(form=(sys.executable, "-c", code, str(int(number)), *PLAIN))
    listener.accept().read_hello()
    host.process.send_signal(number)
    assert host.wait() == -number


def start_parent(world: World, stdin: str, stdout: str) -> tuple[Host, int]:
    parent = world.start(form=(sys.executable, "-c", PARENT, stdin, stdout, *PLAIN))
    line = parent.stdout.readline()
    return parent, int(line)


def kill(parent: Host) -> None:
    parent.process.kill()
    parent.wait()


def test_a_shim_is_gone_within_two_seconds_of_its_parent(world: World) -> None:
    listener = world.listen()
    parent, shim = start_parent(world, "PIPE", "PIPE")
    peer = listener.accept()
    peer.read_hello()
    kill(parent)
    eventually(lambda: not is_running(shim), "the shim is gone", GONE_SECONDS)
    eventually(peer.is_closed, "the daemon sees it go")


@pytest.mark.slow
def test_a_shim_whose_stdout_has_other_readers_is_gone_within_two_seconds_of_its_parent(world: World) -> None:
    listener = world.listen()
    parent, shim = start_parent(world, "PIPE", "DEVNULL")
    peer = listener.accept()
    peer.read_hello()
    kill(parent)
    assert (
        peer.read_rest() == END
    )  # stdin ended; the call that runs goes on until we know that nobody is left
    eventually(lambda: not is_running(shim), "the shim is gone", GONE_SECONDS)


@pytest.mark.slow
def test_a_shim_stays_for_the_last_answer_while_its_parent_lives(world: World) -> None:
    host, peer = ended_by_its_host(world)
    with pytest.raises(subprocess.TimeoutExpired):
        host.process.wait(1.5)  # longer than the shim's look at its parent takes to come
    peer.send(b"answer\n")
    assert host.stdout.readline() == b"answer\n"
    peer.close()
    assert host.wait() == 0


def test_a_shim_that_waits_for_a_daemon_is_gone_with_its_host(world: World) -> None:
    ends: list[Callable[[Host, IO[bytes]], None]] = [
        lambda host, stdout: stdout.close(),
        lambda host, stdout: host.process.send_signal(signal.SIGTERM),
    ]
    form = world.plant()  # a "daemon" that never serves
    for end in ends:
        host = world.start(form=form)
        eventually(world.log.exists, "it has tried to start a daemon")
        end(host, host.stdout)
        assert host.process.wait(GONE_SECONDS) in (0, -signal.SIGTERM)
        world.log.unlink(missing_ok=True)


def test_a_shim_that_waits_for_a_daemon_is_gone_with_its_parent(world: World) -> None:
    parent = world.start(form=(sys.executable, "-c", PARENT, "PIPE", "DEVNULL", *world.plant()))
    shim = int(parent.stdout.readline())
    eventually(world.log.exists, "it has tried to start a daemon")
    kill(parent)
    eventually(lambda: not is_running(shim), "the shim is gone", GONE_SECONDS)
