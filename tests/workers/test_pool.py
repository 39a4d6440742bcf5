"""The pool with real workers: who gets one, who waits, and how they end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcppd.core.calls import AgentEnvironment, CallContext, base_environment
from mcppd.core.catalog import Module, Settings, Tool, make_offer
from mcppd.core.errors import RetiredError, ToolError
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.workers import crew as crews
from mcppd.workers.pool import WorkerPool
from mcppd.workers.spawning import Spawner
from tests.harness import LIMIT, until

BODY = b"""
import os, pathlib, time

def execute(tool_name, arguments, context=None):
    if "until" in arguments:
        pathlib.Path(arguments["until"] + ".began").touch()
        while not os.path.exists(arguments["until"]):
            time.sleep(0.005)
    if arguments.get("log"):
        context["log"]("debug", arguments["log"])
    return {"success": True, "result": {"pid": os.getpid(), "session": context["session_id"]}}
"""


class Told:
    """Hears what the pool has to tell."""

    def __init__(self) -> None:
        self.failed: list[Fault] = []

    def joined(self, generation: Generation) -> None:
        pass

    def import_failed(self, generation: Generation, fault: Fault) -> bool:
        self.failed.append(fault)
        return False


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[WorkerPool]:
    environment = dict(os.environ)
    async with asyncio.TaskGroup() as tasks:
        made = WorkerPool(Spawner(base_environment(environment)), str(tmp_path / "logs"), environment, tasks)
        made.listener = Told()
        try:
            yield made
        finally:
            made.close()


def tool_of(tmp_path: Path, body: bytes = BODY, number: int = 1, **settings: Any) -> Tool:
    entry = str(tmp_path / "mcpptool.py")
    generation = Generation("one", number, str(tmp_path), entry, "", {entry: body})
    module = Module("one", str(tmp_path), settings=Settings(**settings), generation=generation)
    return Tool("tool", "one__tool", "tool", module, make_offer("tool", {"name": "tool"}))


def context(tmp_path: Path, session: str = "s", agent: dict[str, str] | None = None) -> CallContext:
    return CallContext(session, "tester", "1", str(tmp_path), AgentEnvironment(dict(os.environ), agent or {}))


async def run(pool: WorkerPool, tool: Tool, where: CallContext, **arguments: Any) -> dict[str, Any]:
    async with asyncio.timeout(LIMIT):
        result = await pool.call_tool(tool, arguments, where)
    value: dict[str, Any] = json.loads(json.loads(result.content)[0]["text"])
    return value


async def test_a_call_goes_to_the_worker_that_served_its_session_last(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path)
    sessions = [context(tmp_path, name) for name in "abc"]
    go = tmp_path / "go"
    together = [
        asyncio.create_task(run(pool, tool, each, until=str(go.with_suffix(f".{each.session}"))))
        for each in sessions
    ]
    await until(lambda: len(list(tmp_path.glob("*.began"))) == 3)
    for each in sessions:
        go.with_suffix(f".{each.session}").touch()
    first = {each.session: (await task)["pid"] for each, task in zip(sessions, together, strict=True)}
    assert len(set(first.values())) == 3
    for each in [*sessions, *reversed(sessions)]:
        assert (await run(pool, tool, each))["pid"] == first[each.session]


async def test_no_more_workers_than_the_settings_say(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, workers=2)
    answers = await asyncio.gather(*(run(pool, tool, context(tmp_path, str(n))) for n in range(20)))
    assert len({answer["pid"] for answer in answers}) <= 2
    assert [answer["session"] for answer in answers] == [str(n) for n in range(20)]


async def test_a_worker_that_dies_while_it_is_idle_does_not_keep_its_place(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path, workers=1)
    first = (await run(pool, tool, context(tmp_path)))["pid"]
    os.kill(first, signal.SIGKILL)
    await until(lambda: pool.count(tool.module.generation) == 0)
    assert (await run(pool, tool, context(tmp_path)))["pid"] != first


async def test_waiting_is_fair_between_sessions(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, workers=1)
    go = tmp_path / "go"
    first = asyncio.create_task(run(pool, tool, context(tmp_path, "first"), until=str(go)))
    await until((tmp_path / "go.began").exists)
    order: list[str] = []

    async def one(session: str) -> None:
        await run(pool, tool, context(tmp_path, session))
        order.append(session)

    greedy = [asyncio.create_task(one("greedy")) for _ in range(10)]
    await asyncio.sleep(0)
    modest = asyncio.create_task(one("modest"))
    await asyncio.sleep(0)
    go.touch()
    await asyncio.gather(first, modest, *greedy)
    assert order.index("modest") <= 1


async def test_a_call_too_many_is_told_that_the_module_is_busy(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, workers=1)
    go = tmp_path / "go"
    first = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(go)))
    await until((tmp_path / "go.began").exists)
    waiting = [asyncio.create_task(run(pool, tool, context(tmp_path))) for _ in range(crews.QUEUE_LIMIT)]
    await asyncio.sleep(0)
    with pytest.raises(ToolError, match="busy"):
        await run(pool, tool, context(tmp_path))
    go.touch()
    assert len(await asyncio.gather(first, *waiting)) == crews.QUEUE_LIMIT + 1


async def test_a_waiting_call_of_a_retired_generation_is_given_back_unbegun(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path, workers=1)
    go = tmp_path / "go"
    running = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(go)))
    await until((tmp_path / "go.began").exists)
    waiting = asyncio.create_task(run(pool, tool, context(tmp_path)))
    await asyncio.sleep(0)
    assert tool.module.generation is not None
    pool.retire(tool.module.generation)
    with pytest.raises(RetiredError):
        await waiting
    go.touch()
    pid = (await running)["pid"]
    await until(lambda: not Path(f"/proc/{pid}").exists())


async def test_idle_workers_are_let_go_but_not_the_one_of_a_module_with_state(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcppd.workers.pool.IDLE_CHECK", 0.01)
    monkeypatch.setattr("mcppd.workers.pool.IDLE_LIMIT", 0.0)
    stateful = tool_of(tmp_path, number=2, workers=1, stateful=True)
    kept = (await run(pool, stateful, context(tmp_path)))["pid"]
    gone = (await run(pool, tool_of(tmp_path), context(tmp_path)))["pid"]
    await until(lambda: not Path(f"/proc/{gone}").exists())
    assert (await run(pool, stateful, context(tmp_path)))["pid"] == kept


async def test_a_spawner_that_dies_is_replaced_and_its_calls_are_told(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path)
    before = (await run(pool, tool, context(tmp_path)))["pid"]
    running = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(tmp_path / "never")))
    await until((tmp_path / "never.began").exists)
    assert pool.spawner_pid is not None
    os.kill(pool.spawner_pid, signal.SIGKILL)
    with pytest.raises(ToolError, match="unknown"):
        await running
    after = (await run(pool, tool, context(tmp_path)))["pid"]
    assert after != before
    await until(lambda: not Path(f"/proc/{before}").exists())


async def test_a_module_that_cannot_be_imported_is_a_fault_with_its_line(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path, b"def execute(a, b, c=None):\n    pass\nimport nothing_of_this_name\n")
    with pytest.raises(ToolError):
        await run(pool, tool, context(tmp_path))
    assert isinstance(pool.listener, Told)
    [fault] = pool.listener.failed
    assert (fault.file, fault.line) == (str(tmp_path / "mcpptool.py"), 3)
    assert tool.module.generation is not None
    assert not pool.is_proven(tool.module.generation)


async def test_an_import_that_never_ends_is_a_fault(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcppd.workers.pool.IMPORT_LIMIT", 0.3)
    tool = tool_of(tmp_path, b"def execute(a, b, c=None):\n    pass\nwhile True:\n    pass\n")
    fault = await pool.prepare(tool.module, run=True)
    assert fault is not None
    assert "0.3 s" in fault.message


async def test_what_a_tool_logs_is_held_against_the_level_of_its_agent(
    pool: WorkerPool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tool = tool_of(tmp_path)
    await run(pool, tool, context(tmp_path, agent={"MCPP_LOG_LEVEL": "info"}), log="quiet")
    await run(pool, tool, context(tmp_path, agent={"MCPP_LOG_LEVEL": "debug"}), log="loud")
    assert "loud" in caplog.text
    assert "quiet" not in caplog.text
