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


class Plain:
    """One connection; it blocks."""

    def __init__(self, path: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._number = 0

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
        """The answer as it came, and the seconds it took; nothing else may come meanwhile."""
        self._number += 1
        line = request(self._number, method, params)
        started = perf_counter()
        self._socket.sendall(line)
        parts: list[bytes] = []
        while not parts or not parts[-1].endswith(b"\n"):
            parts.append(self._socket.recv(CHUNK))
            if not parts[-1]:
                raise ServerGoneError("the connection was closed")
        return b"".join(parts), perf_counter() - started
