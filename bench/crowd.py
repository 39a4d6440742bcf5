"""A crowd: many sessions straight on the daemon's socket, each with one call on its way, driven by one loop."""

from __future__ import annotations

import select
import socket
from collections.abc import Sequence
from time import perf_counter
from typing import Self

from bench.agents import INITIALIZE, LIMIT, ServerGoneError, request
from bench.homes import Home

CHUNK = 64 * 1024


class Crowd:
    """So many sessions."""

    def __init__(self, home: Home, count: int) -> None:
        self._poll = select.epoll()
        self._sockets: dict[int, socket.socket] = {}
        for _ in range(count):
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(str(home.control.with_name("mcp.sock")))
            self._sockets[connection.fileno()] = connection
            self._poll.register(connection.fileno(), select.EPOLLIN)
        self._say(request(1, "initialize", INITIALIZE))
        for connection in self._sockets.values():
            connection.sendall(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._sockets.values():
            connection.close()
        self._poll.close()

    def rate(self, line: bytes, calls: int) -> float:
        """Calls in a second: each session makes its share of so many, one after another."""
        started = perf_counter()
        self._say(line, calls // len(self._sockets))
        return calls // len(self._sockets) * len(self._sockets) / (perf_counter() - started)

    def _say(self, line: bytes, times: int = 1) -> None:
        """Have every session send a line and wait for its answer, so many times."""
        left = dict.fromkeys(self._sockets, times)
        for connection in self._sockets.values():
            connection.sendall(line)
        while left:
            for number in self._answered():
                left[number] -= 1
                if left[number]:
                    self._sockets[number].sendall(line)
                else:
                    del left[number]

    def _answered(self) -> Sequence[int]:
        """The sessions that have an answer now, each of which comes in one piece."""
        ready = [number for number, _ in self._poll.poll(LIMIT / 1000)]
        if not ready:
            raise ServerGoneError("no answer")
        for number in ready:
            answer = self._sockets[number].recv(CHUNK)
            if not answer.endswith(b"\n") or b'"isError":true' in answer:
                raise ServerGoneError(f"no answer, or one in pieces, or a failure: {answer!r}")
        return ready
