"""A legacy session over HTTP: one shim, and on which of the session's streams each of its messages goes."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.conformance.pipe import Pipe

Queue = asyncio.Queue[dict[str, Any] | None]


class Session:
    """One shim and the streams that are open; each message goes on exactly one of them."""

    def __init__(self, pipe: Pipe) -> None:
        self.unasked: Queue = asyncio.Queue()  # for GET, whenever it comes
        self._pipe = pipe
        self._asked: dict[Any, Queue] = {}  # the streams of requests by their ids, the latest last
        self._tokens: dict[Any, Any] = {}  # progress token -> id

    async def run(self) -> None:
        """Bring each message to its stream until the shim ends; then all streams end."""
        while (message := await self._pipe.receive()) is not None:
            self._stream_of(message).put_nowait(message)
        for stream in (self.unasked, *self._asked.values()):
            stream.put_nowait(None)

    def tell(self, message: Any) -> None:
        """Send a notification, or the answer to a question."""
        self._pipe.send(message)

    def ask(self, message: dict[str, Any]) -> Queue:
        """Send a request; what belongs to it comes out of the queue, its response last."""
        ident = message["id"]
        queue = self._asked[ident] = asyncio.Queue()
        token = (message.get("params") or {}).get("_meta", {}).get("progressToken")
        if token is not None:
            self._tokens[token] = ident
        self._pipe.send(message)
        return queue

    def close_stream(self, ident: Any) -> None:
        """Forget the stream of a request."""
        self._asked.pop(ident, None)

    async def close(self) -> None:
        """End the shim."""
        await self._pipe.close()

    def _stream_of(self, message: dict[str, Any]) -> Queue:
        method = message.get("method")
        if method is None:
            return self._asked.get(message["id"], self.unasked)
        if method == "notifications/progress":
            return self._asked.get(self._tokens.get(message["params"]["progressToken"]), self.unasked)
        is_of_a_request = "id" in message or method == "notifications/message"
        if (
            is_of_a_request and self._asked
        ):  # the shim's line doesn't say of which: of the latest, most likely
            return next(reversed(self._asked.values()))
        return self.unasked
