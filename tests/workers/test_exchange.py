"""The time of a call: one timer serves all calls of a worker, and each of them has its own limit."""

from __future__ import annotations

import asyncio
import gc
import weakref

from mcppd.workers.exchange import EARLY, Clock

SHORT = 0.05
LONGER = 0.15
NEVER = 3600.0


class Rung:
    """Notes when the clock rang."""

    def __init__(self) -> None:
        self.at: list[float] = []
        self.is_rung = asyncio.Event()
        self.clock = Clock(self._ring)

    def _ring(self) -> None:
        self.at.append(_now())
        self.is_rung.set()


def _now() -> float:
    return asyncio.get_running_loop().time()


async def test_it_rings_at_its_limit_once() -> None:
    rung = Rung()
    began = _now()
    rung.clock.start(SHORT)
    await rung.is_rung.wait()
    rung.clock.start(None)
    assert len(rung.at) == 1
    assert rung.at[0] - began >= SHORT - EARLY


async def test_the_timer_of_a_call_that_is_over_does_not_end_the_next() -> None:
    rung = Rung()
    rung.clock.start(SHORT)
    rung.clock.stop()
    began = _now()
    rung.clock.start(LONGER)
    await rung.is_rung.wait()
    assert rung.at[0] - began >= LONGER - EARLY


async def test_the_timer_of_a_long_call_does_not_make_a_short_one_wait() -> None:
    rung = Rung()
    rung.clock.start(NEVER)
    rung.clock.stop()
    rung.clock.start(SHORT)
    async with asyncio.timeout(NEVER / 100):
        await rung.is_rung.wait()


async def test_it_does_not_ring_when_the_call_is_over() -> None:
    rung, other = Rung(), Rung()
    rung.clock.start(SHORT)
    rung.clock.stop()
    rung.clock.go_on()
    other.clock.start(LONGER)
    await other.is_rung.wait()
    assert not rung.at


async def test_it_stands_still_and_has_then_what_was_left() -> None:
    rung, other = Rung(), Rung()
    rung.clock.start(SHORT)
    rung.clock.stand_still()
    rung.clock.stand_still()
    other.clock.start(LONGER)
    await other.is_rung.wait()
    assert not rung.at
    rung.clock.go_on()
    rung.clock.go_on()
    await rung.is_rung.wait()
    assert len(rung.at) == 1


async def test_a_call_without_a_limit_has_none_of_the_one_before() -> None:
    rung, other = Rung(), Rung()
    rung.clock.start(SHORT)
    rung.clock.start(None)
    other.clock.start(LONGER)
    await other.is_rung.wait()
    assert not rung.at


async def test_nothing_holds_a_clock_that_is_closed() -> None:
    rung = Rung()
    rung.clock.start(NEVER)
    rung.clock.close()
    clock = weakref.ref(rung)
    del rung
    gc.collect()
    assert clock() is None


async def test_to_go_on_while_it_runs_gives_no_more_time() -> None:
    rung, other = Rung(), Rung()
    rung.clock.start(SHORT)
    other.clock.start(LONGER)
    while not other.is_rung.is_set():
        rung.clock.go_on()
        await asyncio.sleep(0)  # one turn of the loop
    assert rung.at
