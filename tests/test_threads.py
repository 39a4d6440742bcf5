"""The threads of a loop: what they do, and that what they wait for holds nobody."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading

import pytest

from mcppd.threads import COUNT, Threads
from tests.harness import LIMIT, REPOSITORY

STUCK = """
import asyncio, os, sys
from mcppd.running import run_loop

async def main():
    reading, _ = os.pipe()
    waiting = asyncio.create_task(asyncio.to_thread(os.read, reading, 1))
    await asyncio.sleep(0)
    await asyncio.to_thread(print, "working", flush=True)
    waiting.cancel()

run_loop(main())
print("ended")
"""


@pytest.mark.slow
def test_a_thread_that_never_ends_does_not_hold_the_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", STUCK],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=True,
    )
    assert done.stdout.split() == ["working", "ended"]


async def test_what_is_done_there_is_given_back_or_raised() -> None:
    asyncio.get_running_loop().set_default_executor(Threads())
    assert await asyncio.to_thread(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        await asyncio.to_thread(divmod, 1, 0)
    assert await asyncio.to_thread(divmod, 7, 2) == (3, 1)


async def test_more_than_there_are_threads_are_done_one_after_another() -> None:
    threads = Threads()
    asyncio.get_running_loop().set_default_executor(threads)
    found = await asyncio.gather(*(asyncio.to_thread(threading.get_ident) for _ in range(10 * COUNT)))
    assert len(found) == 10 * COUNT
    assert len(set(found)) <= COUNT


def test_what_is_cancelled_before_its_turn_is_not_done() -> None:
    threads, gate = Threads(), threading.Event()
    done: list[int] = []
    blocked = [threads.submit(gate.wait, LIMIT) for _ in range(COUNT)]
    late = threads.submit(done.append, 1)
    assert late.cancel()
    gate.set()
    assert all(each.result(LIMIT) for each in blocked)
    threads.shutdown()
    assert done == []
