"""SIGUSR1 shows where everything stands, and nothing of what it works with."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from mcppd import dumping
from tests.harness import REPOSITORY, Client, Daemon, running, until


async def test_a_dump_shows_state_and_stacks_and_no_secret(tmp_path: Path) -> None:
    async with running(tmp_path) as daemon:
        runs = tmp_path / "runs"
        code = "import pathlib, time\n\ndef execute(tool_name, arguments, context=None):\n"
        code += f"    pathlib.Path({str(runs)!r}).touch()\n    time.sleep(60)\n"
        daemon.module("slow", code, "slow", timeout=0)
        client = await Client.on_socket(daemon.socket)
        secret = "correct-horse-battery"
        client.notify("mcppd/hello", {"cwd": str(tmp_path), "env": {"TOKEN": secret}, "registry": None})
        await client.handshake()
        client.ask("tools/call", {"name": "slow", "arguments": {"password": secret}})
        await until(runs.exists)
        os.kill(daemon.pid, signal.SIGUSR1)
        await daemon.said("task ", 2)
        await client.close()
        await daemon.stop()
    assert '"in_flight": 1' in daemon.output
    assert "thread MainThread" in daemon.output
    assert "WorkerPool.call_tool" in daemon.output  # what the call's task awaits, steps below its own
    assert secret not in daemon.output


async def test_a_dump_comes_at_any_level_of_the_log(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path)
    daemon.environment["MCPP_LOG_LEVEL"] = "error"
    await daemon.start()
    try:
        await daemon.control("mcppd/status")  # the socket is there before it listens to signals
        os.kill(daemon.pid, signal.SIGUSR1)
        await daemon.said("thread MainThread", 1)
    finally:
        await daemon.stop()


async def test_a_task_is_followed_down_to_what_it_waits_for() -> None:
    ready = asyncio.Event()

    async def outer() -> None:
        await inner()

    async def inner() -> None:
        ready.set()
        await asyncio.get_running_loop().create_future()

    task = asyncio.create_task(outer(), name="mine")
    await ready.wait()
    lines = dumping.stacks()
    task.cancel()
    at = lines.index("task mine")
    assert lines[at + 1].endswith(".outer")
    assert lines[at + 2].endswith(".inner")
    assert lines[at + 3].startswith("  awaits ")


async def test_every_thread_is_shown() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait, name="other")
    other.start()
    lines = dumping.stacks()
    done.set()
    other.join()
    assert any(line.endswith(" Event.wait") for line in lines[lines.index("thread other") :])


def test_a_stuck_process_that_is_aborted_says_where(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; sys.path[:0] = sys.argv[1:]\nfrom mcppd import dumping\ndumping.on_crash()\n"
    )
    code += "def stuck():\n    os.kill(os.getpid(), signal.SIGABRT)\nstuck()"
    paths = [str(REPOSITORY), str(REPOSITORY / ".ci" / "links")]
    done = subprocess.run(
        [sys.executable, "-c", code, *paths], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == -signal.SIGABRT
    assert " in stuck" in done.stderr
