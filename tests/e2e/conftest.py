"""Every case runs through the shim and, as slow ones, straight on the socket, against a real daemon."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness import Client, Daemon, running

Connect = Callable[..., Awaitable[Client]]

WAYS = ["shim", pytest.param("socket", marks=pytest.mark.slow)]
"""The first says all that the other could: what goes through the shim goes over the socket too."""


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with running(tmp_path) as started:
        yield started


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """One daemon for all cases of a file that change nothing: its start takes longer than most of them."""
    stack = contextlib.AsyncExitStack()
    with asyncio.Runner() as runner:
        yield runner.run(stack.enter_async_context(running(tmp_path_factory.mktemp("standing"))))
        runner.run(stack.aclose())


@contextlib.asynccontextmanager
async def connecting(way: str, daemon: Daemon, home: Path) -> AsyncIterator[Connect]:
    """Makes connected clients, closed at the end; each works in a directory of its own unless told."""
    clients: list[Client] = []

    async def make(
        *,
        cwd: Path | None = None,
        revision: str | None = "2025-11-25",
        env: dict[str, str] | None = None,
        **client: Any,
    ) -> Client:
        where = cwd or home / f"work{len(clients)}"
        where.mkdir(exist_ok=True)
        environment = daemon.environment | (env or {})
        if way == "shim":
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


@pytest.fixture(params=WAYS)
async def connect(request: pytest.FixtureRequest, daemon: Daemon, tmp_path: Path) -> AsyncIterator[Connect]:
    async with connecting(request.param, daemon, tmp_path) as make:
        yield make
