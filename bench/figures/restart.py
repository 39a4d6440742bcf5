"""The daemon is followed by another, under a connected agent that calls without a pause; 100 modules of 10 tools.

The slowest of its calls while `mcppd restart` runs, each from just before the request is written to the last byte of
its answer; and the time from SIGKILL to the last byte of the answer to the next call that succeeds, which a new daemon
gives. Against: a cold start of the daemon, from just before its process is made to its first answer about itself.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Final

from bench.agents import Agent
from bench.figures.start import MODULES, TOOLS
from bench.homes import ROOT, Home, echo_tool, new_home
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns

RESTART: Final = [sys.executable, str(ROOT / "mcppd" / "__main__.py"), "restart"]


def measure(plan: Plan) -> Figure:
    """Restart, kill, start; again and again."""
    with new_home() as there, new_home() as cold:
        for home in (there, cold):
            home.add_module("echo", [echo_tool()])
            home.add_modules(MODULES, TOOLS)
        with there.agent() as agent:
            agent.handshake()
            _called(agent)
            subjects = [
                Subject("slowest call during `mcppd restart`", lambda: _restarted(there, agent)),
                Subject("SIGKILL to the next successful call", lambda: _killed(there, agent)),
                Subject("daemon's cold start", lambda: _started(cold)),
            ]
            restarted, killed, started = take_turns(subjects, plan.rounds(20, 3))
    return Figure(
        "restart",
        "what a connected agent notices of a restart and of a killed daemon, 100 modules x 10 tools",
        (Row(restarted, started), Row(restarted, started, "p99", base_statistic="p50"), Row(killed, started)),
    )


def _restarted(home: Home, agent: Agent) -> Iterator[float]:
    command = subprocess.Popen(
        RESTART, env=home.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    seconds = [_called(agent)]
    while command.poll() is None:
        seconds.append(_called(agent))
    assert command.returncode == 0
    yield max(seconds)


def _killed(home: Home, agent: Agent) -> Iterator[float]:
    pid = home.daemon_pid()
    killed = perf_counter()
    os.kill(pid, signal.SIGKILL)
    while not _succeeds(agent):
        pass  # it was on its way, and gets to know that
    yield agent.heard - killed


def _started(home: Home) -> Iterator[float]:
    yield home.launch_daemon()
    home.stop_daemon()


def _called(agent: Agent) -> float:
    """Seconds of a call, which has to succeed."""
    agent.call("echo", {"text": "hello"})
    return agent.heard - agent.sent


def _succeeds(agent: Agent) -> bool:
    answer = json.loads(agent.ask("tools/call", {"name": "echo", "arguments": {"text": "hello"}}))
    return not answer["result"].get("isError")
