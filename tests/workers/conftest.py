"""What the tests of this room are made with: workers, spawners, pools. All are ended afterwards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mcppd.core.calls import base_environment
from mcppd.workers.pool import WorkerPool
from mcppd.workers.spawning import Spawner
from tests.harness import first_and_slow
from tests.workers.child_peer import ENDS, Child
from tests.workers.pool_peer import Told
from tests.workers.spawner_peer import Spawner as SpawnerPeer


@pytest.fixture(params=first_and_slow(*sorted(ENDS, key=lambda end: end.values[0] is None)))
def python(request: pytest.FixtureRequest) -> str:
    """The interpreters that `child` is run by; where it matters, a file has all of them."""
    return str(request.param)


@pytest.fixture
def child(tmp_path: Path, python: str) -> Iterator[Child]:
    """A worker as another interpreter starts it, with no module yet."""
    (tmp_path / "run").mkdir()
    with Child(tmp_path / "run", python) as made:
        yield made


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """The empty directory of a module."""
    (tmp_path / "module").mkdir()
    return tmp_path / "module"


@pytest.fixture
def spawner(tmp_path: Path) -> Iterator[SpawnerPeer]:
    """A spawner, with no worker yet."""
    with SpawnerPeer(tmp_path) as made:
        yield made


@pytest.fixture
async def pool(tmp_path: Path) -> AsyncIterator[WorkerPool]:
    """A pool that is closed afterwards."""
    environment = dict(os.environ)
    async with asyncio.TaskGroup() as tasks:
        made = WorkerPool(Spawner(base_environment(environment)), str(tmp_path / "logs"), environment, tasks)
        made.listener = Told()
        try:
            yield made
        finally:
            made.close()
