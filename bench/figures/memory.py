"""One more connected agent.

The private memory of its shim (Private_Clean and Private_Dirty of smaps_rollup) and what the daemon grows by: a
twentieth of what 20 agents take, each having made its handshake, listed the tools and called one, with 100 modules of
10 tools; one agent that did the same before them is not counted. Against: the private memory of a peer's server after
the same, a process for each agent.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final

from bench.agents import Agent
from bench.figures.start import MODULES, TOOLS
from bench.homes import echo_tool, new_home
from bench.plan import Plan, peer_agents
from bench.processes import private_memory
from bench.results import Figure, Row
from bench.series import Series

AGENTS: Final = 20
GOAL: Final = 6e6


def measure(plan: Plan) -> Figure:
    """Connect agents, then look."""
    name = "one more agent: its shim + growth of the daemon"
    ours = Series(name, (_one_more(plan.rounds(AGENTS, 5)),), "MB")
    rows = [Row(ours, peer, own_goal=GOAL) for peer in _peers(plan)]
    notes = () if rows else (f"{name}: {ours.shown(ours.p50)}; no peer to hold it against",)
    return Figure("memory", "private memory of one more connected agent", tuple(rows), notes)


def _one_more(count: int) -> float:
    with new_home() as home, ExitStack() as stack:
        home.add_module("echo", [echo_tool()])
        home.add_modules(MODULES, TOOLS)
        daemon = home.start_daemon()
        _use(stack.enter_context(home.agent()))
        before = private_memory(daemon)
        agents = [stack.enter_context(home.agent()) for _ in range(count)]
        for agent in agents:
            _use(agent)
        growth = private_memory(daemon) - before
        return (growth + sum(private_memory(agent.pid) for agent in agents)) / count


def _peers(plan: Plan) -> list[Series]:
    with peer_agents(plan.peers) as agents:
        for agent in agents.values():
            agent.tools()
            agent.call("echo", {"text": "hello"})
        return [
            Series(f"{name} server", (private_memory(agent.pid),), "MB") for name, agent in agents.items()
        ]


def _use(agent: Agent) -> None:
    agent.handshake()
    agent.tools()
    agent.call("echo", {"text": "hello"})
