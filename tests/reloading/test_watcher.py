"""The watcher: what changes in its directories is told, also in one that was made anew."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcppd.reloading.watcher import EVERYTHING, Watcher, _survey, _with_all_above
from tests.harness import until


class Seen:
    """What a watcher has told."""

    def __init__(self) -> None:
        self.watcher = Watcher()
        self.sets: list[frozenset[str]] = []

    @property
    def paths(self) -> set[str]:
        return {path for paths in self.sets for path in paths}

    @property
    def armed(self) -> int:
        return self.sets.count(EVERYTHING)

    async def of(self, path: Path) -> None:
        await until(lambda: str(path) in self.paths)

    async def again(self, count: int) -> None:
        await until(lambda: self.armed >= count)

    async def follow(self) -> None:
        async for paths in self.watcher.changes():
            self.sets.append(paths)


@contextlib.asynccontextmanager
async def watching(*directories: Path) -> AsyncIterator[Seen]:
    seen = Seen()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(seen.follow())
        seen.watcher.watch(map(str, directories))
        try:
            await seen.again(1)
            yield seen
        finally:
            seen.watcher.close()


async def test_saves_are_told_without_making_the_watch_anew(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    async with watching(tmp_path, tmp_path / "below") as seen:
        for name in ("a", "below/b", "below/c"):
            (tmp_path / name).write_text("x")
            await seen.of(tmp_path / name)
            (tmp_path / f"{name}.new").write_text("y")
            (tmp_path / f"{name}.new").rename(tmp_path / name)
        (tmp_path / "below" / "c").unlink()
        (tmp_path / "last").write_text("x")
        await seen.of(tmp_path / "last")
        assert seen.armed == 1


async def test_a_directory_that_was_made_anew_is_watched_again(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    async with watching(tmp_path, tmp_path / "below") as seen:
        for number in range(3):
            shutil.rmtree(tmp_path / "below")
            (tmp_path / "below").mkdir()
            await seen.again(number + 2)
            file = tmp_path / "below" / f"file{number}"
            file.write_text("x")
            await seen.of(file)


async def test_another_set_of_directories_takes_the_place_of_the_first(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    async with watching(tmp_path / "one") as seen:
        seen.watcher.watch([str(tmp_path / "two")])
        await seen.again(2)
        (tmp_path / "one" / "file").write_text("x")
        (tmp_path / "two" / "file").write_text("x")
        await seen.of(tmp_path / "two" / "file")
        assert str(tmp_path / "one" / "file") not in seen.paths


async def test_where_too_much_happened_to_be_told_everything_is_looked_at(tmp_path: Path) -> None:
    with open("/proc/sys/fs/inotify/max_queued_events", encoding="ascii") as file:
        room = int(file.read())
    if room > 100_000:
        pytest.skip("optional: the queue has room for too much")
    async with watching(tmp_path) as seen:
        for number in range(room // 2 + 1):  # it is made and it is closed; nothing is read meanwhile
            (tmp_path / f"file{number}").touch()
        await seen.again(2)
        (tmp_path / "last").write_text("x")
        await seen.of(tmp_path / "last")


async def test_a_directory_far_above_that_another_takes_the_place_of_is_noticed(tmp_path: Path) -> None:
    """That makes no event in what lies below it, which is at the same paths afterwards as far as anybody knows."""
    far, other = tmp_path / "far", tmp_path / "other"
    for place in (far, other):
        (place / "on" / "the" / "way").mkdir(parents=True)
    async with watching(far / "on" / "the" / "way") as seen:
        for number in range(3):
            await until(lambda: seen.watcher.heard() is not None)
            before, armed = seen.watcher.heard(), seen.armed
            far.rename(tmp_path / "old")
            other.rename(far)
            assert seen.watcher.heard() != before
            await seen.again(armed + 1)
            (far / "on" / "the" / "way" / str(number)).write_text("x")
            await seen.of(far / "on" / "the" / "way" / str(number))
            (tmp_path / "old").rename(other)


async def test_nothing_is_told_of_what_happens_in_a_directory_above(tmp_path: Path) -> None:
    place = tmp_path / "way" / "below"
    async with watching(place) as seen:  # not there: so it is the nearest one above that is watched for it
        place.mkdir(parents=True)
        await seen.again(2)
        await until(lambda: seen.watcher.heard() is not None)
        before = seen.watcher.heard()
        (tmp_path / "beside").write_text("x")
        assert seen.watcher.heard() == before


async def test_a_directory_that_is_not_there_yet_is_watched_when_it_comes(tmp_path: Path) -> None:
    wanted = tmp_path / "not" / "yet"
    async with watching(wanted) as seen:
        assert seen.watcher.status()["each"] == {str(tmp_path): "inotify"}
        wanted.mkdir(parents=True)
        await seen.again(2)
        await until(lambda: seen.watcher.status()["each"] == {str(wanted): "inotify"})
        (wanted / "file").write_text("x")
        await seen.of(wanted / "file")


async def test_a_link_that_is_pointed_elsewhere_is_followed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "below").mkdir(parents=True)
    (tmp_path / "link").symlink_to("one")
    wanted = tmp_path / "link" / "below"
    async with watching(tmp_path, wanted) as seen:
        (tmp_path / "new").symlink_to("two")
        (tmp_path / "new").replace(tmp_path / "link")
        await seen.again(2)
        (tmp_path / "two" / "below" / "file").write_text("x")
        await seen.of(wanted / "file")


def test_each_directory_above_is_asked_about_once_however_many_paths_share_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    is_directory = os.path.isdir

    def counted(path: str) -> bool:
        asked.append(path)
        return is_directory(path)

    monkeypatch.setattr(os.path, "isdir", counted)
    deep = "/".join("d" * 300)
    wanted = [f"{tmp_path}/{deep}/{number}" for number in range(300)]
    assert _survey([*wanted, str(tmp_path)]).keys() == {str(tmp_path)}
    assert len(asked) == len(set(asked)) == 300 + 300 + 1
    every = _with_all_above(wanted)
    assert len(every) == 300 + 300 + len(Path(tmp_path).parts)
    assert {"/", str(tmp_path), f"{tmp_path}/d"} <= every
