"""A save becomes live, in a module that is in use.

From just before its file is opened for writing

- to the notification that the list of tools has changed, at the agent (the manifest is saved, with another
  description of `echo`);
- to the first answer of the new version (`mcpptool.py` is saved; the agent calls at once, and until the answer is new).

In a registry of one module, and in one of 101 modules with 1001 tools. Against: the least that such a reload takes
(`servers/notice_and_fork.py`): watchfiles noticing a saved file at a step of 6 ms, fork, import of that file of one
line, a write to a socket; from just before the file is opened to the line. And mcp-hmr, which reloads in its process:
it announces a change at each save. Saves come 50 to 100 ms after the last thing happened, at random, so that they meet
the watchers' steps at any moment.
"""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from bench.agents import CHANGED, Agent
from bench.figures.start import MODULES, TOOLS
from bench.homes import ECHO, Home, echo_tool, environment, manifest, new_home
from bench.peers import SERVERS, Peer
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns

QUICK_STEP: Final = 6
"""Milliseconds between watchfiles' looks: more often it would cost more than a percent of a core."""
GATHER: Final = 200
"""Milliseconds for which it gathers changes while they keep coming, as our watcher does."""
ROUNDS: Final = (300, 10)
HOT_EVERY: Final = 5
HOT_APP: Final = "hot_app.py"
LIMIT: Final = 30.0
"""Seconds for the floor to notice a save."""

_numbers: Final = count(1)
_moments: Final = random.Random(1)  # noqa: S311 - the same moments in each run


def measure(plan: Plan) -> Figure:
    """Save, wait, save again."""
    stale: list[str] = []
    rows = [*_rows(plan, 0, stale), *_rows(plan, MODULES, stale)]
    notes = (
        (f"{len(stale)} answers to calls made right after a save were of the version before",)
        if stale
        else ()
    )
    return Figure("save", "save of a module in use to what the agent sees of it", tuple(rows), notes)


def _rows(plan: Plan, modules: int, stale: list[str]) -> Iterator[Row]:
    """What is measured with so many modules beside the one that is saved."""
    hot = plan.peers.hot if not modules else None  # it has no modules
    with new_home() as home, _noticing() as floor, _hot_agent(hot) as hot_turns:
        directory = home.add_module("echo", [echo_tool()])
        home.add_modules(modules, TOOLS)
        home.start_daemon()
        size = f", {modules + 1} modules" if modules else ", 1 module"
        with home.agent() as agent:
            agent.handshake()
            agent.call("echo", {"text": ""})  # from now on it is in use
            subjects = [
                Subject(f"save to notification{size}", lambda: [_notified(agent, directory)]),
                Subject(f"notice + fork + import + write{size}", floor),
                Subject(f"save to first new answer{size}", lambda: [_answered(agent, directory, stale)]),
                *hot_turns,
            ]
            notified, least, answered, *hots = take_turns(subjects, plan.rounds(*ROUNDS), warm=2)
    yield from (Row(notified, least, goal=3.0), Row(notified, least, "p99", goal=6.0), Row(answered, least))
    for ours, theirs in zip((notified, answered), hots, strict=False):
        yield Row(ours, theirs)


def _notified(agent: Agent, directory: Path) -> float:
    text = manifest("echo", [echo_tool(f"Says what it is told ({next(_numbers)}).")])
    _pause(agent)
    started = _save(directory / "tool.yaml", text)
    agent.wait_for(CHANGED)
    return agent.heard - started


def _answered(agent: Agent, directory: Path, stale: list[str]) -> float:
    """Calls until the answer is new; the old answers that came are noted."""
    value = f"version {next(_numbers)}"
    _pause(agent)
    started = _save(directory / "mcpptool.py", ECHO.format(value=value))
    while (answer := agent.call("echo", {"text": ""})) != value:
        stale.append(answer)
    return agent.heard - started


def _save(file: Path, text: str) -> float:
    """Write a file in place, as agents and most editors do; when that began."""
    started = perf_counter()
    file.write_text(text)
    return started


def _pause(agent: Agent | None = None) -> None:
    time.sleep(_moments.uniform(0.05, 0.1))
    if agent is not None:
        agent.forget()  # a notification of the save before


@contextmanager
def _noticing() -> Iterator[Callable[[], Iterator[float]]]:
    """Turns of the floor."""
    with new_home() as home, _connected() as (ours, theirs):
        command = [
            sys.executable,
            str(SERVERS / "notice_and_fork.py"),
            str(home.project),
            str(QUICK_STEP),
            str(GATHER),
        ]
        with subprocess.Popen(
            command, env=home.environment, stdin=subprocess.DEVNULL, stdout=theirs.fileno()
        ) as process:
            assert ours.recv(100) == b"ready\n"

            def turn() -> Iterator[float]:
                value = next(_numbers)
                _pause()
                started = _save(home.project / "one.py", f"VALUE = {value}\n")
                answer = ours.recv(100)
                yield perf_counter() - started
                assert answer == f"{value}\n".encode()

            try:
                yield turn
            finally:
                process.terminate()


@contextmanager
def _connected() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(LIMIT)
        yield ours, theirs


def _hot_agent(hot: Peer | None) -> Any:
    return nullcontext([]) if hot is None else _hot_turns(hot)


@contextmanager
def _hot_turns(hot: Peer) -> Iterator[list[Subject]]:
    """Turns of mcp-hmr: to its notification, and to its first new answer."""
    with new_home() as home, _hot_server(hot, home) as agent:
        file = home.project / HOT_APP
        text = file.read_text()
        agent.handshake()
        agent.call("echo", {"text": ""})

        def saved() -> tuple[str, float]:
            value = f"version {next(_numbers)}"
            _pause(agent)
            return value, _save(file, text.replace('VALUE = ""', f'VALUE = "{value}"'))

        def notified() -> Iterator[float]:
            value, started = saved()
            agent.wait_for(CHANGED)
            yield agent.heard - started
            while agent.call("echo", {"text": ""}) != value:
                pass  # the notification came before the new version

        def answered() -> Iterator[float]:
            value, started = saved()
            while agent.call("echo", {"text": ""}) != value:
                pass  # it goes on with the old version until it has the new one
            yield agent.heard - started

        yield [
            Subject(f"{hot.name}: save to notification", notified, HOT_EVERY),
            Subject(f"{hot.name}: save to first new answer", answered, HOT_EVERY),
        ]


def _hot_server(hot: Peer, home: Home) -> Agent:
    shutil.copy(SERVERS / HOT_APP, home.project)
    return Agent(hot.command, environment(home.path), home.project)
