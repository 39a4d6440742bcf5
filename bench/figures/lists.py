"""`tools/list` of a thousand tools, one after another by one client straight on the socket.

From just before the line is written until the answer is whole. Against: a program on the daemon's kind of loop that
writes the same bytes when a line comes, and does nothing else. Also through the shim.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final

from bench.agents import Agent
from bench.figures.start import MODULES, TOOLS
from bench.homes import new_home, wait_until
from bench.peers import SERVERS
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns
from bench.sockets import Plain

IN_A_TURN: Final = 5
"""Lists: so that each runs with its own things in the processor's caches."""
GOAL: Final = 1.5


def measure(plan: Plan) -> Figure:
    """List, and list again."""
    with new_home() as home, ExitStack() as stack:
        home.add_modules(MODULES, TOOLS)
        home.start_daemon()
        shim = stack.enter_context(home.agent())
        shim.handshake()
        direct = stack.enter_context(Plain(home.control.with_name("mcp.sock")))
        direct.greet(home)
        answer, _ = direct.ask("tools/list", {})
        assert answer.count(b'"inputSchema"') >= MODULES * TOOLS
        kept, path = home.path / "answer", home.path / "bytes.sock"
        kept.write_bytes(answer)
        program = [sys.executable, str(SERVERS / "cached_bytes.py"), str(path), str(kept)]
        server = stack.enter_context(subprocess.Popen(program))
        stack.callback(server.terminate)
        wait_until(path.exists)
        floor = stack.enter_context(Plain(path))
        subjects = [
            Subject(f"tools/list of {MODULES * TOOLS} tools, on the socket", _listing(direct)),
            Subject(f"writing the same {len(answer) >> 10} KiB", _listing(floor)),
            Subject("the same list through the shim", _through(shim)),
        ]
        own, base, through = take_turns(subjects, plan.rounds(200, 20), warm=3, unit="µs")
    rows = (Row(own, base, goal=GOAL), Row(through, base))
    return Figure("lists", "tools/list of a thousand tools, one after another", rows)


def _listing(client: Plain) -> Callable[[], Iterator[float]]:
    return lambda: (client.ask("tools/list", {})[1] for _ in range(IN_A_TURN))


def _through(agent: Agent) -> Callable[[], Iterator[float]]:
    def turn() -> Iterator[float]:
        for _ in range(IN_A_TURN):
            agent.tools()
            yield agent.heard - agent.sent

    return turn
