"""A client straight on a Unix socket, without a shim."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, Self

from bench.agents import ServerGoneError, request
from bench.homes import Home

CHUNK = 256 * 1024
ANSWER = b'{"jsonrpc":"2.0","id":'
"""How each answer of the daemon's begins; notifications don't."""


class Plain:
    """One connection; it blocks."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._number = 0
        self._held = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def greet(self, home: Home) -> None:
        """What a shim says first."""
        hello = {"cwd": str(home.project), "registry": None, "env": home.environment}
        line = {"jsonrpc": "2.0", "method": "mcppd/hello", "params": hello}
        self._socket.sendall(json.dumps(line).encode() + b"\n")

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[bytes, float]:
        """The answer as it came, and the seconds it took."""
        self._number += 1
        line = request(self._number, method, params)
        started = perf_counter()
        self._socket.sendall(line)
        answer = self._line()
        while not answer.startswith(ANSWER):
            answer = self._line()
        return answer, perf_counter() - started

    def _line(self) -> bytes:
        """The next line; what comes behind it in the same piece is kept."""
        parts = [self._held]
        while b"\n" not in parts[-1]:
            parts.append(self._socket.recv(CHUNK))
            if not parts[-1]:
                raise ServerGoneError("the connection was closed")
        parts[-1], end, self._held = parts[-1].partition(b"\n")
        return b"".join((*parts, end))
