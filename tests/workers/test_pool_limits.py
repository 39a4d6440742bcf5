"""The pool under load: bounded and fair, with a place for every module; workers that die again and again."""

from __future__ import annotations

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from mcppd.core.errors import ToolError
from mcppd.core.limits import ToolLimits
from mcppd.core.results import ToolResult
from mcppd.core.served import Tool
from mcppd.core.strikes import PATIENCE
from mcppd.workers.pool import WorkerPool
from mcppd.workers.worker import State
from tests.harness import LIMIT, until
from tests.workers.pool_peer import BODY, context, run, tool_of

DIES = BODY.replace(
    '    if "until"', '    if arguments.get("die"):\n        os._exit(3)\n    if "until"', 1
)  # fmt: skip
IMPORTS = """
import os

if os.path.exists({path!r}):
    raise RuntimeError("what it needs is gone")

def execute(tool_name, arguments, context=None):
    return {{"success": True, "result": {{"pid": os.getpid()}}}}
"""


async def fails(pool: WorkerPool, tool: Tool, tmp_path: Path, session: str = "s", **arguments: object) -> str:
    """What a call is told that fails."""
    with pytest.raises(ToolError) as caught:
        async with asyncio.timeout(LIMIT):
            await pool.call_tool(tool, arguments, context(tmp_path, session))
    return caught.value.text


def room_for(pool: WorkerPool, most: int) -> None:
    """Let the pool have so many workers."""
    pool._crews._room._most = most


class TestWaiting:
    async def test_under_load_each_session_gets_its_turn(self, pool: WorkerPool, tmp_path: Path) -> None:
        tool = tool_of(tmp_path, workers=2)
        order: list[str] = []

        async def call(session: str) -> None:
            await run(pool, tool, context(tmp_path, session))
            order.append(session)

        counts = {"greedy": 120, "busy": 30, "modest": 5, "once": 1}
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*(call(name) for name, count in counts.items() for _ in range(count)))
        assert Counter(order) == counts
        last = {name: len(order) - order[::-1].index(name) for name in counts}
        assert last["once"] < last["modest"] < last["busy"] < last["greedy"]
        assert last["modest"] <= 5 * len(counts) + 4
        assert last["busy"] <= 5 * 4 + 25 * 2 + 6

    async def test_the_limit_of_the_queue_is_named_with_its_value(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        tool = tool_of(tmp_path, workers=1, queue=2)
        go = tmp_path / "go"
        running = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(go)))
        await until((tmp_path / "go.began").exists)
        waiting = [asyncio.create_task(run(pool, tool, context(tmp_path))) for _ in range(2)]
        await asyncio.sleep(0)
        told = await fails(pool, tool, tmp_path)
        for word in ("'one'", "busy", "2 calls", "1 workers", "`queue`", "tools.yaml", "not begun"):
            assert word in told
        workforce = pool.workforce(tool.module.generation)
        assert (workforce.workers, workforce.busy, workforce.waiting) == (1, 1, 2)
        go.touch()
        await asyncio.gather(running, *waiting)

    async def test_where_no_call_may_wait_the_next_one_is_told(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        tool = tool_of(tmp_path, workers=1, queue=0)
        go = tmp_path / "go"
        running = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(go)))
        await until((tmp_path / "go.began").exists)
        assert "none of its calls may wait" in await fails(pool, tool, tmp_path)
        go.touch()
        await running
        await run(pool, tool, context(tmp_path))

    async def test_an_agent_that_fills_the_queue_does_not_keep_others_out(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        tool = tool_of(tmp_path, workers=1, queue=10)
        go = tmp_path / "go"
        running = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(go)))
        await until((tmp_path / "go.began").exists)
        greedy = [
            asyncio.create_task(pool.call_tool(tool, {}, context(tmp_path, "greedy"))) for _ in range(15)
        ]
        await asyncio.sleep(0)
        modest = asyncio.create_task(run(pool, tool, context(tmp_path, "modest")))
        await asyncio.sleep(0)
        go.touch()
        async with asyncio.timeout(LIMIT):
            ends = await asyncio.gather(running, modest, *greedy, return_exceptions=True)
        assert not any(isinstance(each, BaseException) for each in ends[:2])
        assert [type(each) for each in ends[2:]] == [ToolResult] * 9 + [ToolError] * 6

    async def test_the_time_in_the_queue_is_known(self, pool: WorkerPool, tmp_path: Path) -> None:
        tool = tool_of(tmp_path, workers=1)
        await run(pool, tool, context(tmp_path))
        go = tmp_path / "go"
        first, second = context(tmp_path, "a"), context(tmp_path, "b")
        running = asyncio.create_task(run(pool, tool, first, until=str(go)))
        await until((tmp_path / "go.began").exists)
        waiting = asyncio.create_task(run(pool, tool, second))
        loop = asyncio.get_running_loop()
        began = loop.time()
        await until(lambda: loop.time() > began + 0.1)
        go.touch()
        await asyncio.gather(running, waiting)
        assert second.spent.waited >= 0.1
        assert first.spent.waited < second.spent.waited

    async def test_a_call_that_is_cancelled_when_its_turn_came_hands_it_on(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        tool = tool_of(tmp_path, workers=1)
        go = tmp_path / "go"
        running = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(go)))
        await until((tmp_path / "go.began").exists)
        [crew] = pool._crews._crews.values()
        waiting = [asyncio.create_task(run(pool, tool, context(tmp_path, name))) for name in "ab"]
        await until(lambda: crew.waiting == 2)
        go.touch()
        async with asyncio.timeout(LIMIT):
            while crew.waiting == 2:
                await asyncio.sleep(0)  # its turn comes in one step of the loop, and it goes on in the next
        waiting[0].cancel()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(running, waiting[1])
        await until(lambda: all(each.state is State.IDLE for each in crew.workers))
        assert (crew.engaged, crew.waiting) == (1, 0)


class TestRoom:
    async def test_idle_workers_of_other_modules_make_room(self, pool: WorkerPool, tmp_path: Path) -> None:
        room_for(pool, 2)
        tools = [tool_of(tmp_path, number=number) for number in range(4)]
        pids = [(await run(pool, tool, context(tmp_path)))["pid"] for tool in tools]
        await until(lambda: not Path(f"/proc/{pids[0]}").exists())
        await until(lambda: not Path(f"/proc/{pids[1]}").exists())
        assert [(await run(pool, tool, context(tmp_path)))["pid"] for tool in tools[2:]] == pids[2:]

    async def test_a_module_whose_calls_hang_takes_no_place_of_anothers_first_worker(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        room_for(pool, 3)
        hangs = tool_of(tmp_path, number=1, workers=8)
        never = [tmp_path / f"never{number}" for number in range(8)]
        hanging = [
            asyncio.create_task(run(pool, hangs, context(tmp_path), until=str(each))) for each in never
        ]
        await until(lambda: len(list(tmp_path.glob("never*.began"))) == 3)
        others = [tool_of(tmp_path, number=number) for number in range(2, 7)]
        await asyncio.gather(*(run(pool, tool, context(tmp_path)) for tool in others))
        assert len(list(tmp_path.glob("never*.began"))) == 3
        for each in never:
            each.touch()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*hanging)

    async def test_who_was_refused_a_place_gets_one_when_it_is_free(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        room_for(pool, 3)
        go = [tmp_path / f"go{number}" for number in range(4)]
        many = tool_of(tmp_path, number=1, workers=4)
        other = tool_of(tmp_path, number=2, workers=4)
        mine = [asyncio.create_task(run(pool, many, context(tmp_path), until=str(each))) for each in go[:2]]
        theirs = [
            asyncio.create_task(run(pool, other, context(tmp_path), until=str(each))) for each in go[2:]
        ]
        await until(lambda: len(list(tmp_path.glob("go*.began"))) == 3)
        assert sum(pool.workforce(tool.module.generation).waiting for tool in (many, other)) == 1
        began = {path.name for path in tmp_path.glob("go*.began")}
        other_side = go[:2] if {"go2.began", "go3.began"} - began else go[2:]
        for each in other_side:
            each.touch()
        await until(lambda: len(list(tmp_path.glob("go*.began"))) == 4)
        for each in go:
            each.touch()
        async with asyncio.timeout(LIMIT):
            await asyncio.gather(*mine, *theirs)

    async def test_a_worker_that_keeps_state_is_never_let_go_for_another(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        room_for(pool, 1)
        stateful = tool_of(tmp_path, number=1, workers=1, stateful=True)
        kept = (await run(pool, stateful, context(tmp_path)))["pid"]
        for number in range(2, 5):
            await run(pool, tool_of(tmp_path, number=number), context(tmp_path))
        assert (await run(pool, stateful, context(tmp_path)))["pid"] == kept


class TestDeaths:
    async def test_workers_that_die_again_and_again_are_paused_for_and_then_given_up(
        self, pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("mcppd.core.strikes.PAUSES", (0.2, 0.2))
        tool = tool_of(tmp_path, DIES)
        for _ in range(PATIENCE):
            assert "exited with status 3" in await fails(pool, tool, tmp_path, die=True)
        for _ in range(2):
            condition = pool.workforce(tool.module.generation).condition
            assert condition is not None
            assert condition.state == "backoff"
            told = await fails(pool, tool, tmp_path)
            for word in ("'one'", "paused", " s more", "exited with status 3", "not begun"):
                assert word in told
            await until(
                lambda: (c := pool.workforce(tool.module.generation).condition) is None or not c.seconds
            )
            await fails(pool, tool, tmp_path, die=True)
        condition = pool.workforce(tool.module.generation).condition
        assert condition is not None
        assert condition.state == "failed"
        assert "has failed" in await fails(pool, tool, tmp_path)
        pool.forgive(tool.module.generation)
        await run(pool, tool, context(tmp_path))
        assert pool.workforce(tool.module.generation).condition is None

    async def test_calls_that_wait_when_a_pause_begins_are_told(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        tool = tool_of(tmp_path, DIES, workers=1)
        ends = await asyncio.gather(
            *(pool.call_tool(tool, {"die": True}, context(tmp_path)) for _ in range(PATIENCE + 20)),
            return_exceptions=True,
        )
        told = [each.text for each in ends if isinstance(each, ToolError)]
        assert len(told) == len(ends)
        died = [each for each in told if "Whether it took effect is unknown" in each]
        assert PATIENCE <= len(died) <= PATIENCE + 1
        assert all("is paused" in each for each in told if each not in died)

    async def test_an_answer_in_between_ends_the_row(self, pool: WorkerPool, tmp_path: Path) -> None:
        tool = tool_of(tmp_path, DIES)
        for _ in range(3):
            for _ in range(PATIENCE - 1):
                await fails(pool, tool, tmp_path, die=True)
            await run(pool, tool, context(tmp_path))
        assert pool.workforce(tool.module.generation).condition is None

    async def test_workers_that_are_killed_together_are_one_death(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        tool = tool_of(tmp_path, workers=PATIENCE + 3)
        never = tmp_path / "never"
        calls = [
            asyncio.create_task(pool.call_tool(tool, {"until": f"{never}{n}"}, context(tmp_path)))
            for n in range(PATIENCE + 3)
        ]
        await until(lambda: len(list(tmp_path.glob("never*.began"))) == len(calls))
        workers = [f"/proc/{pid}" for pid in _workers(pool)]
        for pid in _workers(pool):
            os.kill(pid, signal.SIGKILL)
        ends = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(each, ToolError) for each in ends)
        await until(lambda: not any(map(os.path.exists, workers)))
        await run(pool, tool, context(tmp_path))

    async def test_what_can_not_be_imported_any_more_is_paused_for_not_given_up(
        self, pool: WorkerPool, tmp_path: Path
    ) -> None:
        gone = tmp_path / "gone"
        tool = tool_of(tmp_path, IMPORTS.format(path=str(gone)))
        pid = (await run(pool, tool, context(tmp_path)))["pid"]
        gone.touch()
        os.kill(pid, signal.SIGKILL)
        await until(lambda: not pool.workforce(tool.module.generation).workers)
        for _ in range(PATIENCE):
            assert "what it needs is gone" in await fails(pool, tool, tmp_path)
        assert "is paused" in await fails(pool, tool, tmp_path)
        gone.unlink()
        pool.forgive()
        await run(pool, tool, context(tmp_path))


async def test_a_limit_of_a_tool_goes_before_its_modules(pool: WorkerPool, tmp_path: Path) -> None:
    limits = {"tool": ToolLimits(timeout=0.2)}
    tool = tool_of(tmp_path, timeout=60.0, of_tools=limits)
    told = await fails(pool, tool, tmp_path, until=str(tmp_path / "never"))
    assert "0.2 s" in told


def _workers(pool: WorkerPool) -> list[int]:
    assert pool.spawner_pid is not None
    children = Path(f"/proc/{pool.spawner_pid}/task/{pool.spawner_pid}/children").read_text()
    return [int(pid) for pid in children.split()]
