"""As much of HTTP/1.1 as the bridge needs: one request of a connection, answered whole or as a stream of events."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True, slots=True)
class Request:
    """One request; the names of its headers are in lower case."""

    method: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        """What its body says as JSON."""
        return json.loads(self.body)


class Exchange:
    """A request and the response that it gets."""

    def __init__(self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._reader, self._writer = reader, writer

    def answer(self, status: int, message: Any = None, **headers: str) -> None:
        """Answer with a JSON value, or with no body."""
        body = b"" if message is None else json.dumps(message).encode()
        self._head(status, "application/json", {"Content-Length": str(len(body)), **headers})
        self._writer.write(body)

    def open_stream(self) -> None:
        """Answer with a stream of events, which ends with the connection."""
        self._head(HTTPStatus.OK, "text/event-stream", {"Cache-Control": "no-cache"})

    def event(self, message: Any) -> None:
        """Send one message on the stream."""
        self._writer.write(b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n")

    async def hung_up(self) -> None:
        """Wait until the client has closed the connection."""
        with contextlib.suppress(ConnectionError):
            while await self._reader.read(1024):
                pass  # it may send no second request: each response says that the connection ends

    def _head(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        phrase = HTTPStatus(status).phrase
        said = {"Content-Type": content_type, "Connection": "close", **headers}
        lines = [f"HTTP/1.1 {status:d} {phrase}", *(f"{name}: {value}" for name, value in said.items())]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The request of a connection; None if it is closed without one."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(first.split(" ")[0], headers, body)
