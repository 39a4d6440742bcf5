"""Every case runs straight on the socket and through the shim, against a real daemon."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, Daemon, running

Connect = Callable[..., Awaitable[Client]]


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with running(tmp_path) as started:
        yield started


@pytest.fixture(params=["socket", "shim"])
async def connect(request: pytest.FixtureRequest, daemon: Daemon, tmp_path: Path) -> AsyncIterator[Connect]:
    """Makes connected clients, closed at the end; each works in a directory of its own unless told."""
    clients: list[Client] = []

    async def make(
        *,
        cwd: Path | None = None,
        revision: str | None = "2025-11-25",
        env: dict[str, str] | None = None,
        **client: Any,
    ) -> Client:
        where = cwd or tmp_path / f"work{len(clients)}"
        where.mkdir(exist_ok=True)
        environment = daemon.environment | (env or {})
        if request.param == "shim":
            made = await Client.through_shim(daemon, where, environment=environment)
        else:
            made = await Client.on_socket(daemon.socket)
            made.notify("mcppd/hello", {"cwd": str(where), "env": environment, "registry": None})
        clients.append(made)
        if revision is not None:
            await made.handshake(revision, **client)
        return made

    yield make
    for each in clients:
        await each.close()
