"""The watcher where the system gives it no more: it polls what didn't fit, says so, and misses nothing.

The limits are those of a user namespace of its own, in which another process watches.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.harness import LIMIT, REPOSITORY

WATCHES = """
import asyncio, json, pathlib, sys
from mcppd.reloading.watcher import EVERYTHING, Watcher

async def main():
    root = pathlib.Path(sys.argv[1])
    places = [root / name for name in ("a", "b", "c", "d")]
    for place in places:
        place.mkdir()
    watcher = Watcher()
    watcher.watch(map(str, places))
    seen, is_armed = set(), asyncio.Event()

    async def follow():
        async for paths in watcher.changes():
            seen.update(paths)
            is_armed.set()

    following = asyncio.create_task(follow())
    await is_armed.wait()
    status = watcher.status()
    while not all(str(place / "file") in seen for place in places):
        for place in places:
            (place / "file").write_text("x")
        await asyncio.sleep(0.05)
    watcher.close()
    await following
    print(json.dumps(status))

asyncio.run(main())
"""


def _limited(root: Path, **limits: int) -> dict[str, Any]:
    """The status of a watcher of four directories under limits, once it has seen a file saved in each."""
    root.mkdir()
    sets = "".join(f"echo {limit} > /proc/sys/user/{name} && " for name, limit in limits.items())
    command = f'{sets} exec "$0" -c "$1" "$2"'
    done = subprocess.run(
        ["unshare", "-Ur", "sh", "-c", command, sys.executable, WATCHES, str(root)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    status: dict[str, Any] = json.loads(done.stdout)
    return status


def _has_namespaces() -> bool:
    try:
        tried = ["unshare", "-Ur", "sh", "-c", "echo 9 > /proc/sys/user/max_inotify_watches"]
        return subprocess.run(tried, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


needs_namespaces = pytest.mark.skipif(
    not _has_namespaces(), reason="optional: no user namespaces for us here"
)


@pytest.mark.slow
@needs_namespaces
def test_directories_that_no_watch_is_left_for_are_polled(tmp_path: Path) -> None:
    status = _limited(tmp_path / "root", max_inotify_watches=2)
    assert status["mode"] == "inotify and polling"
    assert len(status["polled"]) == 2
    assert sorted(status["each"]) == [str(tmp_path / "root" / name) for name in ("a", "b", "c", "d")]
    for path, how in status["each"].items():
        assert how.startswith("polling: no inotify watch") == (path in status["polled"])


@pytest.mark.slow
@needs_namespaces
def test_without_any_inotify_everything_is_polled(tmp_path: Path) -> None:
    status = _limited(tmp_path / "root", max_inotify_instances=0)
    assert status["mode"] == "polling"
    assert len(status["polled"]) == 4
    assert all("no inotify" in reason for reason in status["polled"].values())


@needs_namespaces
def test_with_room_enough_nothing_is_polled(tmp_path: Path) -> None:
    status = _limited(tmp_path / "root", max_inotify_watches=4)
    assert (status["mode"], status["polled"]) == ("inotify", {})
