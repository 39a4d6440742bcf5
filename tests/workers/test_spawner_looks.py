"""The spawner (D2): what it sees of living workers, and when that is too much (issue, 1)."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from mcppd.workers import spawner_processes as processes
from tests.workers.child_peer import CHILD, wait_until, write_module
from tests.workers.spawner_peer import Spawner

MODULE = """
    import os, resource, subprocess, sys, threading, time
    kept = []
    def start(count):
        kept.extend(subprocess.Popen(["sleep", "1000"]) for _ in range(count))
    def fork(count, held=0):
        for _ in range(count):
            reading, writing = os.pipe()
            if not os.fork():
                new = b"x" * held
                os.write(writing, b"x")
                time.sleep(1000)
            os.read(reading, 1)
    def spin():
        while True: pass
    def execute(tool_name, arguments, context=None):
        return {"success": True, "result": eval(arguments["value"])}
"""
MEGABYTE = 1024**2


@pytest.fixture
def module(tmp_path: Path) -> Path:
    return write_module(tmp_path / "module", MODULE)


def value(code: str) -> dict[str, str]:
    return {"value": code}


@pytest.mark.parametrize("command", [None, [sys.executable, "-E", "-B", CHILD, "3"]])
def test_a_worker_is_refused_more_memory_than_its_bound(
    spawner: Spawner, module: Path, command: list[str] | None
) -> None:
    worker = spawner.spawn(module, command, memory=200 * MEGABYTE)
    assert worker.call(arguments=value("resource.getrlimit(resource.RLIMIT_DATA)[0]")).value == 200 * MEGABYTE
    said = worker.call(arguments=value("len(b'x' * (200 << 20))"))
    assert said.error
    assert "MemoryError" in said.text
    assert "200M: `memory`" in said.text
    assert worker.call(arguments=value("len(b'x' * (20 << 20))")).value == 20 * MEGABYTE


def test_without_a_bound_there_is_none(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module)
    assert worker.call(arguments=value("resource.getrlimit(resource.RLIMIT_DATA)[0]")).value == -1
    worker.call(arguments=value("start(40)"))
    spawner.look()
    assert worker.call(arguments=value("1")).value == 1


@pytest.mark.slow
def test_a_tree_with_more_memory_than_the_bound_is_ended(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module, memory=200 * MEGABYTE)
    worker.call(arguments=value("fork(3, 50 << 20)"))
    spawner.look()
    assert worker.call(arguments=value("1")).value == 1
    worker.call(arguments=value("fork(2, 50 << 20)"))
    wait_until(lambda: spawner.look() and "died" in {each["op"] for each in _pending(spawner)}, "it is ended")
    excess = spawner.death(worker)["excess"]
    assert (excess["limit"], excess["allowed"]) == ("memory", 200 * MEGABYTE)
    assert excess["used"] > 250 * MEGABYTE


def _pending(spawner: Spawner) -> list[dict[str, object]]:
    return spawner.reports


def test_memory_that_forks_share_is_counted_once(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module, memory=400 * MEGABYTE)
    worker.call(arguments=value("kept.append(b'x' * (150 << 20)) or fork(5)"))
    spawner.look()
    assert worker.call(arguments=value("1")).value == 1


def test_one_process_more_than_the_bound_is_too_many_and_ended_ones_do_not_count(
    spawner: Spawner, module: Path
) -> None:
    worker = spawner.spawn(module, processes=10)
    worker.call(arguments=value("[os.fork() or os._exit(0) for _ in range(20)] and start(10)"))
    assert spawner.look()["restless"]
    assert worker.call(arguments=value("1")).value == 1
    worker.call(arguments=value("start(1)"))
    spawner.look()
    report = spawner.death(worker)
    assert report["excess"] == {"limit": "processes", "used": None, "allowed": 10}
    assert report["status"] == 9
    assert spawner.children() == []


@pytest.mark.slow
def test_a_worker_that_works_without_a_call_is_told(spawner: Spawner, module: Path) -> None:
    worker, other = spawner.spawn(module), spawner.spawn(module)
    assert other.call(arguments=value("1")).value == 1
    worker.call(arguments=value("threading.Thread(target=spin).start()"))
    for _ in range(3):
        assert spawner.look()["spinning"] == []  # it has calls

    def is_noticed() -> bool:
        select.select([worker.socket], [], [], 0.1)  # looks without a pause would leave it no processor
        return bool(spawner.look(worker, other)["spinning"] == [worker.number])

    wait_until(is_noticed, "it is noticed")
    assert worker.call(arguments=value("1")).value == 1


@pytest.mark.parametrize("tells_children", [True, False])
def test_a_tree_is_found_whatever_the_kernel_tells(
    monkeypatch: pytest.MonkeyPatch, tells_children: bool
) -> None:
    monkeypatch.setattr(processes, "_TELLS_CHILDREN", tells_children)
    code = (
        "import os, threading\n"
        "for _ in range(2): os.fork()\n"
        "thread = threading.Thread(target=lambda: os.fork() or os.read(0, 1)); thread.start()\n"
        "os.write(1, b'x'); os.read(0, 1)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(4):
            os.read(process.stdout.fileno(), 1)
        wait_until(lambda: len(processes.tree(process.pid) or ()) == 8, "eight processes")
        assert processes.tree(process.pid, 6) is None
        assert len(processes.tree(process.pid, 7) or ()) == 8
        assert processes.kill_trees([process.pid])
        process.wait()
        assert processes.tree(process.pid) == [process.pid]
