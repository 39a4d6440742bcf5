"""Nothing happens.

The share of a core, and the context switches in a second, of all threads of the daemon, the spawner and 100 workers,
one for each of 100 modules, for 20 seconds: right after the last save, and three minutes later. Against, in the same
seconds: a process that only has watchfiles watch the same directories at a step that notices as fast.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from bench.homes import Home, echo_tool, new_home
from bench.peers import SERVERS
from bench.plan import Plan
from bench.processes import Usage, family, usage
from bench.results import Figure, Row
from bench.series import Series
from mcppd.reloading.watcher import QUICK_FOR

QUICK_STEP: Final = 6
SLOW_STEP: Final = 50
"""Milliseconds between watchfiles' looks, quick and slow; our watcher is woken by the system and takes no looks."""
MODULES: Final = 100
CORE_GOAL: Final = 0.002
SWITCHES_GOAL: Final = 25.0
SETTLING: Final = 2.0
"""Seconds between the last call and the first look: what follows from it is over."""


def measure(plan: Plan) -> Figure:
    """Use every module once, then do nothing."""
    seconds = plan.rounds(20, 4)
    with new_home() as home:
        processes = _used(home)
        began = time.monotonic()
        time.sleep(SETTLING)
        rows = list(_rows("just after a save", home, processes, QUICK_STEP, seconds))
        notes = ["at rest: left out by --quick, since the watcher takes three minutes to come to rest"]
        if not plan.is_quick:
            time.sleep(max(began + QUICK_FOR + SETTLING - time.monotonic(), 0.0))
            rows += _rows("at rest", home, processes, SLOW_STEP, seconds)
            notes = []
        notes += [f"{len(processes)} processes were looked at"]
    return Figure("idle", f"{MODULES} idle modules with a worker each", tuple(rows), tuple(notes))


def _used(home: Home) -> list[int]:
    """Every module has been called: the daemon, the spawner and the workers."""
    names = [f"echo_{number}" for number in range(MODULES)]
    for name in names:
        home.add_module(name, [{**echo_tool(), "name": name}])
    daemon = home.start_daemon()
    with home.agent() as agent:
        agent.handshake()
        for name in names:
            agent.call(name, {"text": "hello"})
    return family(daemon)


def _rows(when: str, home: Home, processes: Sequence[int], step: int, seconds: int) -> Iterator[Row]:
    with _watching(home, step) as watcher:
        ours, least = _used_in(seconds, processes, [watcher])
    base = f"one watch at {step} ms"
    yield Row(_share(when, ours, seconds), _share(base, least, seconds), own_goal=CORE_GOAL)
    yield Row(_rate(when, ours, seconds), _rate(base, least, seconds), own_goal=SWITCHES_GOAL)


def _share(name: str, used: Usage, seconds: int) -> Series:
    return Series(f"{name}: of a core", (used.seconds / seconds,), "%")


def _rate(name: str, used: Usage, seconds: int) -> Series:
    return Series(f"{name}: context switches", (used.switches / seconds,), "/s")


def _used_in(seconds: int, *groups: Sequence[int]) -> list[Usage]:
    """What each group of processes uses in the same seconds."""
    before = [usage(group) for group in groups]
    time.sleep(seconds)
    return [usage(group).since(then) for group, then in zip(groups, before, strict=True)]


@contextmanager
def _watching(home: Home, step: int) -> Iterator[int]:
    directories = [str(path) for path in home.modules.iterdir()]
    command = [sys.executable, str(SERVERS / "notice_nothing.py"), str(step), *directories]
    with subprocess.Popen(command, env=home.environment, stdin=subprocess.DEVNULL) as process:
        try:
            time.sleep(SETTLING)
            yield process.pid
        finally:
            process.terminate()
