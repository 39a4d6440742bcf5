"""Calls of `echo` by one agent, while another agent's module misbehaves.

From just before a call's line is written until its answer is read, through the shim. All workers of the other module
hang while more of its calls wait; they die one after another; or one spins in C, holding its interpreter. Against the
same calls while nothing else runs: the slowest of a thousand against the slowest of a hundred.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from bench.agents import Agent, request
from bench.figures.call import ECHO
from bench.homes import Home, echo_tool, new_home
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns

IN_A_TURN: Final = 100
HANGING: Final = 20
"""Calls of the module that hangs: its four workers have one each, the others wait."""
GOAL: Final = 5.0
CODE: Final = """\
import itertools, os, time

def execute(tool_name, arguments, context):
    match arguments["how"]:
        case "hang":
            time.sleep(1000)
        case "die":
            os._exit(1)
        case "spin":
            max(itertools.repeat(0))
    return {"success": True, "result": "well"}
"""
WILD: Final = {
    "name": "wild",
    "description": "Does what it is told to itself.",
    "inputSchema": {"type": "object", "properties": {"how": {"type": "string"}}},
}
CANCEL: Final = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}\n'
FIRST: Final = 100_000
"""The id of the first call that hangs."""


def measure(plan: Plan) -> Figure:
    """Call alone, and beside each."""
    with new_home() as home:
        home.add_module("echo", [echo_tool()])
        _add_wild(home)
        home.start_daemon()
        with home.agent() as agent, home.agent() as other:
            agent.handshake()
            other.handshake()
            subjects = [
                Subject(
                    "calls beside a module all of whose workers hang", _beside(agent, other, "hang", HANGING)
                ),
                Subject("calls beside one whose worker spins in C", _beside(agent, other, "spin", 1)),
                Subject("calls beside one whose workers die", _beside_deaths(agent, other)),
                Subject("calls, nothing beside them", lambda: _calls(agent)),
            ]
            hang, spin, die, alone = take_turns(subjects, plan.rounds(40, 4), unit="µs")
    rows = tuple(Row(each, alone, "p99.9", goal=GOAL, base_statistic="p99") for each in (hang, die, spin))
    return Figure("wedge", "calls of one agent while another's module misbehaves", rows)


def _add_wild(home: Home) -> None:
    (home.add_module("wild", [WILD]) / "mcpptool.py").write_text(CODE)


def _calls(agent: Agent) -> Iterator[float]:
    for _ in range(IN_A_TURN):
        agent.ask("tools/call", ECHO)
        yield agent.heard - agent.sent


def _beside(agent: Agent, other: Agent, how: str, count: int) -> Callable[[], Iterator[float]]:
    """Calls beside others that only end when they are cancelled."""

    def turn() -> Iterator[float]:
        for number in range(FIRST, FIRST + count):
            other.send(request(number, "tools/call", {"name": "wild", "arguments": {"how": how}}))
        other.ask("ping", {})
        yield from _calls(agent)
        for number in range(FIRST, FIRST + count):
            other.send(CANCEL % number)
        other.ask("tools/call", {"name": "wild", "arguments": {"how": "be well"}})

    return turn


def _beside_deaths(agent: Agent, other: Agent) -> Callable[[], Iterator[float]]:
    """Calls beside deaths: one before every fourth of them, and after each death an answer."""

    def turn() -> Iterator[float]:
        for number in range(IN_A_TURN):
            if number % 4 == 0:
                for how in ("die", "be well"):
                    other.send(request(FIRST, "tools/call", {"name": "wild", "arguments": {"how": how}}))
            agent.ask("tools/call", ECHO)
            yield agent.heard - agent.sent
        other.ask("tools/call", {"name": "wild", "arguments": {"how": "be well"}})

    return turn
