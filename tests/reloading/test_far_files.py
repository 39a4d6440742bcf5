"""Far files: looked at in a thread, one look at a time, however long it takes."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from mcppd.reloading import far_files, stamps
from mcppd.reloading.far_files import FarFiles
from mcppd.reloading.stamps import Stamp, stamp
from tests.harness import until


async def test_only_what_lies_far_away_is_looked_at(tmp_path: Path) -> None:
    far, near = tmp_path / "far", tmp_path / "near"
    for directory in (far, near):
        directory.mkdir()
        (directory / "a.py").touch()
    paths = [str(each) for each in (far, far / "a.py", far / "missing", near, near / "a.py")]
    seen = await FarFiles().look(paths, {str(far)})
    assert seen == {path: stamp(path) for path in paths[:3]}
    assert await FarFiles().look(paths, {str(tmp_path / "elsewhere")}) == {}


async def test_a_look_that_hangs_holds_one_thread_and_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    looks: list[str] = []

    def hanging(path: str) -> Stamp:
        looks.append(path)
        answers.wait()
        return stamp(path)

    monkeypatch.setattr(far_files, "stamp", hanging)  # a server that is gone can't be had here
    files, path = FarFiles(), str(tmp_path)
    for _ in range(20):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await files.look([path], {path})
    last = asyncio.create_task(files.look([path], {path}))
    await until(lambda: looks == [path])
    answers.set()
    assert list(await last) == [path]
    assert looks == [path, path]  # of its own: what the first one saw may be older than the question


def test_what_was_seen_is_not_looked_at_again(tmp_path: Path) -> None:
    path = str(tmp_path)
    known = stamp(path)
    assert not stamps.differing({path: known}, {path: known})
    assert stamps.differing({path: known}, {path: None})
    assert not stamps.differing({path: None}, {path: None})  # though it is there
