"""Files of static resources: told when other bytes lie there, however they were saved."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcppd.core.items import in_directory, make_item
from mcppd.core.modules import Module
from mcppd.reloading import resource_files
from mcppd.reloading.resource_files import ResourceFiles
from mcppd.reloading.watcher import EVERYTHING, Watcher
from mcppd.tasks import Tasks
from tests.harness import until


def module(directory: Path, **files: str) -> Module:
    """A module whose resources `note://KEY` are read from files."""
    items = tuple(
        in_directory(
            make_item("resources", {"uri": f"note://{key}", "name": key, "file": file}), str(directory)
        )
        for key, file in files.items()
    )
    return Module("notes", str(directory), items=items)


class Followed:
    """The files of one module, followed by a real watcher."""

    def __init__(self, directory: Path, tasks: Tasks) -> None:
        self.directory = directory
        self.told: list[str] = []
        self.files = ResourceFiles(tasks)
        self.files.tell = self.told.append
        self.watcher = Watcher()
        self.sets = 0
        self._markers = 0
        self._tasks = tasks

    async def begin(self, **files: str) -> None:
        await self.files.follow([module(self.directory, **files)])
        self.watch()
        self._tasks.create_task(self._watch())
        await until(lambda: self.sets)

    def watch(self) -> None:
        self.watcher.watch(each for each in self.files.directories if os.path.isdir(each))

    async def quiet(self) -> None:
        """Wait until everything that was saved so far has been looked at: a marker comes after it."""
        self._markers += 1
        (self.directory / "marker").write_text(str(self._markers))
        await until(lambda: "note://marker" in self.told and self.files._looking is None)
        self.told.remove("note://marker")

    async def _watch(self) -> None:
        async for paths in self.watcher.changes():
            self.sets += 1
            self.watch()
            self.files.look(paths)


@contextlib.asynccontextmanager
async def following(directory: Path, **files: str) -> AsyncIterator[Followed]:
    (directory / "marker").write_text("")
    async with Tasks() as tasks:
        made = Followed(directory, tasks)
        try:
            await made.begin(**files, marker="marker")
            yield made
        finally:
            made.watcher.close()


@pytest.fixture
async def followed(tmp_path: Path) -> AsyncIterator[Followed]:
    (tmp_path / "a.md").write_text("one")
    async with following(tmp_path, a="a.md") as made:
        yield made


async def test_other_bytes_are_told_once_for_each_save(followed: Followed) -> None:
    for number in range(3):
        (followed.directory / "a.md").write_text(f"save {number}")
        await followed.quiet()
    assert followed.told == ["note://a"] * 3


async def test_another_file_behind_the_same_uri_is_told_if_it_has_other_bytes(followed: Followed) -> None:
    files = followed.files
    for name, text in (("b.md", "one"), ("c.md", "two")):
        (followed.directory / name).write_text(text)
    for name, told in (("b.md", 0), ("c.md", 1), ("c.md", 1), ("nosuch.md", 1), ("a.md", 2)):
        await files.follow([module(followed.directory, a=name, marker="marker")])
        assert followed.told == ["note://a"] * told
    await files.follow([module(followed.directory, other="c.md", a="a.md", marker="marker")])
    assert followed.told == ["note://a"] * 2


async def test_the_same_bytes_are_not_told(followed: Followed) -> None:
    (followed.directory / "a.md").write_text("one")
    (followed.directory / "a.md").touch()
    (followed.directory / "other.md").write_text("x")
    await followed.quiet()
    assert followed.told == []


async def test_other_bytes_of_the_same_size_are_told(followed: Followed) -> None:
    (followed.directory / "a.md").write_text("two")
    await followed.quiet()
    assert followed.told == ["note://a"]


async def test_a_save_by_rename_is_told_and_so_is_the_next(followed: Followed) -> None:
    for number in range(2):
        (followed.directory / ".a.md.tmp").write_text(f"save {number}")
        (followed.directory / ".a.md.tmp").rename(followed.directory / "a.md")
        await followed.quiet()
    assert followed.told == ["note://a"] * 2


async def test_a_file_that_goes_is_told_when_it_has_come_again_as_another(followed: Followed) -> None:
    (followed.directory / "a.md").unlink()
    await followed.quiet()
    assert followed.told == []
    (followed.directory / "a.md").write_text("one")
    await followed.quiet()
    assert followed.told == []
    (followed.directory / "a.md").unlink()
    await followed.quiet()
    (followed.directory / "a.md").write_text("two")
    await followed.quiet()
    assert followed.told == ["note://a"]


async def test_a_file_that_was_not_there_is_told_when_it_comes(tmp_path: Path) -> None:
    async with following(tmp_path, a="a.md") as followed:
        (tmp_path / "a.md").write_text("one")
        await followed.quiet()
        assert followed.told == ["note://a"]


async def test_a_directory_that_is_made_anew_is_followed(tmp_path: Path) -> None:
    file = tmp_path / "data" / "of" / "a.md"
    file.parent.mkdir(parents=True)
    file.write_text("one")
    async with following(tmp_path, a="data/of/a.md") as followed:
        await followed.quiet()
        shutil.rmtree(tmp_path / "data")
        file.parent.mkdir(parents=True)
        file.write_text("two")
        await followed.quiet()
        assert followed.told == ["note://a"]
        shutil.rmtree(tmp_path / "data")
        await followed.quiet()
        (tmp_path / "data").mkdir()
        await followed.quiet()
        file.parent.mkdir()
        file.write_text("three")
        await until(lambda: followed.told == ["note://a"] * 2)
        file.write_text("four")
        await until(lambda: followed.told == ["note://a"] * 3)


async def test_a_link_is_followed_to_its_file_and_when_it_is_pointed_elsewhere(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "module", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    (elsewhere / "a.md").write_text("one")
    (elsewhere / "b.md").write_text("two")
    (home / "a.md").symlink_to(elsewhere / "a.md")
    async with following(home, a="a.md") as followed:
        await followed.quiet()
        (elsewhere / "a.md").write_text("three")
        await until(lambda: followed.told == ["note://a"])
        (home / "link").symlink_to(elsewhere / "b.md")
        (home / "link").rename(home / "a.md")
        await followed.quiet()
        assert followed.told == ["note://a"] * 2


async def test_one_file_may_be_several_resources(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("one")
    async with following(tmp_path, b="a.md", a="a.md") as followed:
        (tmp_path / "a.md").write_text("two")
        await until(lambda: followed.told == ["note://a", "note://b"])


async def test_a_save_between_two_reloads_is_told(followed: Followed) -> None:
    (followed.directory / "a.md").write_text("two")
    await followed.files.follow([module(followed.directory, a="a.md", b="b.md", marker="marker")])
    followed.watch()
    await followed.quiet()
    assert followed.told == ["note://a"]


async def test_a_file_that_is_written_all_the_time_is_told_meanwhile(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource_files, "PATIENCE", 0.05)
    text = ""

    def is_told() -> bool:
        nonlocal text
        text += "x"
        (followed.directory / "a.md").write_text(text)
        return len(followed.told) >= 2

    await until(is_told)


async def test_a_resource_that_is_served_no_more_is_not_told(followed: Followed) -> None:
    await followed.files.follow([module(followed.directory, marker="marker")])
    (followed.directory / "a.md").write_text("two")
    await followed.quiet()
    assert followed.told == []


async def test_without_files_nothing_is_looked_at(tmp_path: Path) -> None:
    async with Tasks() as tasks:
        files = ResourceFiles(tasks)
        await files.follow([Module("empty", str(tmp_path))])
        files.look(EVERYTHING)
        assert files.directories == frozenset()
        assert files._looking is None


@pytest.mark.skipif(
    not os.path.exists("/proc/kmsg") or os.getuid() != 0, reason="optional: only root may open it"
)
async def test_a_file_that_has_nothing_to_read_yet_is_one_that_has_not_changed(tmp_path: Path) -> None:
    os.symlink("/proc/kmsg", tmp_path / "log")
    async with Tasks() as tasks:
        files = ResourceFiles(tasks)
        await files.follow([module(tmp_path, log="log")])
        files.look(EVERYTHING)


async def test_a_path_that_no_system_takes_is_a_file_that_is_not_there(tmp_path: Path) -> None:
    async with Tasks() as tasks:
        await ResourceFiles(tasks).follow([module(tmp_path, a="long" * 100)])
