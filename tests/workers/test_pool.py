"""The pool with real workers: who gets one, who waits, and how they end."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from mcppd.core.errors import RetiredError, ToolError
from mcppd.workers import waiting as queues
from mcppd.workers.pool import WorkerPool
from tests.harness import until
from tests.workers.pool_peer import Client, Told, context, run, tool_of


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
    await until(lambda: not pool.workforce(tool.module.generation).workers)
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


@pytest.mark.slow
async def test_a_call_too_many_is_told_that_the_module_is_busy(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, workers=1)
    go = tmp_path / "go"
    first = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(go)))
    await until((tmp_path / "go.began").exists)
    waiting = [asyncio.create_task(run(pool, tool, context(tmp_path))) for _ in range(queues.QUEUE_LIMIT)]
    await asyncio.sleep(0)
    with pytest.raises(ToolError, match="busy"):
        await run(pool, tool, context(tmp_path))
    go.touch()
    assert len(await asyncio.gather(first, *waiting)) == queues.QUEUE_LIMIT + 1


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
    monkeypatch.setattr("mcppd.workers.crews.IDLE_CHECK", 0.01)
    monkeypatch.setattr("mcppd.workers.crews.IDLE_LIMIT", 0.0)
    stateful = tool_of(tmp_path, number=2, workers=1, stateful=True)
    kept = (await run(pool, stateful, context(tmp_path)))["pid"]
    gone = (await run(pool, tool_of(tmp_path), context(tmp_path)))["pid"]
    await until(lambda: not Path(f"/proc/{gone}").exists())
    assert (await run(pool, stateful, context(tmp_path)))["pid"] == kept


@pytest.mark.slow
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
    tool = tool_of(tmp_path, "def execute(a, b, c=None):\n    pass\nimport nothing_of_this_name\n")
    with pytest.raises(ToolError):
        await run(pool, tool, context(tmp_path))
    assert isinstance(pool.listener, Told)
    [fault] = pool.listener.failed
    assert (fault.file, fault.line) == (str(tmp_path / "mcpptool.py"), 3)
    assert tool.module.generation is not None
    assert not pool.is_proven(tool.module.generation)


async def test_an_import_that_never_ends_is_a_fault(pool: WorkerPool, tmp_path: Path) -> None:
    body = "def execute(a, b, c=None):\n    pass\nwhile True:\n    pass\n"
    tool = tool_of(tmp_path, body, import_timeout=0.3)
    fault = await pool.prepare(tool.module, run=True)
    assert fault is not None
    assert "0.3 s" in fault.message


@pytest.mark.parametrize("level", [None, "error", "warning", "debug"])
async def test_what_a_tool_logs_goes_to_our_log_and_to_the_client_each_from_its_level_on(
    pool: WorkerPool, tmp_path: Path, caplog: pytest.LogCaptureFixture, level: str | None
) -> None:
    tool, client = tool_of(tmp_path), Client()
    for ours in ("info", "error", "debug"):
        where = context(tmp_path, agent={"MCPP_LOG_LEVEL": ours}, client=client, level=level)
        for said in ("debug", "notice", "error"):
            await run(pool, tool, where, log={f"{ours} {said}": 1}, level=said)
    shown = [f"{ours} {said}" for ours in ("info", "error", "debug") for said in ("debug", "notice", "error")]
    expected = ["info notice", "info error", "error error", "debug debug", "debug notice", "debug error"]
    assert [text for text in shown if f'module one: {{"{text}":1}}' in caplog.text] == expected
    wanted = {None: [], "error": ["error"], "warning": ["error"], "debug": ["debug", "notice", "error"]}[
        level
    ]
    assert client.logged == [
        (said, {f"{ours} {said}": 1}) for ours in ("info", "error", "debug") for said in wanted
    ]


@pytest.mark.parametrize("secret", ["hunter2", 'qu"ote\n', "\u00e9l\u00e8ve"])
async def test_secrets_are_in_no_log(
    pool: WorkerPool, tmp_path: Path, caplog: pytest.LogCaptureFixture, secret: str
) -> None:
    body = """
import os
def execute(tool_name, arguments, context):
    for name in ("TOKEN", "GIVEN", "SHORT"):
        context["log"]("error", os.environ[name])
        context["log"]("error", {name: [os.environ[name]]})
    raise ValueError(dict(os.environ))
"""
    tool, client = (
        tool_of(tmp_path, body, pass_env=("TOKEN",), env={"GIVEN": secret[::-1], "SHORT": "1"}),
        Client(),
    )
    with pytest.raises(AssertionError):
        await run(pool, tool, context(tmp_path, agent={"TOKEN": secret}, client=client))
    file = tmp_path / "logs" / "one.log"  # what a worker says comes by another way than its answer
    await until(lambda: file.exists() and "ValueError" in file.read_text())
    log = file.read_text()
    for text in (caplog.text, log, json.dumps(client.logged)):
        for written in (secret, secret[::-1]):
            assert written not in text
            assert json.dumps(written)[1:-1] not in text
    assert [data for _, data in client.logged] == [
        *("***", {"TOKEN": ["***"]}),
        *("***", {"GIVEN": ["***"]}),
        *("1", {"SHORT": ["1"]}),
    ]
