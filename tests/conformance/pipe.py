"""A shim that speaks for an HTTP client: messages in, messages out."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from tests.harness import LIMIT, REPOSITORY, Daemon


class Pipe:
    """A shim, started as an agent would start it."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def open(cls, daemon: Daemon, directory: Path) -> Pipe:
        """A shim of a daemon, in a directory."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            str(REPOSITORY / "shim" / "__main__.py"),
            "--config",
            str(daemon.registry),
            "--socket",
            str(daemon.socket),
            cwd=directory,
            env=daemon.environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=2**27,
        )
        return cls(process)

    def send(self, message: Any) -> None:
        """Send one message."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """The next message; None when there are no more."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        message: dict[str, Any] | None = json.loads(line) if line else None
        return message

    async def close(self) -> None:
        """Close its stdin, as a client does that goes away; it ends by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        async with asyncio.timeout(LIMIT):
            await self._process.wait()
