"""A worker that has to be made first.

The time of a call whose module's only worker has just died: from just before its line is written to the shim's stdin
until the line of the answer is read, so that the fork, the import of the module and the call are in it. Against: a bare
interpreter (`python -I -S -c pass`) from its start until it has ended: what a server of its own costs before it has
read a byte.

And the private memory (Private_Clean and Private_Dirty of smaps_rollup) of an idle worker that has answered a call; the
module is a few lines long, so all of it is the worker's. Against: a bare interpreter that waits.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter
from typing import Final

from bench.agents import Agent
from bench.homes import Home, echo_tool, manifest, new_home
from bench.plan import Plan
from bench.processes import private_memory
from bench.results import Figure, Row
from bench.series import Series, Subject, take_turns

BODY: Final = """\
import os


def execute(tool_name, arguments, context=None):
    if tool_name == "end":
        os._exit(0)
    return {"success": True, "result": os.getpid()}
"""
BARE: Final = [sys.executable, "-I", "-S", "-c"]
ANSWER_GOAL: Final = 10e-3
MEMORY_GOAL: Final = 3e6
WORKERS: Final = 5


def measure(plan: Plan) -> Figure:
    """End a worker, call; end it, call."""
    with new_home() as home:
        _add_module(home)
        home.start_daemon()
        with home.agent() as agent:
            agent.handshake()
            subjects = [
                Subject("a call that needs a new worker", lambda: _anew(agent)),
                Subject("bare interpreter", _bare),
            ]
            answer, bare = take_turns(subjects, plan.rounds(200, 30), warm=5)
            memory = Series("idle worker", tuple(_memory(agent)), "MB")
    rows = (
        Row(answer, bare, own_goal=ANSWER_GOAL),
        Row(answer, bare, "p99"),
        Row(memory, Series("bare interpreter that waits", (_bare_memory(),), "MB"), own_goal=MEMORY_GOAL),
    )
    return Figure("spawn", "spawn of a worker to its first answer, and what it keeps", rows)


def _add_module(home: Home) -> None:
    directory = home.modules / "one"
    directory.mkdir()
    (directory / "mcpptool.py").write_text(BODY)
    tools = [{**echo_tool(), "name": name} for name in ("end", "pid")]
    (directory / "tool.yaml").write_text(manifest("one", tools))
    home.registry.write_text("modules:\n  - path: tools/*\n    workers: 1\n")


def _end_worker(agent: Agent) -> None:
    answer = agent.ask("tools/call", {"name": "end", "arguments": {"text": ""}})
    assert b"exited with status 0" in answer


def _anew(agent: Agent) -> Iterator[float]:
    _end_worker(agent)
    agent.call("pid", {"text": ""})
    yield agent.heard - agent.sent


def _bare() -> Iterator[float]:
    started = perf_counter()
    subprocess.run([*BARE, "pass"], check=True, stdin=subprocess.DEVNULL)
    yield perf_counter() - started


def _memory(agent: Agent) -> Iterator[float]:
    """Of several workers, one after another, each once it has answered a second time."""
    for _ in range(WORKERS):
        _end_worker(agent)
        agent.call("pid", {"text": ""})
        yield private_memory(int(agent.call("pid", {"text": ""})))


def _bare_memory() -> float:
    with subprocess.Popen(
        [*BARE, "print(flush=True); input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as bare:
        assert bare.stdin is not None
        assert bare.stdout is not None
        bare.stdout.read(1)
        found = private_memory(bare.pid)
        bare.stdin.write(b"\n")
    return found
