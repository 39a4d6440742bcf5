"""Stored results: kept for a while, so many and no more, and no trace of them afterwards."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest

from mcppd.core.limits import ToolLimits
from mcppd.core.modules import Module, Settings, make_offer
from mcppd.core.results import ToolResult, Whole, text_result
from mcppd.core.served import Tool
from mcppd.serving import stored_results
from mcppd.serving.stored_results import StoredResults
from tests.harness import until


def tool(**limits: int) -> Tool:
    settings = Settings(of_tools={"t": ToolLimits(**limits)})
    return Tool("t", "m__t", "t", Module("m", "/m", settings=settings), make_offer("t", {"name": "t"}))


TOOL = tool()


def cut(size: int = 10, *, is_structured: bool = False) -> ToolResult:
    return ToolResult(b'[{"type":"text","text":"x"}]', whole=Whole(b"w" * size, is_structured=is_structured))


@pytest.fixture
async def tasks() -> AsyncIterator[asyncio.TaskGroup]:
    async with asyncio.TaskGroup() as group:
        yield group


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "state" / "results"


async def kept(results: StoredResults, result: ToolResult, of: Tool = TOOL) -> tuple[str, str]:
    """(uri, note) of a result that was kept."""
    items = orjson.loads((await results.noted(of, result)).content)
    note = str(items[-1]["text"])
    found = re.search(r"mcppd://results/[0-9a-f]{32}", note)
    return found[0] if found else "", note


async def test_a_whole_result_is_left_alone(tasks: asyncio.TaskGroup, directory: Path) -> None:
    result = text_result("all of it")
    assert await StoredResults(str(directory), tasks).noted(TOOL, result) is result
    assert not directory.exists()


async def test_each_has_an_address_of_its_own_and_is_gone_after_its_time(
    tasks: asyncio.TaskGroup, directory: Path
) -> None:
    results = StoredResults(str(directory), tasks, seconds=0.2)
    uris = {(await kept(results, cut()))[0] for _ in range(5)}
    assert len(uris) == 5
    assert "" not in uris
    await until(lambda: not any(map(results.find, uris)))
    await until(lambda: not os.listdir(directory))


async def test_the_oldest_go_when_there_are_too_many(
    tasks: asyncio.TaskGroup, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_results, "KEPT_COUNT", 3)
    results = StoredResults(str(directory), tasks)
    uris = [(await kept(results, cut()))[0] for _ in range(5)]
    assert [results.find(uri) is not None for uri in uris] == [False, False, True, True, True]
    await until(lambda: len(os.listdir(directory)) == 3)


async def test_the_oldest_go_when_they_take_too_much(
    tasks: asyncio.TaskGroup, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_results, "KEPT_BYTES", 100)
    results = StoredResults(str(directory), tasks)
    uris = [(await kept(results, cut(size)))[0] for size in (40, 50, 20, 30)]
    assert [results.find(uri) is not None for uri in uris] == [False, True, True, True]
    await until(lambda: sum(path.stat().st_size for path in directory.iterdir()) == 100)


async def test_a_disk_that_refuses_costs_the_whole_and_not_the_answer(
    tasks: asyncio.TaskGroup, directory: Path
) -> None:
    directory.parent.mkdir()
    directory.write_text("in the way")
    uri, note = await kept(StoredResults(str(directory), tasks), cut())
    assert uri == ""
    assert "could not be kept" in note
    assert "File exists" in note or "Not a directory" in note


async def test_the_note_says_what_is_missing_where_it_is_and_which_limit_it_was(
    tasks: asyncio.TaskGroup, directory: Path
) -> None:
    results = StoredResults(str(directory), tasks)
    _, note = await kept(results, cut(5_000_000), tool(output=2 * 1024**2))
    for word in (
        "5000000 bytes",
        "limit of 2M",
        f"{directory}/",
        "10 minutes",
        "`output`",
        "'m'",
        "tools.yaml",
    ):
        assert word in note
    _, note = await kept(results, cut(5_000_000), tool(chars=400_000))
    assert "400000 characters" in note
    uri, note = await kept(results, cut(5_000_000, is_structured=True))
    assert "structured content" in note
    stored = results.find(uri)
    assert stored is not None
    assert stored.path.endswith(".json")


async def test_what_no_client_could_take_as_a_resource_is_only_a_file(
    tasks: asyncio.TaskGroup, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_results, "SIZE_LIMIT", 100)
    results = StoredResults(str(directory), tasks)
    uri, note = await kept(results, cut(101))
    assert uri == ""
    assert f"{directory}/" in note


async def test_what_a_killed_daemon_left_is_removed_when_it_is_old_and_all_at_the_end(
    tasks: asyncio.TaskGroup, directory: Path
) -> None:
    results = StoredResults(str(directory), tasks)
    results.prune()  # there is nothing yet
    await kept(results, cut())
    old, young = directory / "old.txt", directory / "young.txt"
    for path in (old, young):
        path.write_text("left")
    os.utime(old, (0, time.time() - 3600))
    results.prune()
    assert not old.exists()
    assert young.exists()
    results.close()
    assert list(directory.iterdir()) == [young]
