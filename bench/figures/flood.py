"""Calls of `echo` by one agent, while another agent's tool reports progress in a tight loop.

From just before a call's line is written until its answer is read, through the shim. Against the same calls while
nothing else runs, and while that tool loops just as tightly but reports nothing: what is left then is the cost of the
reports, not that of a processor that is busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from bench.agents import Agent, request
from bench.figures.call import ECHO
from bench.homes import echo_tool, new_home
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns

IN_A_TURN: Final = 100
"""Calls beside one run of the loop."""
GOAL: Final = 1.2
CODE: Final = """\
def execute(tool_name, arguments, context):
    done = 0
    while done % 1000 or not context["cancelled"]():
        done += 1
        if arguments["report"]:
            context["report_progress"](done)
    return {"success": True, "result": done}
"""
LOOP: Final = {
    "name": "loop",
    "description": "Loops until it is cancelled.",
    "inputSchema": {"type": "object", "properties": {"report": {"type": "boolean"}}},
}


def measure(plan: Plan) -> Figure:
    """Call alone, beside a loop, beside a loop that reports."""
    with new_home() as home:
        home.add_module("echo", [echo_tool()])
        (home.add_module("busy", [LOOP]) / "mcpptool.py").write_text(CODE)
        home.start_daemon()
        with home.agent() as agent, home.agent() as other:
            agent.handshake()
            other.handshake()
            subjects = [
                Subject(
                    "calls beside a tool that reports progress in a loop", _beside(agent, other, report=True)
                ),
                Subject("calls beside one that only loops", _beside(agent, other, report=False)),
                Subject("calls, nothing beside them", lambda: _calls(agent)),
            ]
            loud, busy, alone = take_turns(subjects, plan.rounds(40, 4), unit="µs")
    rows = (
        Row(loud, busy, "p99", goal=GOAL),
        Row(loud, busy),
        Row(loud, alone, "p99"),
        Row(busy, alone, "p99"),
    )
    return Figure("flood", "calls of one agent while another's tool floods", rows)


def _beside(agent: Agent, other: Agent, *, report: bool) -> Callable[[], Iterator[float]]:
    def turn() -> Iterator[float]:
        with _looping(other, report=report):
            yield from _calls(agent)

    return turn


def _calls(agent: Agent) -> Iterator[float]:
    for _ in range(IN_A_TURN):
        agent.ask("tools/call", ECHO)
        yield agent.heard - agent.sent


@contextmanager
def _looping(agent: Agent, *, report: bool) -> Iterator[None]:
    """A loop that runs meanwhile; it is cancelled, and has ended when this does."""
    params = {"name": "loop", "arguments": {"report": report}, "_meta": {"progressToken": "loop"}}
    agent.send(request(999_999, "tools/call", params))
    if report:
        agent.wait_for("notifications/progress")
    else:
        agent.call("echo", {"text": ""})  # so that its worker has begun
    yield
    agent.send(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999999}}\n')
    agent.ask("ping", {})
