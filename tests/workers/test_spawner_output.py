"""The logs of workers: complete, capped, private, and never in anybody's way."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.workers.child_peer import wait_until, write_module
from tests.workers.spawner_peer import Spawner

MODULE = """
    import ctypes, os, subprocess, sys, time
    def execute(tool_name, arguments, context=None):
        exec(arguments["run"], globals())
        return {"success": True}
"""
MEBIBYTE = 1024 * 1024


@pytest.fixture
def module(tmp_path: Path) -> Path:
    return write_module(tmp_path / "module", MODULE)


@pytest.mark.parametrize(
    "code",
    [
        "print('here')",
        "os.write(1, b'here')",
        "os.write(2, b'here')",
        "ctypes.CDLL(None).printf(b'here')",
        "os.system('echo here')",
        "subprocess.Popen(['sh', '-c', 'sleep 0.1; echo here'])",
    ],
)
def test_whatever_a_tool_prints_is_in_its_log(spawner: Spawner, module: Path, code: str) -> None:
    worker = spawner.spawn(module)
    assert not worker.call(arguments={"run": code}).error
    worker.output_within("here")


def test_a_log_and_its_directories_are_private(spawner: Spawner, module: Path, tmp_path: Path) -> None:
    log = tmp_path / "state" / "mcppd" / "worker.log"
    worker = spawner.spawn(module, log=log)
    worker.call(arguments={"run": "print('here')"})
    worker.output_within("here")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert {stat.S_IMODE(each.stat().st_mode) for each in (log.parent, log.parent.parent)} == {0o700}


def test_a_log_is_capped_and_one_older_file_is_kept(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module)
    worker.call(arguments={"run": "for n in range(50000): print('%09d' % n, 'x' * 90)"})
    worker.call(arguments={"run": "print('the last line')"})
    worker.output_within("the last line")
    older = worker.log.with_name(worker.log.name + ".1")
    assert sorted(os.listdir(worker.log.parent)) == sorted([worker.log.name, older.name])
    assert MEBIBYTE - 65536 <= older.stat().st_size <= MEBIBYTE
    assert worker.log.stat().st_size <= MEBIBYTE
    both = older.read_text() + worker.output
    numbers = [int(line[:9]) for line in both.splitlines()[1:-1]]
    assert numbers == list(range(numbers[0], 50000))


def test_workers_share_a_log(spawner: Spawner, module: Path) -> None:
    workers = [spawner.spawn(module) for _ in range(3)]
    for at, worker in enumerate(workers):
        worker.call(arguments={"run": f"print('worker', {at})"})
    for at, worker in enumerate(workers):
        worker.output_within(f"worker {at}\n")
    spawner.end(workers[0])
    workers[1].call(arguments={"run": "print('still here')"})
    workers[1].output_within("still here")


def test_a_log_that_was_removed_is_made_again(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module)
    worker.call(arguments={"run": "print('one')"})
    worker.output_within("one")
    worker.log.unlink()
    worker.call(arguments={"run": "print('two')"})
    assert "one" not in worker.output_within("two")


@pytest.mark.parametrize("kind", ["a directory", "a full disk", "a link", "nowhere", "a pipe"])
def test_a_log_that_cannot_be_written_costs_only_the_log(
    spawner: Spawner, module: Path, tmp_path: Path, kind: str
) -> None:
    log = tmp_path / "log"
    if kind == "a directory":
        log.mkdir()
    elif kind == "a full disk":
        log = Path("/dev/full")
    elif kind == "a link":
        log.symlink_to(tmp_path / "elsewhere")
    elif kind == "a pipe":
        os.mkfifo(log)
    else:
        log = Path("/proc/nothing/here.log")
    worker = spawner.spawn(module, log=log)
    assert not worker.call(arguments={"run": "print('x' * 5_000_000)"}).error
    worker.begin(arguments={"run": "print('last words', flush=True); os._exit(1)"})
    assert spawner.death(worker)["output"].endswith("last words\n")
    assert not (tmp_path / "elsewhere").exists()


def test_a_worker_that_prints_without_end_does_not_silence_another(spawner: Spawner, module: Path) -> None:
    loud, quiet = spawner.spawn(module), spawner.spawn(module, log=spawner.directory / "quiet.log")
    loud.prepare(run=True)
    loud.begin(arguments={"run": "while True: os.write(1, b'x' * 65536)"})
    wait_until(lambda: len(loud.output) > 65536, "the loud one is heard")
    for n in range(20):
        quiet.call(arguments={"run": f"print('quiet', {n})"})
        quiet.output_within(f"quiet {n}\n")
    spawner.end(loud)


def test_a_worker_that_closed_its_output_goes_by_itself(spawner: Spawner, module: Path) -> None:
    worker = spawner.spawn(module)
    assert not worker.call(arguments={"run": "os.close(1); os.close(2)"}).error
    assert "output" in worker.reply("spoilt")[0]["why"]
    report = spawner.death(worker)
    assert (report["status"], report["output"]) == (0, "")
