"""Agents that start together on a host without a daemon: always one, whatever those before have left (CASES K1, K2)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from tests.e2e.counting import COUNTING, TOOLS, assert_lives
from tests.e2e.home import Home
from tests.harness import LIMIT, until

logger = logging.getLogger(__name__)

SHIMS = 4
ROUNDS = 200
SECONDS = 100.0
"""A test takes no longer, on however slow a machine: the rounds that don't fit are left out."""
FEWEST = 20
"""Rounds without which it would show nothing."""


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


async def cold_starts(home: Home, rounds: int, seconds: float) -> int:
    """So many starts of all shims at once, or as many as there is time for; how many."""
    ends = time.monotonic() + seconds
    for number in range(rounds):
        if time.monotonic() > ends:
            return number
        await cold_start(home, is_struck=number % 4 == 3, last=(signal.SIGKILL, signal.SIGTERM)[number % 2])
    return rounds


async def cold_start(home: Home, *, is_struck: bool, last: signal.Signals) -> None:
    """Start them all; `is_struck`: the first daemon is killed while it begins; `last` ends the one that serves."""
    clients = await asyncio.gather(*(home.shim() for _ in range(SHIMS)))
    if is_struck:
        await until(home.daemons)
        for pid in home.daemons():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(2 * LIMIT):
        answers = await asyncio.gather(*(client.ask("tools/list") for client in clients))
    for client, answer in zip(clients, answers, strict=True):
        assert "quick" in {tool["name"] for tool in answer["result"]["tools"]}
        assert_lives(client)
    await until(lambda: len(home.daemons()) == 1)
    status = await home.status()
    assert home.daemons() == [status["pid"]]
    assert len(status["sessions"]) == SHIMS
    await asyncio.gather(*(client.close() for client in clients))
    os.kill(status["pid"], last)
    await until(lambda: not home.processes())


async def test_a_few_cold_starts(home: Home) -> None:
    assert await cold_starts(home, 4, LIMIT) >= 1


@pytest.mark.slow
@pytest.mark.timeout(3 * SECONDS)
async def test_two_hundred_cold_starts(home: Home) -> None:
    count = await cold_starts(home, ROUNDS, SECONDS)
    logger.info("%d cold starts of %d shims", count, SHIMS)
    assert count >= FEWEST
