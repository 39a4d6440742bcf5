"""Marks: what a daemon that is no more has left is found and ended, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from mcppd.workers import marks
from mcppd.workers import spawner_processes as processes
from mcppd.workers.child.variables import MARK
from tests.workers.child_peer import LIMIT, is_alive, wait_until


@pytest.fixture
def gone() -> str:
    """The mark of a daemon that is no more."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as daemon:
        return f"{daemon.pid}.{processes.started(daemon.pid)}"


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    made: list[subprocess.Popen[bytes]] = []
    yield made
    for each in made:
        each.kill()
        each.communicate(timeout=LIMIT)


def start(started: list[subprocess.Popen[bytes]], mark: str | None, *command: str) -> subprocess.Popen[bytes]:
    environment = {"PATH": os.environ["PATH"]} | ({MARK: mark} if mark is not None else {})
    words = command or ("sleep", "1000")
    made = subprocess.Popen(words, env=environment, start_new_session=True, stdout=subprocess.PIPE)
    started.append(made)
    return made


def test_what_bears_the_mark_of_a_daemon_that_is_gone_is_ended_with_all_below_it(
    gone: str, started: list[subprocess.Popen[bytes]]
) -> None:
    orphan = start(started, gone)
    parent = start(started, gone, "sh", "-c", f"env -u {MARK} sleep 1000 & echo $!; wait")
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert marks.end_orphans()
    assert orphan.wait(LIMIT) == parent.wait(LIMIT) == -9
    wait_until(lambda: not is_alive(child), "the child without a mark has ended")


def test_what_a_living_daemon_has_started_and_what_bears_no_mark_stays(
    gone: str, started: list[subprocess.Popen[bytes]]
) -> None:
    [mine] = marks.own().values()
    pid, _, began = mine.partition(".")
    kept = [start(started, mark) for mark in (mine, None, "", "nonsense", f"{pid}", f"x.{began}")]
    another = start(started, f"{pid}.{int(began) + 1}")  # that number had another process once
    marks.end_orphans()
    assert another.wait(LIMIT) == -9
    assert all(each.poll() is None for each in kept)


def test_who_looks_and_those_above_it_stay(gone: str, started: list[subprocess.Popen[bytes]]) -> None:
    code = "from mcppd.workers import marks; print(marks.end_orphans())"
    looks = start(started, gone, "sh", "-c", f"{sys.executable} -c '{code}'; echo lives")
    assert looks.stdout is not None
    assert looks.stdout.read().split() == [b"False", b"lives"]
