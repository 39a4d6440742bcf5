"""An agent starts, and the daemon runs.

From just before the process of the command that README gives agents is made, to the last byte of the answer to
`tools/list`, which comes after the handshake, as with every agent; 100 modules of 10 tools. Against:
`python -I -S -c pass`, from just before its process is made until it is reaped; and the servers of the peers, which
have one tool, started and asked in the same way.

And of that the shim alone: to the last byte of the agent's first line at the daemon's socket, where nobody answers.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Final, Self

from bench.agents import Agent
from bench.homes import SHIM, Home, environment, new_home
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns

MODULES: Final = 100
TOOLS: Final = 10
PEERS_EVERY: Final = 10
"""In how many rounds a peer starts once: it takes a hundred times as long."""


def measure(plan: Plan) -> Figure:
    """Start, list, end; again and again."""
    with new_home() as home:
        home.add_modules(MODULES, TOOLS)
        home.start_daemon()
        ours = Subject(
            "agent start to tools/list, daemon running", lambda: [listed(home.agent, MODULES * TOOLS)]
        )
        floor = Subject("`python -I -S -c pass`", lambda: [ended(home, "-I", "-S", "-c", "pass")])
        peers = [
            Subject(f"{peer.name} server", _starting(home.path, peer.command), PEERS_EVERY)
            for peer in plan.peers.servers
        ]
        with Socket(home.path / "run" / "first.sock") as listener:
            first = Subject(
                "agent start to its first line at the daemon", lambda: [forwarded(home, listener)]
            )
            started, least, passed, *others = take_turns([ours, floor, first, *peers], plan.rounds(300, 30))
    return Figure(
        "start",
        "agent start to the tools/list reply, 100 modules x 10 tools, daemon running",
        (
            Row(started, least, goal=3.0),
            Row(passed, least, goal=1.3),
            *(Row(started, other) for other in others),
        ),
    )


def listed(start: Callable[[], Agent], tools: int) -> float:
    """Seconds from the start of an agent's server until its list is there; it has so many tools at least."""
    with start() as agent:
        agent.handshake()
        answer = agent.tools()
        seconds = agent.heard - agent.started
    assert answer.count(b'"inputSchema"') >= tools
    return seconds


class Socket:
    """A listening socket in the place of a daemon's, in a directory that only we may enter."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def heard(self, line: bytes) -> float:
        """When the first client had sent a line, after whatever else."""
        connection, _ = self._socket.accept()
        with connection:
            said = b""
            while line not in said:
                said += connection.recv(1 << 16)
            return perf_counter()


def forwarded(home: Home, listener: Socket) -> float:
    """Seconds from the start of a shim until a line that waited for it has gone through."""
    line = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
    reader, writer = os.pipe()
    os.write(writer, line)
    started = perf_counter()
    with subprocess.Popen(
        [*SHIM, "--socket", str(listener.path)],
        env=home.environment,
        cwd=home.project,
        stdin=reader,
        stdout=subprocess.DEVNULL,
    ) as shim:
        seconds = listener.heard(line) - started
        shim.terminate()
    os.close(reader)
    os.close(writer)
    return seconds


def ended(home: Home, *arguments: str) -> float:
    """Seconds from the start of an interpreter to its end."""
    started = perf_counter()
    subprocess.run(
        [sys.executable, *arguments],
        check=True,
        env=home.environment,
        cwd=home.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    return perf_counter() - started


def _starting(directory: Path, command: tuple[str, ...]) -> Callable[[], Iterator[float]]:
    def turn() -> Iterator[float]:
        yield listed(lambda: Agent(command, environment(directory), directory), 1)

    return turn
