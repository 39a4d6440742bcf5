"""A call of the bundled module `plan` that is killed at any point has done all that it does, or nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import REPOSITORY
from tests.tools.plan_asking import TOOLS, Person, rows_of
from tools.plan import mcpptool

CALLS: dict[str, dict[str, Any]] = {
    "plan_task_new": {"name": "new", "title": "New", "steps": ["a", "b", "c"]},
    "plan_task_list": {},
    "plan_task_show": {},
    "plan_task_status": {},
    "plan_task_switch": {"name": "old"},
    "plan_task_archive": {"name": "other"},
    "plan_task_notes": {"text": "note"},
    "plan_step_list": {},
    "plan_step_show": {},
    "plan_step_switch": {"number": 4},
    "plan_step_done": {"number": 2},
    "plan_step_new": {"title": "e", "description": "more"},
    "plan_step_delete": {"number": 1},
    "plan_step_notes": {"text": "note"},
    "plan_user_show": {},
    "plan_user_set": {"alias": "Ada"},
    "plan_project_show": {},
    "plan_project_set": {"name": "here", "description": "x"},
}
READING = {name for name, tool in TOOLS.items() if tool["annotations"]["readOnlyHint"]}
KILLED = {"statement": -signal.SIGKILL, "instruction": -signal.SIGKILL, "byte": -signal.SIGXFSZ}


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with tasks in several states, closed."""
    path = tmp_path / "base.db"
    monkeypatch.setenv("MCPPD_PLAN_DB", str(path))
    ada = Person(Path("/"))
    for name in ("old", "other", "fix"):
        ada.ask("plan_task_new", name=name, steps=["one", "two", "three", "four"])
    ada.ask("plan_task_archive", name="old")
    ada.ask("plan_step_done", number=1)
    ada.ask("plan_step_switch", number=2)
    mcpptool.DATABASE.close()
    return path


def deaths(directory: Path, manner: str, tool: str, stride: int = 1) -> Iterator[dict[str, Any]]:
    """What is left of a call after each of its deaths, and after the one time that it wasn't killed."""
    words = [manner, str(stride), tool, json.dumps(CALLS[tool]), str(directory)]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("plan_dying.py")), *words],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    yield from map(json.loads, done.stdout.splitlines())


def check(found: list[dict[str, Any]], manner: str, before: Any, *, is_reading: bool, least: int) -> None:
    """Hold each state against the one before and the one after the call."""
    *killed, done = found
    assert done["status"] == 0
    assert len(killed) >= least
    assert {death["status"] for death in killed} == {KILLED[manner]}
    assert all(death["again"] for death in found)
    after = done["rows"]
    assert (after == before) is is_reading
    states = [death["rows"] for death in killed]
    assert all(state in (before, after) for state in states)
    assert states[0] == before
    assert states == sorted(states, key=lambda state: state == after)  # once it is done, it is done


@pytest.mark.parametrize(
    "tool", [pytest.param(tool, marks=[pytest.mark.slow] if tool in READING else []) for tool in CALLS]
)
def test_before_any_statement(base: Path, tool: str) -> None:
    before = json.loads(json.dumps(rows_of(base)))
    found = list(deaths(base.parent, "statement", tool))
    check(found, "statement", before, is_reading=tool in READING, least=10)


@pytest.mark.parametrize("tool", ["plan_task_new", "plan_step_switch", "plan_step_delete"])
def test_in_the_middle_of_a_write(base: Path, tool: str) -> None:
    before = json.loads(json.dumps(rows_of(base)))
    found = list(deaths(base.parent, "byte", tool))
    check(found, "byte", before, is_reading=False, least=8)


@pytest.mark.slow
@pytest.mark.parametrize("tool", [tool for tool in CALLS if tool not in READING])
def test_in_the_middle_of_a_statement(base: Path, tool: str) -> None:
    before = json.loads(json.dumps(rows_of(base)))
    found = list(deaths(base.parent, "instruction", tool, 13))
    check(found, "instruction", before, is_reading=False, least=10)


@pytest.mark.slow
def test_at_the_very_first_call_while_the_database_is_made(tmp_path: Path) -> None:
    *killed, done = deaths(tmp_path, "statement", "plan_task_new")
    assert done["status"] == 0
    assert len(killed) > 20
    made = {
        "users": done["rows"]["users"],
        "projects": done["rows"]["projects"],
    }  # by the look at what is left
    assert all(death["again"] for death in killed)
    assert all(death["rows"] == made for death in killed[:-1])
    assert killed[-1]["rows"] in (made, done["rows"])
    assert set(done["rows"]) == {"users", "projects", "tasks", "active_tasks", "steps"}
