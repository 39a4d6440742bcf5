"""An agent: a client on the stdio of a server, which blocks, and costs as little as Python can."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Self

LIMIT: Final = 60_000
"""Milliseconds for any single answer: far beyond what is expected, so that only a hang ends a run."""
PATIENCE: Final = 5.0
"""Seconds for a server to end when its stdin has; then it is killed."""
CHUNK: Final = 256 * 1024
CHANGED: Final = "notifications/tools/list_changed"
INITIALIZE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class ServerGoneError(Exception):
    """A server ended, or was silent for longer than any server has a reason to be."""


class Agent:
    """One agent with its server process."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], directory: Path) -> None:
        self._command = command
        self.started = perf_counter()
        self._process = subprocess.Popen(
            command,
            env=dict(environment),
            cwd=directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._poll = select.poll()
        self._poll.register(self._out, select.POLLIN)
        self._held = b""
        self._number = 0
        self.sent = self.heard = self.started
        """When the last line began to be sent, and when the last one that came was whole."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the server, as agents do: close its stdin, wait."""
        with self._process:  # closes the pipes, waits
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self._process.kill()

    @property
    def pid(self) -> int:
        """Of the process that the agent started."""
        return self._process.pid

    def handshake(self) -> None:
        """What every agent does first."""
        self.ask("initialize", INITIALIZE)
        self.send(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def tools(self) -> bytes:
        """The answer to `tools/list`, as it came."""
        return self.ask("tools/list", {})

    def call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        """The first text that a tool answers."""
        result = json.loads(self.ask("tools/call", {"name": tool, "arguments": arguments}))["result"]
        if result.get("isError"):
            raise ServerGoneError(f"a call of {tool} failed: {result}")
        return str(result["content"][0]["text"])

    def ask(self, method: str, params: Mapping[str, Any]) -> bytes:
        """The answer to a request, as it came."""
        self._number += 1
        self.send(request(self._number, method, params))
        while _id(line := self.line()) != self._number:
            pass  # a notification
        return line

    def wait_for(self, method: str) -> None:
        """Wait until a notification comes."""
        name = json.dumps(method).encode()
        while name not in self.line():
            pass  # another

    def send(self, data: bytes) -> None:
        """Send whole lines."""
        self.sent = perf_counter()
        os.write(self._in, data)

    def line(self) -> bytes:
        """The next line of the server's."""
        parts = [self._held]
        while b"\n" not in parts[-1]:
            parts.append(self._read())
        self.heard = perf_counter()
        line, _, self._held = b"".join(parts).partition(b"\n")
        return line

    def forget(self) -> None:
        """Throw away what has come by now."""
        self._held = b""
        while self._poll.poll(0):
            self._read()

    def _read(self) -> bytes:
        data = os.read(self._out, CHUNK) if self._poll.poll(LIMIT) else b""
        if not data:
            raise ServerGoneError(f"no answer of {' '.join(self._command)}")
        return data


def request(ident: int, method: str, params: Mapping[str, Any]) -> bytes:
    """A request as a line."""
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode() + b"\n"


def _id(line: bytes) -> Any:
    return json.loads(line).get("id")
