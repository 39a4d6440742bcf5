"""A call of `plan_task_status`, one after another by one agent through the shim.

From just before its line is written to the shim's stdin until the line of the answer is read from its stdout. In a
project with one task of five steps, and in one whose active task has 100,000 steps, with a database and a daemon each.
Against: `echo` through the same shim. Each is called ten times in its turn.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from bench.agents import Agent
from bench.figures.call import ECHO, IN_A_TURN
from bench.homes import ROOT, Home, echo_tool, new_home
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns

STEPS: Final = 100_000
STATUS: Final = {"name": "plan_task_status", "arguments": {}}
ECHO_GOAL: Final = 4.0
SIZE_GOAL: Final = 2.0

FILL: Final = """
    WITH RECURSIVE numbers (number) AS (SELECT 6 UNION ALL SELECT number + 1 FROM numbers WHERE number < ?)
    INSERT INTO steps (task_id, number, title, status, created_at)
    SELECT tasks.id, number, 'Step ' || number, 'planned', tasks.created_at FROM tasks, numbers
"""
"""As many steps as plan_step_new makes in some minutes."""


def measure(plan: Plan) -> Figure:
    """Ask where we are, and ask again."""
    with new_home() as few, new_home() as many:
        for home in (few, many):
            home.add_module("echo", [echo_tool()])
            home.registry.write_text(f"modules:\n  - path: tools/*\n  - path: {ROOT}/tools/plan\n")
            home.start_daemon()
        with few.agent() as agent, many.agent() as other:
            for each in (agent, other):
                each.handshake()
                each.call("plan_task_new", {"name": "bench", "steps": [f"Step {at}" for at in range(1, 6)]})
            _fill(many)
            _expect(agent, 4)
            _expect(other, STEPS - 1)
            subjects = [
                Subject("plan_task_status through the shim", _calling(agent, STATUS)),
                Subject("echo through the same shim", _calling(agent, ECHO)),
                Subject(f"plan_task_status among {STEPS} steps", _calling(other, STATUS)),
                Subject("echo through that one's shim", _calling(other, ECHO)),
            ]
            found = take_turns(subjects, plan.rounds(300, 30), warm=5, unit="µs")
    status, echo, among, echo_there = found
    rows = (
        Row(status, echo, goal=ECHO_GOAL),
        Row(among, echo_there, goal=ECHO_GOAL),
        Row(among, status, goal=SIZE_GOAL),
        Row(status, echo, "p99"),
    )
    return Figure("plan", "tools/call of plan_task_status, one after another", rows)


def _fill(home: Home) -> None:
    path: Path = home.path / ".config" / "plan" / "plan.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(FILL, (STEPS,))


def _expect(agent: Agent, planned: int) -> None:
    """See that it is there what is to be measured."""
    said = agent.ask("tools/call", STATUS)
    assert f'\\"planned\\":{planned},'.encode() in said, said


def _calling(agent: Agent, params: dict[str, Any]) -> Callable[[], Iterator[float]]:
    def turn() -> Iterator[float]:
        for _ in range(IN_A_TURN):
            answer = agent.ask("tools/call", params)
            assert b'"isError":true' not in answer
            yield agent.heard - agent.sent

    return turn
