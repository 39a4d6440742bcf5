"""A client: requests that wait, within limits, and are cancelled cleanly."""

from __future__ import annotations

import asyncio
import errno
import socket
from types import TracebackType
from typing import Any, Final, Self

from mcppd_shim.version import VERSION

from mcppd.client.connection import Connection, Notified, Progress
from mcppd.client.errors import ConnectionLostError, NoAnswerError, RemoteError
from mcppd.core.errors import INTERNAL_ERROR
from mcppd.transport import unix

CONNECT_LIMIT: Final = 5.0
"""Seconds until a socket must have accepted: a daemon does at once, unless its backlog is full."""

ANSWER_LIMIT: Final = 10.0
"""Seconds for an answer that runs no tool: a list waits 2 s for a reload (D19), the rest is slowness."""

PROBE_EVERY: Final = 30.0
"""Seconds after which a daemon that owes an answer is asked whether it is alive; a call may take hours."""

CLOSE_LIMIT: Final = 2.0
"""Seconds for the last bytes to be written; they are small and go through a local socket."""

PAGE_LIMIT: Final = 10_000
"""Pages of one list; a daemon that has still more is running in circles."""

PROTOCOL: Final = "2026-07-28"
CLIENT_INFO: Final = {"name": "mcppd-cli", "version": VERSION}

_META: Final = "io.modelcontextprotocol/"


class Client:
    """One connection to a daemon. Made by `connect`, `attach` or `control`; ends with `close` or its `async with`.

    `notifications` is called with the method and params of each notification that isn't progress.
    """

    def __init__(self, connection: Connection, meta: dict[str, Any] | None) -> None:
        self._connection = connection
        self._meta = meta  # what goes with each request; None on the control socket

    @classmethod
    async def connect(cls, path: str, hello: bytes | None = None) -> Self:
        """Connect to a daemon's socket for agents; raises OSError.

        `hello` is a line as `mcppd_shim.hello` makes it, which goes out in front of the first
        request; without one the daemon knows no workspace.
        """
        return cls(await _connect(path, hello or b""), _envelope())

    @classmethod
    async def attach(cls, connected: socket.socket) -> Self:
        """Speak as an agent over one end of a pair of sockets; the other is a server's stdin and stdout."""
        connection = Connection()
        await unix.adopt(connected, lambda: connection.link)
        return cls(connection, _envelope())

    @classmethod
    async def control(cls, path: str) -> Self:
        """Connect to a daemon's control socket, whose requests are no MCP; raises OSError."""
        return cls(await _connect(path, b""), None)

    @property
    def notifications(self) -> Notified | None:
        """Who takes notifications."""
        return self._connection.notified

    @notifications.setter
    def notifications(self, notified: Notified | None) -> None:
        self._connection.notified = notified

    async def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        limit: float | None = ANSWER_LIMIT,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """The result of a request; raises RemoteError, ConnectionLostError, NoAnswerError.

        `limit` is in seconds; None waits for as long as the daemon shows that it is alive. One
        that is given up, by its limit or because its task was cancelled, is cancelled there too.
        """
        ident = self._connection.next_id()
        future = self._connection.ask(ident, method, self._params(ident, params, progress), progress)
        reason = "the caller gave up"
        try:
            return await self._answer(future, method, limit)
        except NoAnswerError as error:
            reason = str(error)
            raise
        finally:
            if future.done():
                future.exception()  # looked at, or asyncio would report it where the caller is gone
            if self._connection.forget(ident):
                self._connection.tell("notifications/cancelled", {"requestId": ident, "reason": reason})

    async def list_tools(self) -> list[dict[str, Any]]:
        """Every tool that is listed, page after page."""
        tools: list[dict[str, Any]] = []
        params: dict[str, Any] = {}
        for _ in range(PAGE_LIMIT):
            page = await self.request("tools/list", params)
            tools += [tool for tool in page.get("tools", ()) if isinstance(tool, dict)]
            if page.get("nextCursor") is None:
                return tools
            params = {"cursor": page["nextCursor"]}
        raise RemoteError(INTERNAL_ERROR, f"the list of tools has no end after {PAGE_LIMIT} pages")

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        progress: Progress | None = None,
        *,
        limit: float | None = None,
    ) -> dict[str, Any]:
        """Call a tool; its result as it came, `isError` and all. The time limit of a call is the daemon's."""
        params = {"name": name, "arguments": arguments}
        return await self.request("tools/call", params, limit=limit, progress=progress)

    async def close(self) -> None:
        """Close after what was sent has been written."""
        self._connection.link.close()
        try:
            async with asyncio.timeout(CLOSE_LIMIT):
                await self._connection.gone.wait()
        except TimeoutError:
            self._connection.link.abort()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _params(
        self, ident: int, params: dict[str, Any] | None, progress: Progress | None
    ) -> dict[str, Any] | None:
        if self._meta is None:
            return params
        token = {"progressToken": ident} if progress else {}
        own = (params or {}).get("_meta", {})
        return {**(params or {}), "_meta": {**own, **self._meta, **token}}

    async def _answer(
        self, future: asyncio.Future[dict[str, Any]], method: str, limit: float | None
    ) -> dict[str, Any]:
        while True:
            done, _ = await asyncio.wait({future}, timeout=PROBE_EVERY if limit is None else limit)
            if done:
                return future.result()
            if limit is not None:
                raise NoAnswerError(f"the daemon has not answered {method} within {limit:g} s")
            await self._probe(method)

    async def _probe(self, method: str) -> None:
        """Ask for something that is answered at any time; any answer is a sign of life."""
        try:
            await self.request("server/discover")
        except RemoteError:
            pass  # the control socket knows no such method, and said so
        except NoAnswerError:
            raise ConnectionLostError(
                f"the daemon has stopped answering; what came of {method} is unknown"
            ) from None


def _envelope() -> dict[str, Any]:
    return {
        _META + "protocolVersion": PROTOCOL,
        _META + "clientCapabilities": {},
        _META + "clientInfo": CLIENT_INFO,
    }


async def _connect(path: str, hello: bytes) -> Connection:
    connection = Connection(hello)
    try:
        async with asyncio.timeout(CONNECT_LIMIT):
            await unix.connect(path, connection.link)
    except TimeoutError:
        reason = f"the socket does not accept within {CONNECT_LIMIT:g} s"
        raise TimeoutError(errno.ETIMEDOUT, reason, path) from None
    return connection
