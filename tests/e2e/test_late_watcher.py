"""Save, then call or list, is the new state also where the watcher is late, or dead; and it comes back by itself."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Connect
from tests.e2e.test_reload import CHANGED, VALUE
from tests.harness import Client, Daemon, until

NOISE = """
import os, sys, time
while os.getppid() == int(sys.argv[2]):
    os.close(os.open(f"{sys.argv[1]}/.noise", os.O_CREAT | os.O_WRONLY))
    os.unlink(f"{sys.argv[1]}/.noise")
    time.sleep(0.001)  # less than the watcher waits for quiet
"""
BLINDS_ITSELF = """
import os, signal

def blind(*_):
    directory = os.open("/", os.O_RDONLY | os.O_CLOEXEC)
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}") == "anon_inode:inotify":
                os.dup2(directory, int(name))  # reading it fails; a number that is free might become another's
        except FileNotFoundError:
            pass

signal.signal(signal.SIGUSR2, blind)
"""


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    """A daemon that takes the descriptor away from its watcher at SIGUSR2."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(BLINDS_ITSELF)
    daemon = Daemon(tmp_path)
    daemon.environment["PYTHONPATH"] = str(tmp_path / "site")
    try:
        yield await daemon.start()
    finally:
        await daemon.stop()


async def _save_and_ask(daemon: Daemon, client: Client, number: int) -> None:
    """Save code, and call; save a manifest, and list; each is answered by what was saved."""
    daemon.module("one", VALUE.format(value=f"v{number}"), "first")
    assert await client.text("first") == f"v{number}"
    daemon.manifest("one", {"name": "first", "description": f"description {number}"}, f"tool{number}")
    tools = await client.tools()
    assert tools["first"]["description"] == f"description {number}"
    assert f"tool{number}" in tools
    assert f"tool{number - 1}" not in tools


def _has_inotify(daemon: Daemon) -> bool:
    descriptors = Path(f"/proc/{daemon.pid}/fd")
    return any(os.readlink(each) == "anon_inode:inotify" for each in descriptors.iterdir())


@pytest.mark.slow
async def test_a_watcher_that_is_always_behind_makes_no_answer_stale(
    daemon: Daemon, connect: Connect
) -> None:
    directory = daemon.module("one", VALUE.format(value="v0"), "first")
    client = await connect()
    assert await client.text("first") == "v0"
    with subprocess.Popen([sys.executable, "-c", NOISE, str(directory), str(os.getpid())]) as noise:
        try:
            for number in range(1, 12):
                await _save_and_ask(daemon, client, number)
        finally:
            noise.kill()


@pytest.mark.slow
async def test_a_watcher_that_dies_makes_no_answer_stale_and_comes_back(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="v0"), "first")
    client = await connect()
    assert await client.text("first") == "v0"
    await until(lambda: _has_inotify(daemon))
    os.kill(daemon.pid, signal.SIGUSR2)
    await until(lambda: not _has_inotify(daemon))
    for number in range(1, 4):
        await _save_and_ask(daemon, client, number)
    await until(lambda: _has_inotify(daemon))
    await until(lambda: "started again" in daemon.output)
    client.notifications.clear()
    daemon.manifest("one", "first", "seen_by_the_watcher")
    await client.notified(CHANGED)  # nobody asked for anything
    assert "seen_by_the_watcher" in await client.tools()
    assert (await daemon.control("mcppd/status"))["watching"]["mode"] == "inotify"
