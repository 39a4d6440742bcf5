"""A call of `echo`, one after another by one agent.

From just before its line is written to the server's stdin until the line of the answer is read from its stdout; through
the shim, and straight on the daemon's socket. The registry has 100 modules of 10 tools beside the one of `echo`.
Against: a loop of the standard library that decodes and encodes JSON, and the peers' servers. All servers run all the
time; each is called ten times in its turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from bench.agents import Agent
from bench.figures.start import MODULES, TOOLS
from bench.homes import echo_tool, environment, new_home
from bench.peers import JSON_LOOP
from bench.plan import Plan, peer_agents
from bench.results import Figure, Row
from bench.series import Series, Subject, take_turns
from bench.sockets import Plain

IN_A_TURN: Final = 10
"""Calls: so that each runs with its own things in the processor's caches, as in a row of calls."""
ECHO: Final = {"name": "echo", "arguments": {"text": "hello"}}
MCP_GOAL: Final = 0.5


def measure(plan: Plan) -> Figure:
    """Call, and call again."""
    with new_home() as home, peer_agents(plan.peers) as peers:
        home.add_module("echo", [echo_tool()])
        home.add_modules(MODULES, TOOLS)
        home.start_daemon()
        with (
            home.agent() as shim,
            Agent(JSON_LOOP, environment(home.path), home.project) as loop,
            Plain(home.control.with_name("mcp.sock")) as direct,
        ):
            direct.greet(home)
            for agent in (loop, shim):
                agent.handshake()
            subjects = [
                Subject("tools/call through the shim", _calling(shim)),
                Subject("JSON loop", _calling(loop)),
                Subject("tools/call straight on the socket", _on_socket(direct)),
                *(Subject(f"{name} server", _calling(agent)) for name, agent in peers.items()),
            ]
            found = take_turns(subjects, plan.rounds(500, 50), warm=5, unit="µs")
    return Figure("call", "tools/call of echo, one after another", tuple(_rows(*found)))


def _rows(shim: Series, loop: Series, direct: Series, *peers: Series) -> Iterator[Row]:
    yield Row(shim, loop, goal=12.0)
    yield Row(shim, loop, "p99")
    yield Row(direct, loop)
    for peer in peers:
        yield Row(shim, peer, goal=MCP_GOAL if peer.name.startswith("mcp") else None)


def _calling(agent: Agent) -> Callable[[], Iterator[float]]:
    def turn() -> Iterator[float]:
        for _ in range(IN_A_TURN):
            answer = agent.ask("tools/call", ECHO)
            assert b"hello" in answer
            yield agent.heard - agent.sent

    return turn


def _on_socket(client: Plain) -> Callable[[], Iterator[float]]:
    def turn() -> Iterator[float]:
        for _ in range(IN_A_TURN):
            answer, seconds = client.ask("tools/call", ECHO)
            yield seconds
            assert b"hello" in answer

    return turn
