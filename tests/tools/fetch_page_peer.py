"""Servers for the tests of `fetch_page`: real sockets on 127.0.0.1, well-behaved and otherwise."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tools.fetch_page.addresses import EVERYWHERE
from tools.fetch_page.fetching import Page, fetch
from tools.fetch_page.rules import Rules
from tools.fetch_page.urls import parse_url

LIMIT = 10.0
"""Seconds any wait may take; only a hang takes as long."""


class Visit:
    """One connection of somebody who fetches."""

    def __init__(self, connection: socket.socket, request: bytes, stopped: threading.Event) -> None:
        self._connection = connection
        self._stopped = stopped
        self.request = request
        self.path = request.split(b" ", 2)[1].decode() if request.startswith(b"GET ") else ""

    def send(self, data: bytes) -> None:
        self._connection.sendall(data)

    def drip(self, data: bytes) -> None:
        """Send byte by byte for as long as anybody listens; the pauses are the test."""
        while data and not self._stopped.wait(0.01):
            self.send(data[:1])
            data = data[1:]

    def pause(self, seconds: float) -> None:
        """Let the other side wait for so long."""
        self._stopped.wait(seconds)

    def hang(self) -> None:
        """Say nothing more until the other side is gone."""
        self._connection.settimeout(LIMIT)
        while self._connection.recv(1024):
            pass

    def reset(self) -> None:
        """Break the connection without ending it."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


Answer = Callable[[Visit], Any]


class Peer:
    """A server whose every answer is what a function sends."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        self.visits: list[Visit] = []
        self._answer = answer
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._stopped = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [visit.path for visit in self.visits]

    def close(self) -> None:
        self._stopped.set()
        for connection in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(LIMIT)
            assert not thread.is_alive()
        self._listener.close()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.add(connection)
            thread = threading.Thread(target=self._serve, args=[connection])
            self._threads.append(thread)
            thread.start()

    def _serve(self, plain: socket.socket) -> None:
        connection = plain
        with contextlib.suppress(OSError):
            if self._tls:
                connection = self._tls.wrap_socket(plain, server_side=True)
            visit = Visit(connection, self._request(connection), self._stopped)
            self.visits.append(visit)
            self._answer(visit)
        connection.close()
        plain.close()
        self._open.discard(plain)

    @staticmethod
    def _request(connection: socket.socket) -> bytes:
        request = connection.recv(65536)
        while request.startswith(b"GET ") and b"\r\n\r\n" not in request:
            request += connection.recv(65536) or b"\r\n\r\n"
        return request


@contextmanager
def serving(answer: Answer | bytes, tls: ssl.SSLContext | None = None) -> Iterator[Peer]:
    """A server that answers so, whatever it is asked for."""
    peer = Peer((lambda visit: visit.send(answer)) if isinstance(answer, bytes) else answer, tls)
    try:
        yield peer
    finally:
        peer.close()


def response(
    body: bytes = b"hello", *headers: str, status: str = "200 OK", content_type: str | None = "text/plain"
) -> bytes:
    """A whole response as a decent server sends it."""
    named = [f"Content-Type: {content_type}"] if content_type is not None else []
    lines = [f"HTTP/1.1 {status}", *named, f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def redirect(location: str, status: str = "302 Found") -> bytes:
    return response(b"", f"Location: {location}", status=status)


def get(url: str, **limits: Any) -> Page:
    """Fetch with private addresses allowed, and with limits as a test wants them."""
    return fetch(parse_url(url), Rules(**{"allowed": EVERYWHERE, **limits}))
