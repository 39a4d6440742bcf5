"""A save becomes live, in a module that is in use.

From just before its file is opened for writing

- to the notification that the list of tools has changed, at every agent (the manifest is saved, with another
  description of `echo`);
- to the first answer of the new version (`mcpptool.py` is saved; an agent calls at once, and until the answer is new).

With 1, 10 and 50 agents, in registries of 1, 100 and 1000 modules (a thousand tools in both of the large ones), which
is the curve. Against: the least that such a reload takes (`servers/notice_and_fork.py`): watchfiles noticing a saved
file at a step of 6 ms, fork, import of that file of one line, a write to a socket; from just before the file is opened
to the line. And mcp-hmr, which reloads in its process: it announces a change at each save. Saves come 50 to 100 ms
after the last thing happened, at random, so that they meet the watchers' steps at any moment.

Then the first save after nobody has saved for longer than the watcher is quick; and a file that is touched without
being changed: a call right after that, against a call.
"""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from bench.agents import CHANGED, Agent
from bench.homes import ECHO, Home, echo_tool, environment, manifest, new_home
from bench.peers import SERVERS, Peer
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Series, Subject, take_turns
from mcppd.cli.answers import counted
from mcppd.reloading.watcher import QUICK_FOR

QUICK_STEP: Final = 6
"""Milliseconds between watchfiles' looks: more often it would cost more than a percent of a core."""
GATHER: Final = 200
"""Milliseconds for which it gathers changes while they keep coming, as our watcher does."""
CURVE: Final = ((1, 1), (1, 10), (1, 50), (100, 1), (100, 10), (100, 50), (1000, 1), (1000, 10), (1000, 50))
"""(modules, agents)."""
SHORT_CURVE: Final = ((1, 1), (100, 10))
MEASURED: Final = (100, 10)
"""Where the goals hold."""
TOOLS: Final = 1000
"""Of all the modules beside the one that is saved."""
ROUNDS: Final = (300, 10)
ROUNDS_OF_CURVE: Final = (60, 5)
HOT_EVERY: Final = 5
HOT_APP: Final = "hot_app.py"
PAUSE: Final = 2.0
"""Seconds for which a pause is longer than the watcher is quick."""
LIMIT: Final = 30.0
"""Seconds for the floor to notice a save."""

_numbers: Final = count(1)
_moments: Final = random.Random(1)  # noqa: S311 - the same moments in each run


def measure(plan: Plan) -> Figure:
    """Save, wait, save again."""
    stale: list[str] = []
    rows: list[Row] = []
    for modules, agents in SHORT_CURVE if plan.is_quick else CURVE:
        rows += _rows(plan, modules, agents, stale)
    notes = ["the first save after a long pause: left out by --quick, since a pause is three minutes"]
    if not plan.is_quick:
        rows.append(_first_after_a_pause())
        notes = []
    rows.append(_touched(plan))
    notes += [f"{len(stale)} answers to calls made right after a save were of the version before"] * bool(
        stale
    )
    return Figure("save", "save of a module in use to what the agents see of it", tuple(rows), tuple(notes))


def _rows(plan: Plan, modules: int, agents: int, stale: list[str]) -> Iterator[Row]:
    """What is measured with so many modules, one of which is saved, and so many agents."""
    hot = plan.peers.hot if (modules, agents) == (1, 1) else None  # it has no modules
    is_measured = (modules, agents) == MEASURED
    size = f", {counted(modules, 'module')}, {counted(agents, 'agent')}"
    with (
        _served(modules, agents) as (directory, connected),
        _noticing() as floor,
        _hot_agent(hot) as hot_turns,
    ):
        subjects = [
            Subject(f"save to notification{size}", lambda: [_notified(connected, directory)]),
            Subject(f"notice + fork + import + write{size}", floor),
            Subject(f"save to first new answer{size}", lambda: [_answered(connected, directory, stale)]),
            *hot_turns,
        ]
        rounds = plan.rounds(*(ROUNDS if is_measured else ROUNDS_OF_CURVE))
        notified, least, answered, *hots = take_turns(subjects, rounds, warm=2)
    for ours in (notified, answered):
        yield Row(ours, least, goal=2.0 if is_measured else None)
        yield Row(ours, least, "p99", goal=4.0 if is_measured else None)
    for ours, theirs in zip((notified, answered), hots, strict=False):
        yield Row(ours, theirs)


@contextmanager
def _served(modules: int, agents: int) -> Iterator[tuple[Path, list[Agent]]]:
    """The directory of the module that is saved, and agents; one of them has called it, so that it is in use."""
    with new_home() as home, ExitStack() as stack:
        directory = home.add_module("echo", [echo_tool()])
        if modules > 1:
            home.add_modules(modules - 1, TOOLS // modules)
        home.start_daemon()
        connected = [stack.enter_context(home.agent()) for _ in range(agents)]
        for agent in connected:
            agent.handshake()
            agent.tools()
        connected[0].call("echo", {"text": ""})
        yield directory, connected


def _first_after_a_pause() -> Row:
    """One save, after the watcher has gone over to its long steps, where it has any."""
    with _served(MEASURED[0], 1) as (directory, connected), _noticing() as floor:
        time.sleep(QUICK_FOR + PAUSE)
        first = Series("first save after a pause to notification", (_notified(connected, directory),))
        return Row(first, Series("notice + fork + import + write, once", tuple(floor())))


def _touched(plan: Plan) -> Row:
    """Calls right after a file was touched, and calls."""
    with _served(MEASURED[0], 1) as (directory, (agent,)):

        def call() -> Iterator[float]:
            _pause([agent])
            agent.call("echo", {"text": ""})
            yield agent.heard - agent.sent

        def touch_and_call() -> Iterator[float]:
            _pause([agent])
            os.utime(directory / "mcpptool.py")
            agent.call("echo", {"text": ""})
            yield agent.heard - agent.sent

        subjects = [Subject("a call right after a touch", touch_and_call), Subject("a call", call)]
        touched, untouched = take_turns(subjects, plan.rounds(*ROUNDS_OF_CURVE), warm=2)
    return Row(touched, untouched)


def _notified(agents: Sequence[Agent], directory: Path) -> float:
    """Until the last of them has heard of it."""
    text = manifest("echo", [echo_tool(f"Says what it is told ({next(_numbers)}).")])
    _pause(agents)
    started = _save(directory / "tool.yaml", text)
    for agent in agents:
        agent.wait_for(CHANGED)
    return agents[-1].heard - started


def _answered(agents: Sequence[Agent], directory: Path, stale: list[str]) -> float:
    """Calls until the answer is new; the old answers that came are noted."""
    value = f"version {next(_numbers)}"
    agent = agents[0]
    _pause(agents)
    started = _save(directory / "mcpptool.py", ECHO.format(value=value))
    while (answer := agent.call("echo", {"text": ""})) != value:
        stale.append(answer)
    return agent.heard - started


def _save(file: Path, text: str) -> float:
    """Write a file in place, as agents and most editors do; when that began."""
    started = perf_counter()
    file.write_text(text)
    return started


def _pause(agents: Sequence[Agent] = ()) -> None:
    time.sleep(_moments.uniform(0.05, 0.1))
    for agent in agents:
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
            _pause([agent])
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
