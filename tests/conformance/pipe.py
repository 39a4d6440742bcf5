"""A shim that speaks for an HTTP client: messages in, messages out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.harness import LIMIT, Daemon, read_message, start_shim


class Pipe:
    """A shim, started as an agent would start it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def open(cls, daemon: Daemon, directory: Path) -> Pipe:
        """A shim of a daemon, in a directory."""
        return cls(await start_shim(daemon, directory))

    def send(self, message: Any) -> None:
        """Send one message."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None when there are no more."""
        assert self._process.stdout is not None
        came = await read_message(self._process.stdout)
        return None if came is None else came[1]

    async def close(self) -> None:
        """Close its stdin, as a client does that goes away; it ends by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(LIMIT):
            await self._process.wait()
