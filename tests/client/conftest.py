from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.wire_schema import check_message

LIMIT = 10.0
MODERN = "2026-07-28"
CHECKED = ("tools/list", "tools/call", "server/discover", "notifications/cancelled")


class Peer:
    """The server's side of a connection, driven by the test line by line."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self._server: asyncio.Server | None = None
        self._connected = asyncio.Event()
        self.reader: asyncio.StreamReader
        self.writer: asyncio.StreamWriter

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, self.path, limit=2**27)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._connected.set()

    async def receive(self) -> dict[str, Any]:
        """The next message of the client."""
        async with asyncio.timeout(LIMIT):
            await self._connected.wait()
            message: dict[str, Any] = json.loads(await self.reader.readline())
        if message.get("method") in CHECKED:
            check_message("client", MODERN, message)
        return message

    def send(self, message: dict[str, Any]) -> None:
        self.writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def answer(self, request: dict[str, Any], result: Any) -> None:
        self.send({"id": request["id"], "result": result})

    async def chunk(self) -> bytes:
        """What the client's first write brought."""
        await self._connected.wait()
        return await self.reader.read(65536)

    async def at_end(self) -> bool:
        """Whether the client has closed, after everything it sent was read."""
        async with asyncio.timeout(LIMIT):
            return await self.reader.readline() == b""

    async def stop(self) -> None:
        if self._connected.is_set():
            self.writer.close()
        if self._server is not None:
            self._server.close()


@pytest.fixture
async def peer(tmp_path: Path) -> AsyncIterator[Peer]:
    peer = Peer(tmp_path / "mcp.sock")
    await peer.start()
    yield peer
    await peer.stop()


@pytest.fixture
def soon() -> Callable[[Awaitable[Any]], Awaitable[Any]]:
    """Waits for something that has to happen at once."""

    async def within(waited: Awaitable[Any]) -> Any:
        async with asyncio.timeout(LIMIT):
            return await waited

    return within
