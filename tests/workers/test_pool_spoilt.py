"""What a call leaves of its worker: put back, or the worker goes; the next call never pays for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import signal
from pathlib import Path

import pytest

from mcppd.core.errors import ToolError
from mcppd.core.served import Tool
from mcppd.workers.pool import WorkerPool
from tests.harness import LIMIT, until
from tests.workers.pool_peer import context, run, tool_of

BODY = """
import ctypes, fcntl, os, resource, signal, subprocess, sys, threading, time

def execute(tool_name, arguments, context=None):
    if "code" in arguments:
        exec(arguments["code"], globals())
    return {"success": True, "result": eval(arguments.get("value", "os.getpid()"))}
"""
IS_ROOT = os.geteuid() == 0


async def value(pool: WorkerPool, tool: Tool, tmp_path: Path, value: str = "os.getpid()") -> object:
    return await run(pool, tool, context(tmp_path), value=value)


async def spoil(pool: WorkerPool, tool: Tool, tmp_path: Path, code: str) -> int:
    """The worker in which that was done, whose call was answered all the same."""
    return int(await run(pool, tool, context(tmp_path), code=code))


async def fails(pool: WorkerPool, tool: Tool, tmp_path: Path, code: str) -> str:
    with pytest.raises(ToolError) as caught:
        async with asyncio.timeout(LIMIT):
            await pool.call_tool(tool, {"code": code}, context(tmp_path))
    return caught.value.text


@pytest.mark.parametrize(
    "code",
    [
        "os.close(0)",
        "os.close(1)",
        "os.close(2)",
        "os.dup2(os.open('/dev/zero', os.O_RDONLY), 0)",
        "os.dup2(os.open('/dev/null', os.O_WRONLY), 1)",
        "os.set_blocking(1, False)",
    ],
)
async def test_descriptors_that_a_call_took_away_are_there_for_the_next(
    pool: WorkerPool, tmp_path: Path, code: str
) -> None:
    tool = tool_of(tmp_path, BODY)
    first = await spoil(pool, tool, tmp_path, code)
    seen = (
        "[os.system('cat; echo by a child'), print('printed', flush=True), os.get_blocking(1), os.getpid()]"
    )
    assert await value(pool, tool, tmp_path, seen) == [0, None, True, first]
    log = tmp_path / "logs" / "one.log"
    await until(lambda: log.exists() and {"by a child", "printed"} <= set(log.read_text().split("\n")))


SPOILT = {
    "closed its own output": "os.closerange(1, 3)",
    "changed its user or group": "os.setgid(12345)",
}


@pytest.mark.parametrize("why", SPOILT)
async def test_a_worker_that_a_call_has_spoilt_for_good_is_replaced_and_the_call_answered(
    pool: WorkerPool, tmp_path: Path, caplog: pytest.LogCaptureFixture, why: str
) -> None:
    if "setgid" in SPOILT[why] and not IS_ROOT:
        pytest.skip("optional: only root can change its group")
    tool = tool_of(tmp_path, BODY)
    for at in range(3):
        first = await spoil(pool, tool, tmp_path, SPOILT[why])
        if at == 0:
            await until(lambda: f"module one: a call {why}" in caplog.text)
        calls = [value(pool, tool, tmp_path) for _ in range(3)]  # at once: some are on their way to it
        assert first not in await asyncio.gather(*calls)
        await until(lambda gone=first: not Path(f"/proc/{gone}").exists())  # type: ignore[misc]


async def test_a_call_that_raises_without_any_output_is_told(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, BODY)
    code = "print('left', end=''); os.closerange(0, 3); raise ValueError('bad')"
    result = await pool.call_tool(tool, {"code": code}, context(tmp_path))
    assert b"ValueError: bad" in result.content


async def test_the_only_worker_of_a_module_keeps_its_state_whatever_its_calls_spoil(
    pool: WorkerPool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tool = tool_of(tmp_path, BODY, workers=1, stateful=True)
    first = await spoil(pool, tool, tmp_path, SPOILT["closed its own output"])
    for _ in range(3):
        assert await value(pool, tool, tmp_path) == first
    assert caplog.text.count("stays all the same") == 1


HERE = {
    "os.getpriority(os.PRIO_PROCESS, 0)": "os.nice(5)",
    "resource.getrlimit(resource.RLIMIT_NOFILE)": "resource.setrlimit(resource.RLIMIT_NOFILE, (60, 60))",
    "sorted(os.sched_getaffinity(0))": "os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})",
}


@pytest.mark.parametrize("seen", HERE)
async def test_priority_hard_limits_and_processors_are_what_they_were(
    pool: WorkerPool, tmp_path: Path, seen: str
) -> None:
    """Put back where we may; as anybody but root by another worker."""
    tool = tool_of(tmp_path, BODY)
    before = await value(pool, tool, tmp_path, seen)
    for _ in range(3):
        first = await spoil(pool, tool, tmp_path, HERE[seen])
        assert await value(pool, tool, tmp_path, seen) == before
        if "sched" in seen:
            assert await value(pool, tool, tmp_path) == first


@pytest.mark.skipif(not IS_ROOT, reason="optional: only root can become somebody who can't go back")
@pytest.mark.parametrize("seen", [name for name in HERE if "sched" not in name])
async def test_where_they_cannot_be_put_back_the_worker_is_replaced(
    pool: WorkerPool, tmp_path: Path, seen: str, caplog: pytest.LogCaptureFixture
) -> None:
    tool, anywhere = tool_of(tmp_path, f"import os\nos.setresuid(12345, 12345, 12345)\n{BODY}"), Path("/")
    before = await value(pool, tool, anywhere, seen)
    first = await spoil(pool, tool, anywhere, HERE[seen])
    await until(lambda: "which only an administrator can raise again" in caplog.text)
    assert await value(pool, tool, anywhere, seen) == before
    assert await value(pool, tool, anywhere) != first


@pytest.mark.parametrize(
    "code",
    [
        "os.closerange(3, 1024)",
        "os.closerange(3, 1024); time.sleep(1000)",
        "threading.Thread(target=os.closerange, args=(3, 1024)).start(); time.sleep(1000)",
    ],
)
async def test_a_call_that_closes_the_connection_is_told_so(
    pool: WorkerPool, tmp_path: Path, code: str
) -> None:
    tool = tool_of(tmp_path, BODY)
    first = await value(pool, tool, tmp_path)
    assert "closed the worker's connection" in await fails(pool, tool, tmp_path, code)
    assert await value(pool, tool, tmp_path) != first


async def test_a_file_that_took_the_place_of_the_connection_gets_nothing_of_it(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path, BODY)
    foreign = tmp_path / "foreign"
    code = f"held = open({str(foreign)!r}, 'w'); [os.dup2(held.fileno(), n) for n in range(480, 520)]"
    assert "closed the worker's connection" in await fails(pool, tool, tmp_path, code)
    assert foreign.read_text() == ""


async def test_a_worker_that_closes_its_connection_between_calls_costs_none(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path, BODY)
    closed = tmp_path / "closed"
    code = f"close = lambda: (os.closerange(3, 1024), open({str(closed)!r}, 'x')); threading.Timer(0.05, close).start()"
    first = await spoil(pool, tool, tmp_path, code)
    await until(closed.exists)
    assert await value(pool, tool, tmp_path) != first


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGSEGV])
async def test_a_call_that_its_worker_never_read_runs_in_another(
    pool: WorkerPool, tmp_path: Path, end: signal.Signals
) -> None:
    tool = tool_of(tmp_path, BODY)
    first = int(str(await value(pool, tool, tmp_path)))
    os.kill(first, signal.SIGSTOP)
    state = Path(f"/proc/{first}/stat")
    await until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
    calls = [asyncio.create_task(value(pool, tool, tmp_path)) for _ in range(2)]
    await until(lambda: pool.workforce(tool.module.generation).busy >= 1)
    os.kill(first, end)
    with contextlib.suppress(ProcessLookupError):
        os.kill(first, signal.SIGCONT)
    assert first not in [await each for each in calls]
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 60  # ours is none of what the others did
