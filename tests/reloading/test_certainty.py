"""Certainty: everything is looked at once, and again only where something may have happened since."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path

import pytest

from mcppd.reloading import certainty
from mcppd.reloading.certainty import Certainty
from tests.harness import until
from tests.reloading.test_watcher import watching


class Looking:
    """Counts the looks; finds what it is told to."""

    def __init__(self) -> None:
        self.moment: tuple[int | None, ...] = (1, 1)
        self.found: str | None = None
        self.count = 0
        self.certainty = Certainty(lambda: self.moment)

    def look(self) -> str | None:
        self.count += 1
        return self.found

    def ask(self) -> str | None:
        return self.certainty.unless_certain(self.look)


def test_what_was_found_settled_is_not_looked_at_again_until_something_happens() -> None:
    looking = Looking()
    assert [looking.ask() for _ in range(3)] == [None, None, None]
    assert looking.count == 1
    looking.moment = (2, 1)
    looking.found = "changed"
    assert [looking.ask(), looking.ask()] == ["changed", "changed"]
    assert looking.count == 3


def test_where_nobody_knows_what_happened_it_is_looked_at_each_time() -> None:
    looking = Looking()
    looking.moment = (None, 1)
    assert [looking.ask(), looking.ask()] == [None, None]
    assert looking.count == 2


def test_a_look_holds_for_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    looking = Looking()
    monkeypatch.setattr(certainty, "FOR", 0.0)
    assert [looking.ask(), looking.ask()] == [None, None]
    assert looking.count == 2


@pytest.mark.parametrize("way", ["write", "rename", "remove", "chmod", "utime", "make"])
async def test_a_change_is_known_as_soon_as_the_call_that_made_it_has_returned(
    tmp_path: Path, way: str
) -> None:
    file, other = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text("1")
    other.write_text("2")
    async with watching(tmp_path) as seen:
        await until(lambda: seen.watcher.heard() is not None)
        before = seen.watcher.heard()
        assert seen.watcher.heard() == before  # nothing happened
        match way:
            case "write":
                file.write_text("3")
            case "rename":
                other.rename(file)
            case "remove":
                file.unlink()
            case "chmod":
                file.chmod(0o600)
            case "utime":
                os.utime(file, (1, 1))
            case "make":
                (tmp_path / "c.py").touch()
        assert seen.watcher.heard() != before  # without a turn of the loop
        await until(lambda: seen.watcher.heard() not in (None, before))


async def test_a_watcher_that_watches_nothing_yet_or_no_more_knows_nothing(tmp_path: Path) -> None:
    async with watching(tmp_path) as seen:
        await until(lambda: seen.watcher.heard() is not None)
        seen.watcher.watch([str(tmp_path), str(tmp_path / "new")])
        assert seen.watcher.heard() is None  # what it is to watch is not watched yet
        watcher = seen.watcher
    assert watcher.heard() is None


async def test_nothing_is_known_until_all_that_is_wanted_is_watched(tmp_path: Path) -> None:
    """Finding out what to watch takes a moment in a thread: a save in between makes no event."""
    directories = [tmp_path / str(number) for number in range(500)]
    for each in directories:
        each.mkdir()
    async with watching(tmp_path) as seen:
        await until(lambda: seen.watcher.heard() is not None)
        seen.watcher.watch(map(str, directories))
        for number in itertools.count():
            before = seen.watcher.heard()
            (directories[-1] / "a.py").write_text(str(number))
            assert before is None or seen.watcher.heard() != before
            if before is not None:
                break
            await asyncio.sleep(0)
