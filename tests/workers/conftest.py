"""A pool for the tests of this room."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcppd.core.calls import base_environment
from mcppd.workers.pool import WorkerPool
from mcppd.workers.spawning import Spawner
from tests.workers.pool_peer import Told


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
