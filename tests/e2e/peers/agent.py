"""The test's side of the line: a real MCP client in a process of its own, which starts the shim as its server."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.harness import LIMIT, MODERN, REPOSITORY, Daemon, processes_below, texts

LEGACY = "2025-11-25"


@dataclass(frozen=True, slots=True)
class Kind:
    """One way of being a client."""

    name: str
    venv: str  # in MCPPD_PEERS
    script: str
    mode: str
    revision: str

    @property
    def must_listen(self) -> bool:
        """Changes are told only to those who ask (PROTOCOL.md 1.3)."""
        return self.revision == MODERN

    def python(self) -> str:
        """Its interpreter; skips the test where it isn't installed."""
        peers = os.environ.get("MCPPD_PEERS")
        if not peers:
            pytest.skip("MCPPD_PEERS names no directory of real clients: `.ci/peers DIR` makes one")
        python = Path(peers, self.venv, "bin", "python")
        if not python.exists():
            pytest.skip(f"there is no {python}: `.ci/peers {peers}` makes it")
        return str(python)


KINDS = [
    Kind("mcp-2", "mcp2", "sdk2", "default", MODERN),
    Kind("mcp-2-handshake", "mcp2", "sdk2", "handshake", LEGACY),
    Kind("mcp-1", "mcp1", "sdk1", "default", LEGACY),
    Kind("fastmcp", "fastmcp", "fast", "default", MODERN),
]


class PeerError(Exception):
    """What the SDK raised."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["type"], error["message"])
        self.code: int | None = error["code"]
        self.message: str = error["message"]


class Agent:
    """A client that is driven step by step."""

    def __init__(self, process: asyncio.subprocess.Process, directory: Path) -> None:
        self.directory = directory
        self._is_listening = False
        self._process = process
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Any]] = {0: asyncio.get_running_loop().create_future()}
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, kind: Kind, daemon: Daemon, directory: Path) -> Agent:
        """A connected client that works in a directory; all it has of our environment is what its SDK passes on."""
        shim = [sys.executable, "-I", "-S", str(REPOSITORY / "shim" / "__main__.py")]
        options = ["--config", str(daemon.registry), "--socket", str(daemon.socket)]
        return await cls.of(kind, [*shim, *options], daemon.environment, directory)

    @classmethod
    async def of(cls, kind: Kind, command: list[str], environment: dict[str, str], directory: Path) -> Agent:
        """The same, of a server that is started by any command."""
        directory.mkdir()
        with Path(f"{directory}.stderr").open("wb") as errors:
            process = await asyncio.create_subprocess_exec(
                *(kind.python(), "-m", f"tests.e2e.peers.{kind.script}", kind.mode, *command),
                cwd=directory,
                env=environment | {"PYTHONPATH": str(REPOSITORY), "SECRET": "s3cret"},
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,
                limit=2**24,
            )
        agent = cls(process, directory)
        try:
            async with asyncio.timeout(LIMIT):
                await agent._waiting[0]
        except BaseException:
            await agent.close()
            raise
        return agent

    @property
    def shim(self) -> int:
        """The process id of its shim."""
        [pid] = [pid for pid in processes_below(self._process.pid) if b"/shim/__main__.py" in _command(pid)]
        return pid

    @property
    def stderr(self) -> str:
        """All that it and its shim have said there."""
        return Path(f"{self.directory}.stderr").read_text()

    async def ask(self, word: str, **parameters: Any) -> Any:
        """Have it do something; raises PeerError if its SDK raised."""
        ident = next(self._ids)
        future = self._waiting[ident] = asyncio.get_running_loop().create_future()
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"id": ident, "do": word, **parameters}).encode() + b"\n")
        async with asyncio.timeout(LIMIT):
            return await future

    async def tools(self) -> list[str]:
        """The names of the listed tools."""
        names: list[str] = await self.ask("list")
        return names

    async def call(self, name: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        """The result of a call."""
        result: dict[str, Any] = await self.ask("call", name=name, arguments=arguments or {})
        return result

    async def text(self, name: str, arguments: dict[str, Any] | None = None) -> str:
        """All text of the result of a call that succeeds."""
        result = await self.call(name, arguments)
        assert not result.get("isError"), result
        return texts(result)

    async def listen(self) -> None:
        """Ask to be told of changes."""
        await self.ask("listen")
        self._is_listening = True

    async def notified(self, count: int) -> None:
        """Wait until it has been told of changes so often since its start."""
        await self.ask("wait_list_changed", count=count)

    async def changes(self) -> int:
        """How often it has been told of changes; if it listens, each came out there too."""
        changes, events = await self.ask("count")
        assert events == (changes if self._is_listening else 0)
        return int(changes)

    @contextlib.asynccontextmanager
    async def calling(self, name: str) -> AsyncIterator[list[str]]:
        """Calls a tool without a pause; afterwards the list holds what each of the calls answered."""
        found: list[str] = []
        await self.ask("repeat", name=name)
        try:
            yield found
        finally:
            results = await self.ask("end_repeat", name=name)
        assert not [result for result in results if result.get("isError")]
        found += map(texts, results)

    async def close(self) -> None:
        """Disconnect and end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(LIMIT):
                await self._task
        finally:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            answer = json.loads(line)
            future = self._waiting.pop(answer["id"])
            if future.done():
                continue  # whoever asked has given up
            if "error" in answer:
                future.set_exception(PeerError(answer["error"]))
            else:
                future.set_result(answer["value"])
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(AssertionError(f"the client ended: {self.stderr}"))


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
