"""One more connected agent.

The private memory of its shim (Private_Clean and Private_Dirty of smaps_rollup) and what the daemon grows by: a
twentieth of what 20 agents take, each having made its handshake, listed the tools and called one, with 100 modules of
10 tools; one agent that did the same before them is not counted. Against: the private memory of a peer's server after
the same, a process for each agent.

And of that the shim alone, against an interpreter that waits for a line (`python -I -S`).
"""

from __future__ import annotations

import subprocess
import sys
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
SHIM_GOAL: Final = 1.5


def measure(plan: Plan) -> Figure:
    """Connect agents, then look."""
    name = "one more agent: its shim + growth of the daemon"
    both, shims = _one_more(plan.rounds(AGENTS, 5))
    ours = Series(name, (both,), "MB")
    rows = [Row(ours, peer, own_goal=GOAL) for peer in _peers(plan)]
    notes = () if rows else (f"{name}: {ours.shown(ours.p50)}; no peer to hold it against",)
    bare = Series("`python -I -S` that waits", (_bare(),), "MB")
    rows.append(Row(Series("one shim", tuple(shims), "MB"), bare, goal=SHIM_GOAL))
    return Figure("memory", "private memory of one more connected agent", tuple(rows), notes)


def _one_more(count: int) -> tuple[float, list[float]]:
    """What one more costs on the average, and the shim of each."""
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
        shims = [float(private_memory(agent.pid)) for agent in agents]
        return (growth + sum(shims)) / count, shims


def _bare() -> float:
    """The private memory of an interpreter with nothing to do."""
    command = [sys.executable, "-I", "-S", "-c", "import posix; posix.write(1, b'.'); posix.read(0, 1)"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1)
        return float(private_memory(process.pid))  # and the end of its stdin ends it


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
