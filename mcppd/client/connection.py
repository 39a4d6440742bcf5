"""One connection's conversation: which request an answer belongs to, and what comes without being asked for.

Nothing here waits; `Client` does.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from mcppd.client.errors import ClientError, ConnectionLostError, RefusedError, RemoteError
from mcppd.core import jsonrpc
from mcppd.core.errors import INTERNAL_ERROR, METHOD_NOT_FOUND
from mcppd.core.framing import LineFraming, Overlong
from mcppd.transport.link import Link

Progress = Callable[[float, float | None, str | None], None]
"""Takes `progress`, `total` and `message` of a progress notification."""

Notified = Callable[[str, dict[str, Any]], None]
"""Takes the method and the params of a notification."""

_CLOSED: Final = "the daemon closed the connection"


class Connection:
    """The requests under way on one link; the link's `Receiver`."""

    def __init__(self, hello: bytes = b"") -> None:
        self._hello = hello  # what goes out in front of the first line, in one write with it
        self.link: Link[bytes | Overlong] = Link(LineFraming())
        self.link.attach(self)
        self.notified: Notified | None = None
        self.gone = asyncio.Event()
        self._waiting: dict[jsonrpc.Id, asyncio.Future[dict[str, Any]]] = {}
        self._progress: dict[jsonrpc.Id, Progress] = {}
        self._last_id = 0
        self._lost: ClientError | None = None  # why nothing can be asked any more

    def next_id(self) -> int:
        """An id that no request of this connection has had."""
        self._last_id += 1
        return self._last_id

    def ask(
        self, ident: int, method: str, params: dict[str, Any] | None, progress: Progress | None
    ) -> asyncio.Future[dict[str, Any]]:
        """Send a request; the future of its answer."""
        if self._lost is not None:
            raise self._lost
        message = {"jsonrpc": "2.0", "id": ident, "method": method}
        line = jsonrpc.encode_value(message if params is None else {**message, "params": params})
        future = self._waiting[ident] = asyncio.get_running_loop().create_future()
        if progress:
            self._progress[ident] = progress
        self._send(line)
        return future

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification, if anybody is left to read it."""
        self._send(jsonrpc.encode_notification(method, jsonrpc.encode_value(params)))

    def forget(self, ident: int) -> bool:
        """Wait for an answer no longer; whether it was still to come."""
        self._progress.pop(ident, None)
        return self._waiting.pop(ident, None) is not None and self._lost is None

    # what the link calls

    def receive(self, frame: bytes | Overlong) -> None:
        """Take the next line."""
        if isinstance(frame, Overlong):
            self._lose(ConnectionLostError(f"an answer is longer than {frame.limit} bytes"))
            self.link.abort()
            return
        message = jsonrpc.decode(frame)
        for each in message if isinstance(message, tuple) else (message,):
            self._take(each)

    def ended(self) -> None:
        """The daemon sends nothing more, so nothing can be answered."""
        self._lose(ConnectionLostError(_CLOSED))
        self.link.close()

    def closed(self) -> None:
        """The link is gone."""
        self._lose(ConnectionLostError(_CLOSED))
        self.gone.set()

    def _take(self, message: jsonrpc.Message | None) -> None:
        match message:
            case jsonrpc.Response(None, _, error) if error is not None:
                # it names no request, and ours are well-formed: it is about the connection as a whole
                self._lose(RefusedError(_remote_error(error).message.removeprefix("mcppd: ")))
            case jsonrpc.Response(ident, result, error) if ident is not None:
                self._answer(ident, result, error)
            case jsonrpc.Notification(method, params):
                self._notify(method, params)
            case jsonrpc.Request(ident, method, _):
                self._send(jsonrpc.encode_error(ident, METHOD_NOT_FOUND, f"this client offers no {method}"))
            case _:
                pass  # an empty line, or one that is no message: nobody waits for it

    def _send(self, line: bytes) -> None:
        """Write a line, the first one together with the hello.

        A daemon that refuses the hello closes at once; a line written after that would fail, and
        a failed write makes the transport drop what is still unread: the reason of the refusal.
        """
        hello, self._hello = self._hello, b""
        self.link.send(hello + line + b"\n")

    def _answer(self, ident: jsonrpc.Id, result: Any, error: Any) -> None:
        self._progress.pop(ident, None)
        future = self._waiting.pop(ident, None)
        if future is None or future.done():
            return  # nobody waits any more: cancelled, or out of time
        if error is not None:
            future.set_exception(_remote_error(error))
        elif isinstance(result, dict):
            future.set_result(result)
        else:
            future.set_exception(RemoteError(INTERNAL_ERROR, "the answer is not an object"))

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        if method == "notifications/progress":
            token, done = params.get("progressToken"), params.get("progress")
            if isinstance(token, str | int) and isinstance(done, int | float) and token in self._progress:
                total, text = params.get("total"), params.get("message")
                self._progress[token](
                    done,
                    total if isinstance(total, int | float) else None,
                    text if isinstance(text, str) else None,
                )
        elif self.notified:
            self.notified(method, params)

    def _lose(self, reason: ClientError) -> None:
        if self._lost is None:
            self._lost = reason
        waiting, self._waiting = self._waiting, {}
        self._progress.clear()
        for future in waiting.values():
            if not future.done():
                future.set_exception(self._lost)


def _remote_error(error: Any) -> RemoteError:
    if not isinstance(error, dict):
        return RemoteError(INTERNAL_ERROR, "the daemon answered with an error of no known form")
    code = error.get("code")
    message = str(error.get("message") or "unknown error")
    return RemoteError(code if isinstance(code, int) else INTERNAL_ERROR, message, error.get("data"))
