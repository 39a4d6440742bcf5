"""The daemon's side of the spawner: one that hangs or never comes up is replaced, and its calls are told."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from mcppd.core.errors import ToolError
from mcppd.workers.pool import WorkerPool
from tests.harness import until
from tests.workers.pool_peer import context, run, tool_of


@pytest.mark.slow
async def test_a_spawner_that_hangs_is_replaced_and_its_calls_are_told(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcppd.workers.looking.HUNG_LIMIT", 0.3)
    tool = tool_of(tmp_path, workers=1)
    running = asyncio.create_task(run(pool, tool, context(tmp_path), until=str(tmp_path / "never")))
    await until((tmp_path / "never.began").exists)
    waiting = asyncio.create_task(run(pool, tool, context(tmp_path)))
    old = pool.spawner_pid
    assert old is not None
    os.kill(old, signal.SIGSTOP)
    with pytest.raises(ToolError, match="ended together with"):
        await running
    assert (await waiting)["session"] == "s"
    assert pool.spawner_pid not in (None, old)


@pytest.mark.slow
async def test_a_spawner_that_hangs_while_a_worker_is_made_loses_no_call(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcppd.workers.looking.HUNG_LIMIT", 0.3)
    await run(pool, tool_of(tmp_path), context(tmp_path))
    assert pool.spawner_pid is not None
    os.kill(pool.spawner_pid, signal.SIGSTOP)
    assert (await run(pool, tool_of(tmp_path, number=2), context(tmp_path)))["session"] == "s"


async def test_a_spawner_that_never_comes_up_is_told_and_tried_again(
    pool: WorkerPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        (tmp_path / "spawner.py").write_text("import time; time.sleep(1000)")
        patched.setattr("mcppd.workers.spawning.SPAWNER", str(tmp_path / "spawner.py"))
        patched.setattr("mcppd.workers.spawning.START_LIMIT", 0.3)
        with pytest.raises(ToolError, match=r"not ready in 0\.3 s"):
            await run(pool, tool_of(tmp_path), context(tmp_path))
    assert (await run(pool, tool_of(tmp_path), context(tmp_path)))["session"] == "s"


async def test_nobody_looks_at_workers_that_are_gone(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, workers=1)
    worker = (await run(pool, tool, context(tmp_path)))["pid"]
    looking = pool._spawner.looking
    assert looking._timer is not None
    os.kill(worker, signal.SIGKILL)
    await until(lambda: not looking._living and looking._timer is None)
    await run(pool, tool, context(tmp_path))
    assert looking._timer is not None
