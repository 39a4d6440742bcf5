"""What the machine is short of for a while costs that while: nothing has to be saved again afterwards."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness import LIMIT, Client, Daemon

SAYS = """
from {folder}.words import WORD

def execute(tool_name, arguments):
    return {{"success": True, "result": WORD}}
"""


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    client = await Client.on_socket(daemon.socket)
    await client.handshake()
    yield client
    await client.close()


@contextmanager
def without_descriptors(pid: int) -> Iterator[None]:
    """A process that can open nothing more."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = {int(each) for each in os.listdir(f"/proc/{pid}/fd")}
    lowest = min(set(range(len(used) + 1)) - used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def save(daemon: Daemon, word: str, folder: str) -> None:
    """One save of a module: the word lies in a folder, which may be a new one."""
    (daemon.tools / "words" / folder).mkdir(parents=True, exist_ok=True)
    (daemon.tools / "words" / folder / "words.py").write_text(f"WORD = {word!r}\n")
    daemon.module("words", SAYS.format(folder=folder), "say", f"tool_{word}", scope="global")


@pytest.mark.slow
async def test_a_save_that_could_not_be_read_is_read_when_it_can_be(client: Client, daemon: Daemon) -> None:
    save(daemon, "one", "first")
    assert await client.text("say") == "one"
    with without_descriptors(daemon.pid):
        save(daemon, "two", "second")
        assert (await client.text("say")).startswith("one")
        assert "tool_one" in await client.tools()
        client.notifications.clear()
    await client.notified("notifications/tools/list_changed")
    assert "tool_two" in await client.tools()
    assert await client.text("say") == "two"
    assert await faults(daemon) == [None]


@pytest.mark.slow
async def test_what_had_no_worker_is_tried_again_by_itself(daemon: Daemon, tmp_path: Path) -> None:
    python = tmp_path / "python"
    save(daemon, "one", "first")
    daemon.registry.write_text(f"modules: [{{path: tools/words, python: {python}}}]\n")
    client = await Client.on_socket(daemon.socket)
    await client.handshake()
    assert "`python:` has to name" in await client.failure("say")
    python.symlink_to(sys.executable)
    async with asyncio.timeout(LIMIT):
        while await faults(daemon) != [None]:
            await asyncio.sleep(0.01)
    assert await client.text("say") == "one"
    await client.close()


async def faults(daemon: Daemon) -> list[str | None]:
    """What is wrong with each module."""
    status = await daemon.control("mcppd/status")
    return [each["fault"] for each in status["modules"]]
