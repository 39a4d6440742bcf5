"""Many processes at once with one database of the bundled module `plan`: no error, no lost row, nothing damaged."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.harness import REPOSITORY
from tests.tools.plan_asking import counts_are_right, rows_of

PROCESSES = 10


def work(directory: Path, seconds: float) -> Counter[str]:
    """Have ten processes of three logins work in two projects; what they made together."""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "MCPPD_PLAN_DB": str(directory / "plan.db")}
    crowd = []
    for number in range(PROCESSES):
        workspace = directory / f"project {number % 2}"
        workspace.mkdir(exist_ok=True)
        words = [str(number), str(seconds), str(workspace), f"user {number % 3}"]
        command = [sys.executable, str(Path(__file__).with_name("plan_busy.py")), *words]
        crowd.append(
            subprocess.Popen(
                command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        )
    for process in crowd:  # all at once, so that they make the database together
        assert process.stdin
        process.stdin.write("\n")
        process.stdin.flush()
    made: Counter[str] = Counter()
    for process in crowd:
        said = json.loads(process.communicate(timeout=seconds + 60)[0])
        assert said["errors"] == []
        assert process.returncode == 0
        made.update(said["made"])
    return made


def check(directory: Path, made: Counter[str]) -> None:
    rows = rows_of(directory / "plan.db")  # it looks at the database's integrity
    assert len(rows["users"]) == 3
    assert len(rows["projects"]) == 2
    assert len(rows["active_tasks"]) == 6
    assert len(rows["tasks"]) == made["plan_task_new"] >= PROCESSES
    assert len(rows["steps"]) == 2 * made["plan_task_new"] + made["plan_step_new"]
    assert len(rows["notes"]) == made["plan_task_notes"]
    assert counts_are_right(directory / "plan.db")


@pytest.mark.slow
def test_ten_processes_work_at_once(tmp_path: Path) -> None:
    check(tmp_path, work(tmp_path, 3))


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_ten_processes_work_at_once_for_a_minute(tmp_path: Path) -> None:
    check(tmp_path, work(tmp_path, 60))


@pytest.mark.slow
def test_ten_processes_make_the_database_together(tmp_path: Path) -> None:
    for attempt in range(3):
        directory = tmp_path / str(attempt)
        directory.mkdir()
        check(directory, work(directory, 0))
