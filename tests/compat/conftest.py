"""The registry of another host, copied, imported by `mcppd import` while a daemon runs, and called through the shim."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.harness import REPOSITORY, Client, Daemon, outcome_of, running

HERE = Path(__file__).parent
MAIN = REPOSITORY / "mcppd" / "__main__.py"
CHANGED = "notifications/tools/list_changed"


@dataclass
class Host:
    """What was imported, and who calls it."""

    directory: Path  # the other host's
    work: Path  # the agent's project
    daemon: Daemon
    client: Client
    printed: str

    def file(self, path: str) -> Path:
        return self.directory / "modules" / path

    async def value(self, tool: str, **arguments: Any) -> Any:
        """A result as data: the last text, after what is for people."""
        result = await self.client.call(tool, arguments)
        assert not result.get("isError"), result
        return json.loads(result["content"][-1]["text"])

    async def generations(self) -> dict[str, int]:
        status = await self.daemon.control("mcppd/status")
        assert [module["state"] for module in status["modules"]] == ["ok"] * len(status["modules"])
        return {module["name"]: module["generation"] for module in status["modules"]}


async def import_registry(daemon: Daemon, source: Path, *words: str) -> tuple[int, str, str]:
    options = ["--config", str(daemon.registry), "--socket", str(daemon.socket)]
    command = [sys.executable, str(MAIN), "import", *options, *words, str(source)]
    return await outcome_of(*command, cwd=daemon.home, environment=daemon.environment)


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[Host]:
    directory, work = tmp_path / "other host", tmp_path / "work"
    shutil.copytree(HERE, directory, ignore=shutil.ignore_patterns("*.py[co]", "__pycache__", "test_*"))
    work.mkdir()
    async with running(tmp_path / "home", registry="# mine\nmodules: []  # none yet\n") as daemon:
        agent = daemon.environment | {"READS_YAML_TOKEN": "sesame", "MCPP_TIMEOUT_SECONDS": "25"}
        client = await Client.through_shim(daemon, work, environment=agent)
        await client.handshake()
        await client.tools()
        client.notifications.clear()  # of the start
        status, printed, errors = await import_registry(daemon, directory)
        assert (status, errors) == (0, "")
        yield Host(directory, work, daemon, client, printed)
        await client.close()
