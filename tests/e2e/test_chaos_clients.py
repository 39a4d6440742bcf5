"""Real clients call all the time while their daemon is killed, ended, restarted and upgraded at random.

Each call leaves a mark of its own: exactly one where the client was told that it succeeded, else one at most. No
client's server ever ends, and no client ever gets what it can't use.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from tests.e2e.counting import COUNTING, TOOLS, marks
from tests.e2e.home import SHIM, Home
from tests.e2e.peers.agent import KINDS, Agent
from tests.harness import LIMIT, REPOSITORY, texts

logger = logging.getLogger(__name__)

AGENTS = 20
AT_ONCE = 5
"""Clients that start at the same time: an SDK takes seconds to be imported."""
BLOWS = 200
SECONDS = 45.0
"""The clients need as long to start, on two processors; blows that don't fit are left out."""
FEWEST = 8
"""Blows without which it would show nothing."""


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


@dataclass
class Crowd:
    """Clients of every kind, and what they were told of their calls."""

    agents: list[Agent]
    shims: list[int]
    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    slowest: float = 0.0
    is_over: bool = False

    async def work(self, number: int) -> None:
        """Call after call, until it is over."""
        for turn in range(1_000_000):
            if self.is_over:
                return
            mark = f"{number}.{turn}"
            asked = time.monotonic()
            result = await self.agents[number].call("quick", {"mark": mark})
            self.slowest = max(self.slowest, time.monotonic() - asked)
            if result.get("isError"):
                self.failed[mark] = texts(result)
            else:
                self.done.append(mark)


def place(home: Home) -> list[str]:
    """Where the daemon is: SDKs pass none of the variables on that would tell."""
    directory = home.runtime / "mcppd"
    directory.mkdir(mode=0o700, exist_ok=True)
    return ["--config", f"{home.path}/config/mcppd/tools.yaml", "--socket", f"{directory}/mcp.sock"]


async def gathered(home: Home, count: int) -> Crowd:
    agents: list[Agent] = []
    for first in range(0, count, AT_ONCE):
        starting = (
            Agent.of(
                KINDS[number % len(KINDS)],
                [*SHIM, *place(home)],
                home.environment,
                home.path / f"agent{number}",
            )
            for number in range(first, min(first + AT_ONCE, count))
        )
        agents += await asyncio.gather(*starting)
    return Crowd(agents, [agent.shim for agent in agents])


Blow = Callable[[Home], Awaitable[None]]


async def kill(home: Home) -> None:
    strike(home, signal.SIGKILL)


async def end(home: Home) -> None:
    strike(home, signal.SIGTERM)


async def restart(home: Home) -> None:
    await asyncio.to_thread(home.mcppd, "restart", *place(home))


async def upgrade(home: Home) -> None:
    """As after an upgrade of the package: a newer one lies there, and is told to follow an older daemon."""
    tree = home.path / "newer"
    if not tree.exists():
        for name in ("mcppd", "shim", "tools"):
            shutil.copytree(REPOSITORY / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(REPOSITORY / "tools.yaml", tree)
    version = tree / "shim" / "version.py"
    version.write_text(f'VERSION = "{time.time():.6f}"\n')
    command = [sys.executable, str(tree / "mcppd" / "__main__.py"), "restart", "--if-older", *place(home)]
    await asyncio.to_thread(
        subprocess.run, command, env=home.environment, capture_output=True, timeout=3 * LIMIT, check=False
    )


def strike(home: Home, number: int) -> None:
    for pid in home.daemons():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


async def chaos(crowd: Crowd, home: Home, blows: Sequence[Blow], count: int, seconds: float) -> int:
    """Let them call while so many blows fall, or as many as there is time for; how many fell."""
    chance = random.Random(7)
    ends = time.monotonic() + seconds
    fallen = 0

    async def strikes() -> None:
        nonlocal fallen
        while fallen < count and time.monotonic() < ends:
            goal = len(crowd.done) + chance.randrange(1, 3 * len(crowd.agents))
            while len(crowd.done) < goal and time.monotonic() < ends + LIMIT:
                await asyncio.sleep(0.005)
            await chance.choice(blows)(home)
            fallen += 1
        crowd.is_over = True

    await asyncio.gather(strikes(), *(crowd.work(number) for number in range(len(crowd.agents))))
    return fallen


async def check(home: Home, crowd: Crowd) -> None:
    """Each call has its one answer, and did what that says; all clients are as they were."""
    made = marks(home)
    assert len(set(made)) == len(made)
    assert set(crowd.done) <= set(made) <= {*crowd.done, *crowd.failed}
    assert [agent.shim for agent in crowd.agents] == crowd.shims
    assert [await agent.ask("faults") for agent in crowd.agents] == [[] for _ in crowd.agents]
    for mark, text in crowd.failed.items():
        assert "outcome is unknown" in text or ("not begun" in text and mark not in made), text


async def run(
    home: Home, blows: Sequence[Blow], agents: int, count: int, seconds: float
) -> tuple[Crowd, int]:
    crowd = await gathered(home, agents)
    try:
        fallen = await chaos(crowd, home, blows, count, seconds)
        await check(home, crowd)
    finally:
        await asyncio.gather(*(agent.close() for agent in crowd.agents), return_exceptions=True)
    logger.info(
        "%d blows, %d calls done, %d failed, the slowest took %.1f s",
        fallen,
        len(crowd.done),
        len(crowd.failed),
        crowd.slowest,
    )
    return crowd, fallen


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "blows", [[kill, end, restart, upgrade], [end, restart, upgrade]], ids=["any", "graceful"]
)
async def test_clients_of_three_sdks_lose_no_call_and_make_none_twice(home: Home, blows: list[Blow]) -> None:
    crowd, fallen = await run(home, blows, AGENTS, BLOWS, SECONDS)
    assert fallen >= FEWEST
    if kill not in blows:
        assert crowd.failed == {}
