"""Cancelled calls: whatever a tool is doing, its worker is free soon, and nobody else notices (CASES I1, I2)."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mcppd.workers.pool import WorkerPool
from tests.harness import LIMIT, first_and_slow, until
from tests.workers.pool_peer import context, run, tool_of

WAITS = """
import asyncio, ctypes, os, pathlib, subprocess, threading, time
LONG = 10**6
def execute(tool_name, arguments, context):
    how = arguments.get("how")
    if how is None:
        return {"success": True, "result": {"pid": os.getpid()}}
    pathlib.Path(arguments["began"]).write_text(str(os.getpid()))
    return globals()[how](arguments, context)
def in_c(arguments, context):
    ctypes.CDLL(None).sleep(LONG)
def asleep(arguments, context):
    time.sleep(LONG)
def spinning(arguments, context):
    while True: pass
def in_a_thread(arguments, context):
    thread = threading.Thread(target=time.sleep, args=(LONG,))
    thread.start()
    thread.join()
def in_a_subprocess(arguments, context):
    child = subprocess.Popen(["sleep", str(LONG)], start_new_session=True)
    pathlib.Path(arguments["began"]).write_text(f"{os.getpid()} {child.pid}")
    child.wait()
async def in_asyncio(arguments, context):
    try:
        await asyncio.sleep(LONG)
    finally:
        pathlib.Path(arguments["began"] + ".cancelled").touch()
def looking(arguments, context):
    while not context["cancelled"](): time.sleep(0.001)
    pathlib.Path(arguments["began"] + ".cancelled").touch()
    return {"success": True, "result": {}}
def holding_on(arguments, context):
    while True:
        try:
            time.sleep(LONG)
        except BaseException:
            pass
"""

ENDED = ["in_c", "asleep", "spinning", "in_a_thread", "in_a_subprocess", "holding_on"]
UNWOUND = ["in_asyncio", "looking"]


async def begun(path: Path) -> list[int]:
    """The processes of a call, once it has begun."""
    await until(lambda: path.exists() and path.read_text())
    return [int(pid) for pid in path.read_text().split()]


@pytest.mark.parametrize("how", [*first_and_slow(*ENDED), *UNWOUND])
async def test_a_cancelled_call_frees_its_worker(pool: WorkerPool, tmp_path: Path, how: str) -> None:
    tool = tool_of(tmp_path, WAITS, workers=1)
    began = tmp_path / "began"
    call = asyncio.create_task(run(pool, tool, context(tmp_path), how=how, began=str(began)))
    pids = await begun(began)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    after = (await run(pool, tool, context(tmp_path)))["pid"]
    if how in UNWOUND:
        assert after == pids[0]
        assert Path(f"{began}.cancelled").exists()
    else:
        assert after != pids[0]
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert pool.workforce(tool.module.generation).workers == 1


@pytest.mark.parametrize("how", [*first_and_slow(*ENDED), *UNWOUND])
async def test_of_two_calls_in_one_module_one_is_cancelled_and_the_other_ends_well(
    pool: WorkerPool, tmp_path: Path, how: str
) -> None:
    tool = tool_of(tmp_path, WAITS + BODY, workers=2)
    go, began = tmp_path / "go", tmp_path / "began"
    well = asyncio.create_task(run(pool, tool, context(tmp_path, "a"), how="until", began=str(go)))
    await begun(go)
    cancelled = asyncio.create_task(run(pool, tool, context(tmp_path, "b"), how=how, began=str(began)))
    pids = await begun(began)
    cancelled.cancel()
    if how in ENDED:
        await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    Path(f"{go}.on").touch()
    async with asyncio.timeout(LIMIT):
        assert await well == "well"


BODY = """
def until(arguments, context):
    while not os.path.exists(arguments["began"] + ".on"): time.sleep(0.001)
    return {"success": True, "result": '"well"'}
"""


async def test_a_hundred_cancelled_calls_leave_nothing(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, WAITS, workers=4)
    pids: set[int] = set()
    for round_ in range(5):
        paths = [tmp_path / f"began.{round_}.{n}" for n in range(20)]
        calls = [
            asyncio.create_task(run(pool, tool, context(tmp_path, str(n)), how="in_asyncio", began=str(path)))
            for n, path in enumerate(paths)
        ]
        await until(lambda: sum(path.exists() for path in tmp_path.glob(f"began.{round_}.*")) >= 4)  # noqa: B023 - it is awaited here
        for call in calls:
            call.cancel()
        await asyncio.wait(calls)
        pids |= {pid for path in paths if path.exists() for pid in await begun(path)}
    assert len(pids) <= 4
    assert (await run(pool, tool, context(tmp_path)))["pid"] in pids
