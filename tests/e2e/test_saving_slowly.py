"""Saves that take their time, or leave a moment in which a file is empty or isn't there: none is served by half."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Client, Daemon, first_and_slow, texts

BODY = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'VALUE'}\n"
CHANGED = "notifications/tools/list_changed"
PAUSE = 0.15
"""Seconds between two parts of a slow save: several times what makes a file old enough to be believed."""


async def emptied_and_written(path: Path, text: str, meanwhile: Client) -> None:
    """Truncated and closed, and written only later."""
    path.write_text("")
    await _ask(meanwhile)
    path.write_text(text)


async def written_in_parts(path: Path, text: str, meanwhile: Client) -> None:
    """In place, part by part, each of them whole lines that can be read by themselves."""
    with path.open("w") as file:
        for line in text.splitlines(keepends=True):
            await _ask(meanwhile)
            file.write(line)
            file.flush()
        await _ask(meanwhile)


async def removed_and_renamed(path: Path, text: str, meanwhile: Client) -> None:
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    path.unlink()
    await _ask(meanwhile)
    new.rename(path)


async def moved_away_and_written(path: Path, text: str, meanwhile: Client) -> None:
    backup = path.with_name(f"{path.name}~")
    path.rename(backup)
    await _ask(meanwhile)
    path.write_text(text)
    backup.unlink()


WAYS = [emptied_and_written, written_in_parts, removed_and_renamed, moved_away_and_written]


async def _ask(client: Client) -> None:
    """A call in the middle of a save, whose answer isn't waited for, and time for anything wrong to happen."""
    client.ask("tools/call", {"name": "first"})
    await asyncio.sleep(PAUSE)


@pytest.mark.parametrize("save", WAYS, ids=[way.__name__ for way in WAYS])
@pytest.mark.parametrize("name", first_and_slow("mcpptool.py", "tool.yaml", "tools.yaml", "near.py"))
async def test_what_is_half_saved_is_never_served(
    daemon: Daemon, connect: Connect, save: Callable[[Path, str, Client], object], name: str
) -> None:
    body = "from .near import VALUE\n" + BODY.replace("'VALUE'", "VALUE")
    directory = daemon.module("one", body, "first", "other")
    (directory / "near.py").write_text("ODD = 1\nVALUE = 'v1'\n")
    client = await connect()
    assert await client.text("first") == "v1"
    path = daemon.registry if name == "tools.yaml" else directory / name
    text = path.read_text() + "# saved anew\n"
    if name == "near.py":
        text = "ODD = 2\nVALUE = 'v2'\n"
    client.notifications.clear()
    before = daemon.output.count("reload: ")
    waiting = save(path, text, client)
    assert asyncio.iscoroutine(waiting)
    await waiting
    answer = await client.call("first")
    assert texts(answer) == ("v2" if name == "near.py" else "v1")
    assert sorted(await client.tools()) == ["first", "help", "other"]
    assert "BROKEN" not in daemon.output
    assert client.count(CHANGED) == 0
    assert daemon.output.count("reload: ") == before + (name != "tools.yaml")


@pytest.mark.slow
async def test_a_directory_that_is_deleted_and_made_again_is_one_reload(
    daemon: Daemon, connect: Connect
) -> None:
    directory = daemon.module("one", BODY.replace("VALUE", "v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    client.notifications.clear()
    before = daemon.output.count("reload: one ")
    for number in (2, 3):
        shutil.rmtree(directory)
        await _ask(client)
        daemon.module("one", BODY.replace("VALUE", f"v{number}"), "first")
        assert await client.text("first") == f"v{number}"
    assert client.count(CHANGED) == 0
    assert daemon.output.count("reload: one ") == 2 + before


@pytest.mark.slow
async def test_a_file_that_is_left_empty_is_believed_in_the_end(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", BODY.replace("VALUE", "v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    (directory / "mcpptool.py").write_text("")
    await daemon.said("BROKEN", 1)
    assert "execute" in texts(await client.call("first"))
    daemon.registry.write_text("")
    await client.notified(CHANGED)
    assert sorted(await client.tools()) == ["help"]


@pytest.mark.slow
async def test_a_file_that_somebody_keeps_open_is_believed_in_the_end(
    daemon: Daemon, connect: Connect
) -> None:
    directory = daemon.module("one", BODY.replace("VALUE", "v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    with (directory / "mcpptool.py").open("w") as file:
        file.write(BODY.replace("VALUE", "v2"))
        file.flush()
        await daemon.said("reload: one", 1)
        assert await client.text("first") == "v2"


async def test_a_clock_set_back_hides_no_save(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", BODY.replace("VALUE", "v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    for number, moment in enumerate((1_000_000_000, 4_000_000_000, 1_000_000_000), 2):
        new = directory / "mcpptool.py.new"
        new.write_text(BODY.replace("VALUE", f"v{number}"))
        os.utime(new, (moment, moment))
        new.rename(directory / "mcpptool.py")
        assert await client.text("first") == f"v{number}"


@pytest.mark.skipif(os.getuid() == 0, reason="optional: root may read everything")
async def test_permissions_taken_away_and_given_back(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", BODY.replace("VALUE", "v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    for name in ("mcpptool.py", "tool.yaml"):
        (directory / name).chmod(0)
        answer = texts(await client.call("first"))
        assert answer.startswith("v1\nNotice:")
        assert name in answer
        (directory / name).chmod(0o644)
        assert await client.text("first") == "v1"
    daemon.registry.chmod(0)
    assert await client.text("first") == "v1"
    daemon.registry.chmod(0o644)
    assert await client.text("first") == "v1"
