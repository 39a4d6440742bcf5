"""Agents call all the time while their daemon is killed, ended and restarted at random: no call is lost or doubled.

Each call leaves a mark of its own. A call that the client was told has succeeded has left exactly one; any other at
most one; and nobody's server ever ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import pytest

from tests.e2e.counting import COUNTING, TOOLS, assert_lives, marks, opened, params_of
from tests.e2e.home import Home
from tests.harness import LIMIT, Client, texts

logger = logging.getLogger(__name__)

ERAS = ("legacy", "modern")
LEAST = 4  # blows, of which each kind may be one


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


@dataclass
class Agents:
    """What they were told of their calls."""

    clients: list[Client]
    done: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self, number: int) -> None:
        """Call after call, with a list beside each, until it is over."""
        client, era = self.clients[number], ERAS[number % 2]
        for turn in range(1_000_000):
            if self.is_over.is_set():
                return
            mark = f"{number}.{turn}"
            asked = client.ask("tools/list", params_of(era))
            call = client.ask("tools/call", params_of(era, name="quick", arguments={"mark": mark}))
            async with asyncio.timeout(3 * LIMIT):
                assert "result" in await asked
                result = (await call)["result"]
            if result["isError"]:
                self.failed[mark] = texts(result)
            else:
                self.done.append(mark)


Blow = Callable[[Home], Awaitable[None]]


async def kill(home: Home) -> None:
    strike(home, signal.SIGKILL)


async def end(home: Home) -> None:
    strike(home, signal.SIGTERM)


async def restart(home: Home) -> None:
    await asyncio.to_thread(home.mcppd, "restart")  # there may be none at this moment: then it starts one


def strike(home: Home, number: int) -> None:
    for pid in home.daemons():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


async def chaos(home: Home, agents: int, seconds: float, blows: Sequence[Blow]) -> Agents:
    """Let agents call for so long, while one blow comes after the other."""
    clients = await asyncio.gather(*(opened(home, ERAS[number % 2]) for number in range(agents)))
    told = Agents(list(clients))
    chance = random.Random(7)
    ends = time.monotonic() + seconds
    count = 0

    async def strikes() -> None:
        nonlocal count
        while time.monotonic() < ends or count < LEAST:  # however slow the machine is
            goal = len(told.done) + chance.randrange(1, 5 * agents)
            while len(told.done) < goal and time.monotonic() < ends + LIMIT:
                await asyncio.sleep(0.005)
            await chance.choice(blows)(home)
            count += 1
        told.is_over.set()

    await asyncio.gather(strikes(), *(told.work(number) for number in range(agents)))
    logger.info("%d blows, %d calls done, %d failed", count, len(told.done), len(told.failed))
    return told


def check(home: Home, told: Agents) -> None:
    """Each call has its one answer, and did what that says."""
    made = marks(home)
    assert len(set(made)) == len(made)
    assert set(told.done) <= set(made) <= {*told.done, *told.failed}
    for client in told.clients:
        assert_lives(client)


SECONDS = [5, pytest.param(60, marks=[pytest.mark.slow, pytest.mark.timeout(300)])]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", SECONDS)
async def test_killed_ended_and_restarted_at_random(home: Home, seconds: float) -> None:
    told = await chaos(home, 6, seconds, [kill, end, restart])
    check(home, told)
    made = set(marks(home))
    for (
        mark,
        text,
    ) in told.failed.items():  # of a daemon that is killed as soon as it starts, shims tell at once
        assert "outcome is unknown" in text or ("not begun" in text and mark not in made), text


@pytest.mark.slow
@pytest.mark.parametrize("seconds", SECONDS)
async def test_no_call_fails_while_daemons_are_told_to_end_or_restarted(home: Home, seconds: float) -> None:
    told = await chaos(home, 6, seconds, [end, restart])
    check(home, told)
    assert told.failed == {}
