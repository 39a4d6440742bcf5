"""Real parts for tests: a daemon in its own process, clients on the socket and through the shim, modules on disk."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import signal
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from _pytest.mark import ParameterSet

from tests.wire_schema import check_message

REPOSITORY = Path(__file__).resolve().parent.parent
LIMIT = 20.0
"""Seconds any single wait of a test may take: far beyond what is expected, so that only a hang ends it."""

MODERN = "2026-07-28"
LEGACY = "2025-11-25"
"""What holds before any handshake."""


def clean_environment(home: Path) -> dict[str, str]:
    """An environment in which everything of a user lies below `home`."""
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "USER": "tester",
        "LANG": "C.UTF-8",
        "XDG_RUNTIME_DIR": str(home / "run"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
    }


class Daemon:
    """A real daemon, with its own home and registry."""

    def __init__(self, home: Path, registry: str = "modules:\n  - path: tools/*\n") -> None:
        self.home = home
        self.root = home / "registry"
        self.tools = self.root / "tools"
        self.tools.mkdir(parents=True)
        (home / "run").mkdir(mode=0o700)
        self.registry = self.root / "tools.yaml"
        self.registry.write_text(registry)
        self.directory = home / "run" / "sockets"
        self.directory.mkdir(mode=0o700)
        self.socket = self.directory / "mcp.sock"
        self.environment = clean_environment(home)
        self.process: asyncio.subprocess.Process | None = None
        self.log = home / "daemon-output"

    def module(self, name: str, body: str, *tools: Any, **manifest: Any) -> Path:
        """Write a module; a tool is a name or a mapping; the body is `mcpptool.py`."""
        directory = self.tools / name
        directory.mkdir(exist_ok=True)
        (directory / "mcpptool.py").write_text(textwrap.dedent(body))
        self.manifest(name, *tools, **manifest)
        return directory

    def manifest(self, name: str, *tools: Any, **manifest: Any) -> None:
        """Write the manifest of a module."""
        listed = [
            tool
            if isinstance(tool, dict)
            else {"name": tool, "description": f"does {tool}", "inputSchema": {"type": "object"}}
            for tool in tools
        ]
        content = {"name": name, "tools": listed, **manifest}
        (self.tools / name / "tool.yaml").write_text(yaml.safe_dump(content, sort_keys=False))

    async def start(self, *options: str) -> Daemon:
        """Start it and wait for its socket."""
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                str(REPOSITORY / "mcppd" / "__main__.py"),
                "serve",
                "--config",
                str(self.registry),
                "--socket",
                str(self.socket),
                *options,
                env=self.environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        await until(
            lambda: self.socket.exists() or self.process is None or self.process.returncode is not None
        )
        assert self.process.returncode is None, self.output
        return self

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self.process is not None
        return self.process.pid

    @property
    def output(self) -> str:
        """All it has written."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    async def said(self, text: str, count: int) -> None:
        """Wait until it has written a text so many times."""
        await until(lambda: self.output.count(text) >= count)

    async def stop(self, number: int = signal.SIGTERM) -> int:
        """End it by a signal; its exit status."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)
        async with asyncio.timeout(LIMIT):
            return await self.process.wait()

    async def control(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of a control request."""
        client = await Client.on_socket(Path(f"{self.socket}.control"))
        try:
            return await client.result(method, params)
        finally:
            await client.close()


class Client:
    """A JSON-RPC client that checks every message it gets against the official schema."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: Any, process: asyncio.subprocess.Process | None = None
    ) -> None:
        self.process = process
        self.notifications: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.words: list[dict[str, Any]] = []  # private ones, to a client that said hello as a shim does
        self.revision: str | None = None
        self.ended = asyncio.Event()
        self._reader, self._writer = reader, writer
        self._ids = itertools.count(1)
        self._waiting: dict[Any, asyncio.Future[dict[str, Any]]] = {}
        self._asked: dict[Any, tuple[str, str]] = {}  # id -> method and revision of a request
        self._news = asyncio.Condition()
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def on_socket(cls, path: Path) -> Client:
        """Straight on the socket, as a plain MCP client."""
        reader, writer = await asyncio.open_unix_connection(path, limit=2**27)
        return cls(reader, writer)

    @classmethod
    async def through_shim(
        cls, daemon: Daemon, cwd: Path, *options: str, environment: dict[str, str] | None = None
    ) -> Client:
        """Through a shim, started in a directory as an agent would."""
        process = await start_shim(daemon, cwd, *options, environment=environment)
        assert process.stdout is not None
        return cls(process.stdout, process.stdin, process)

    async def handshake(self, revision: str = "2025-11-25", **client: Any) -> dict[str, Any]:
        """The handshake of a legacy revision."""
        params = {
            "protocolVersion": revision,
            "capabilities": client.pop("capabilities", {}),
            "clientInfo": {"name": "tester", "version": "1", **client},
        }
        result: dict[str, Any] = await self.result("initialize", params)
        self.revision = result["protocolVersion"]
        self.notify("notifications/initialized")
        return result

    def send(self, message: Any) -> None:
        """Send one message, or raw bytes."""
        data = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self._writer.write(data)

    def notify(self, method: str, params: dict[str, Any] | None = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params is not None else {})})

    def ask(
        self, method: str, params: dict[str, Any] | None = None, ident: Any = None
    ) -> asyncio.Future[dict[str, Any]]:
        """Send a request; the future of its response."""
        ident = next(self._ids) if ident is None else ident
        future = self.expect(ident)
        self._asked[ident] = (method, self._revision_of(params))
        self.send(
            {
                "jsonrpc": "2.0",
                "id": ident,
                "method": method,
                **({"params": params} if params is not None else {}),
            }
        )
        return future

    def expect(self, ident: Any) -> asyncio.Future[dict[str, Any]]:
        """The future of the response to a request that is sent otherwise."""
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = future
        return future

    async def response(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The whole response to a request."""
        async with asyncio.timeout(LIMIT):
            return await self.ask(method, params)

    async def result(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of a request that succeeds."""
        response = await self.response(method, params)
        assert "result" in response, response
        return response["result"]

    async def error(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """The error of a request that fails."""
        response = await self.response(method, params)
        assert "error" in response, response
        error: dict[str, Any] = response["error"]
        return error

    async def tools(self, **params: Any) -> dict[str, dict[str, Any]]:
        """The listed tools by name."""
        result = await self.result("tools/list", params or None)
        return {tool["name"]: tool for tool in result["tools"]}

    async def call(self, name: str, arguments: dict[str, Any] | None = None, **params: Any) -> dict[str, Any]:
        """The result of a tool call."""
        result: dict[str, Any] = await self.result(
            "tools/call", {"name": name, "arguments": arguments or {}, **params}
        )
        return result

    async def text(self, name: str, arguments: dict[str, Any] | None = None) -> str:
        """All text of the result of a tool call that succeeds."""
        result = await self.call(name, arguments)
        assert not result.get("isError"), result
        return texts(result)

    async def failure(self, name: str, arguments: dict[str, Any] | None = None) -> str:
        """All text of the result of a tool call that fails."""
        result = await self.call(name, arguments)
        assert result.get("isError"), result
        return texts(result)

    async def notified(self, method: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until so many notifications of a method have come."""

        def found() -> list[dict[str, Any]]:
            return [each for each in self.notifications if each["method"] == method]

        async with asyncio.timeout(LIMIT), self._news:
            await self._news.wait_for(lambda: len(found()) >= count)
        return found()

    def count(self, method: str) -> int:
        """How many notifications of a method have come."""
        return sum(each["method"] == method for each in self.notifications)

    async def close(self) -> None:
        """Close, and end the shim if there is one."""
        with contextlib.suppress(Exception):
            self._writer.close()
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                self.process.terminate()
            await self.process.wait()
        self._task.cancel()
        await asyncio.wait(
            [self._task]
        )  # a cancellation of our own caller is not held back, nor is a failure
        if not self._task.cancelled():
            self._task.result()

    async def _read(self) -> None:
        try:
            while (came := await read_message(self._reader)) is not None:
                await self._take(*came)
        finally:
            self.ended.set()

    async def _take(self, line: bytes, message: Any) -> None:
        for each in message if isinstance(message, list) else [message]:
            if line.startswith(b'{"jsonrpc":"2.0","method":"mcppd/'):
                self.words.append(each)
                continue
            self._check(each)
            if "method" in each and "id" not in each:
                self.notifications.append(each)
            elif "method" in each:
                self.requests.append(each)
            elif (future := self._waiting.pop(each.get("id"), None)) is not None and not future.done():
                assert line.startswith((b'{"jsonrpc":"2.0","id":', b"["))
                future.set_result(each)
            else:
                self.notifications.append({"method": "unasked", "message": each})
        async with self._news:
            self._news.notify_all()

    def _check(self, message: dict[str, Any]) -> None:
        """Hold a message against the schema of the revision that it belongs to, whatever others are spoken here."""
        params = message.get("params")
        method, revision = None, self._revision_of(params)
        if "method" not in message:
            method, revision = self._asked.get(message.get("id"), (None, revision))
        if method == "initialize" and "result" in message:
            revision = message["result"]["protocolVersion"]
        if method is None or not method.startswith("mcppd/"):  # what people ask on the other socket is no MCP
            check_message("server", revision, message, method)

    def _revision_of(self, params: dict[str, Any] | None) -> str:
        meta = (params or {}).get("_meta", {})
        is_modern = any(
            f"io.modelcontextprotocol/{name}" in meta for name in ("protocolVersion", "subscriptionId")
        )
        return MODERN if is_modern else self.revision or LEGACY


async def start_shim(
    daemon: Daemon, cwd: Path, *options: str, environment: dict[str, str] | None = None
) -> asyncio.subprocess.Process:
    """A shim of a daemon, started in a directory as an agent would."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-S",
        str(REPOSITORY / "shim" / "__main__.py"),
        "--config",
        str(daemon.registry),
        "--socket",
        str(daemon.socket),
        *options,
        cwd=cwd,
        env=environment or daemon.environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**27,
    )


async def read_message(reader: asyncio.StreamReader) -> tuple[bytes, Any] | None:
    """The next line and the message in it; None when there are no more."""
    line = await reader.readline()
    return (line, json.loads(line)) if line else None


async def outcome_of(
    *command: str, cwd: Path, environment: dict[str, str], limit: float = 3 * LIMIT
) -> tuple[int, str, str]:
    """Run a program to its end: its exit status, what it said, and what it said on stderr."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(limit):
            said, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, said.decode(), errors.decode()


def texts(result: dict[str, Any]) -> str:
    """All text of a tool's result."""
    return "\n".join(item["text"] for item in result["content"] if item["type"] == "text")


def modern(**params: Any) -> dict[str, Any]:
    """Params of a modern request."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
    }
    return {**params, "_meta": meta | params.pop("_meta", {})}


def first_and_slow(*cases: Any) -> list[Any]:
    """Cases of which the first is a witness for all: the others are slow ones."""
    return [cases[0], *map(_slow, cases[1:])]


def _slow(case: Any) -> Any:
    if isinstance(case, ParameterSet):  # with an id or marks of its own
        return pytest.param(*case.values, id=case.id, marks=[*case.marks, pytest.mark.slow])
    return pytest.param(case, marks=pytest.mark.slow)


async def until(condition: Callable[[], Any], limit: float = LIMIT) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(limit):
        while not condition():
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def running(home: Path, **options: Any) -> AsyncIterator[Daemon]:
    """A daemon that is started, and stopped afterwards."""
    daemon = Daemon(home, **options)
    try:
        yield await daemon.start()
    finally:
        if daemon.process is not None and daemon.process.returncode is None:
            await daemon.stop()
        await until(lambda: is_left_alone(home))


def processes_of(home: Path) -> dict[int, bytes]:
    """Everything that runs with this directory as HOME, with its command line."""
    found = {}
    mark = f"HOME={home}\0".encode()
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or is of somebody else
            if b"\0" + mark in b"\0" + (directory / "environ").read_bytes():
                found[int(directory.name)] = (directory / "cmdline").read_bytes()
    return found


def is_left_alone(home: Path) -> bool:
    """Whether no daemon is left that somebody has started in the background; till then ask again.

    The shims go first: they would start another.
    """
    left = processes_of(home)
    shims = [pid for pid, command in left.items() if b"/shim/__main__.py" in command]
    daemons = [pid for pid, command in left.items() if b"\0serve\0--background" in command]
    for pid in shims or daemons:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return not (shims or daemons)


def processes_below(pid: int) -> set[int]:
    """The ids of all descendants of a process."""
    found: set[int] = set()
    parents: dict[int, int] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                stat = Path(entry.path, "stat").read_text()
                parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    layer = {pid}
    while layer:
        layer = {child for child, parent in parents.items() if parent in layer} - found
        found |= layer
    return found
