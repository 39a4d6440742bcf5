"""Calls of `echo` in a second, by 1, 8 and 64 sessions at once, each of which has one call on its way.

Straight on the daemon's socket, all driven by one loop; from the first line that is written until the last answer is
read. The sessions are connected all the time and take turns; the module has its four workers. Against each other:
more sessions must bring more, and many more must not bring less.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Final

from bench.agents import request
from bench.crowd import Crowd
from bench.figures.call import ECHO
from bench.homes import echo_tool, new_home
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns

SESSIONS: Final = (1, 8, 64)
CALLS: Final = 640
"""In a turn: ten for each of the most sessions."""
MORE: Final = 1.5
NOT_LESS: Final = 0.9


def measure(plan: Plan) -> Figure:
    """Call from one session, from some, from many."""
    with new_home() as home, ExitStack() as stack:
        with (home.add_module("echo", [echo_tool()]) / "tool.yaml").open("a") as manifest:
            manifest.write("scope: global\n")  # these sessions have no workspace
        home.start_daemon()
        crowds = [stack.enter_context(Crowd(home, count)) for count in SESSIONS]
        subjects = [
            Subject(f"{count} session{'s' * (count > 1)}", _calling(crowd))
            for count, crowd in zip(SESSIONS, crowds, strict=True)
        ]
        one, some, many = take_turns(subjects, plan.rounds(60, 6), warm=3, unit="/s")
    rows = (Row(many, some, least=NOT_LESS), Row(some, one, least=MORE))
    return Figure("throughput", "calls of echo in a second", rows)


def _calling(crowd: Crowd) -> Callable[[], list[float]]:
    line = request(2, "tools/call", ECHO)
    return lambda: [crowd.rate(line, CALLS)]
