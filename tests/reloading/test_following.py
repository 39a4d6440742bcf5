"""Following the watcher: what matters is told, and a watcher that failed is started again."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

from mcppd.reloading.following import Following
from mcppd.reloading.owners import Watched
from mcppd.reloading.watcher import EVERYTHING, Watcher
from tests.harness import until


class Told:
    """What a following told."""

    def __init__(self, directory: Path) -> None:
        self.watcher = Watcher()
        self.watched = Watched(
            frozenset({str(directory / "known")}), frozenset({str(directory / "open")}), frozenset()
        )
        self.mattered: dict[str, bool] = {}
        self.times = 0  # that everything was to be looked at

    def tell(self, paths: frozenset[str], matters: bool) -> None:
        self.mattered.update(dict.fromkeys(paths, matters))
        self.times += paths is EVERYTHING

    async def of(self, path: Path) -> bool:
        await until(lambda: str(path) in self.mattered)
        return self.mattered[str(path)]


@contextlib.asynccontextmanager
async def following(directory: Path) -> AsyncIterator[Told]:
    told = Told(directory)
    (directory / "open").mkdir()
    task = asyncio.create_task(Following(told.watcher, lambda: told.watched, told.tell).run())
    told.watcher.watch([str(directory), str(directory / "open")])
    try:
        await until(lambda: told.times)
        yield told
    finally:
        told.watcher.close()
        await task


async def test_what_matters_is_told_apart(tmp_path: Path) -> None:
    async with following(tmp_path) as told:
        for name, matters in (
            ("known", True),
            ("unknown", False),
            ("new.py", True),
            ("new.yaml", True),
            (".new.py.swp", False),
            ("new.py~", False),
            ("open/anything", True),
        ):
            (tmp_path / name).write_text("x")
            assert await told.of(tmp_path / name) is matters


async def test_a_watcher_that_failed_is_started_again(tmp_path: Path) -> None:
    async with following(tmp_path) as told:
        held = [int(name) for name in os.listdir("/proc/self/fd") if _leads_to(name) == "anon_inode:inotify"]
        for descriptor in held:  # it can't be read any more
            with open("/dev/null", "wb") as nothing:
                os.dup2(nothing.fileno(), descriptor)
        (tmp_path / "unnoticed").write_text("x")
        told.watcher.watch([str(tmp_path)])
        before = told.times
        await until(lambda: told.times >= before + 2)  # that it failed, and that it watches again
        (tmp_path / "after").write_text("x")
        await told.of(tmp_path / "after")


def _leads_to(descriptor: str) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""
