"""Streamable HTTP in front of shims, for the official suite, which only speaks HTTP.

Test code: it has what the suite's scenarios need to reach the daemon, and nothing that is about HTTP itself (checks of
Host, Origin and headers, resumption): those come with the HTTP endpoint. A legacy session is one shim; each modern
request is a shim of its own, so that nothing can lean on an earlier request of the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from tests.conformance.pipe import Pipe
from tests.conformance.session import Session
from tests.conformance.web import Exchange, read_request
from tests.harness import Daemon

VERSION: Final = "io.modelcontextprotocol/protocolVersion"

STATUSES: Final = {
    -32601: HTTPStatus.NOT_FOUND,
    -32602: HTTPStatus.BAD_REQUEST,
    -32020: HTTPStatus.BAD_REQUEST,
    -32021: HTTPStatus.BAD_REQUEST,
    -32022: HTTPStatus.BAD_REQUEST,
}
"""The status that goes with an error of the modern era (2026-07-28, transports, Streamable HTTP)."""


class Bridge:
    """Serves one daemon."""

    def __init__(self, daemon: Daemon, directory: Path) -> None:
        self._daemon = daemon
        self._directory = directory
        self._sessions: dict[str, Session] = {}
        self._tasks: asyncio.TaskGroup | None = None

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Its URL, as long as it serves."""
        async with asyncio.TaskGroup() as self._tasks:
            tasks: set[asyncio.Task[None]] = set()

            def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                task = self._start(self._serve(reader, writer))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

            server = await asyncio.start_server(take, "127.0.0.1", 0)
            try:
                yield f"http://localhost:{server.sockets[0].getsockname()[1]}/mcp"
            finally:
                server.close()
                for task in tasks:
                    task.cancel()
                for session in self._sessions.values():
                    await session.close()

    def _start(self, work: Any) -> asyncio.Task[None]:
        assert self._tasks is not None
        return self._tasks.create_task(work)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if request := await read_request(reader):
                exchange = Exchange(request, reader, writer)
                await _first(self._answer(exchange), exchange.hung_up())
        finally:
            writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(self, exchange: Exchange) -> None:
        request = exchange.request
        ident = request.headers.get("mcp-session-id")
        session = self._sessions.get(ident or "")
        match request.method:
            case "POST" if ident is None and not _opens_session(request.message):
                await self._answer_modern(exchange)
            case "POST" if ident is None:
                await self._open_session(exchange)
            case _ if session is None:
                exchange.answer(HTTPStatus.NOT_FOUND if ident else HTTPStatus.METHOD_NOT_ALLOWED)
            case "POST":
                await self._answer_legacy(exchange, session)
            case "GET":
                exchange.open_stream()
                while (message := await session.unasked.get()) is not None:
                    exchange.event(message)
            case "DELETE":
                await self._sessions.pop(ident or "").close()
                exchange.answer(HTTPStatus.OK)

    async def _open_session(self, exchange: Exchange) -> None:
        ident = secrets.token_hex()
        session = self._sessions[ident] = Session(await Pipe.open(self._daemon, self._directory))
        self._start(session.run())
        message = exchange.request.message
        response = await session.ask(message).get()
        session.close_stream(message["id"])
        exchange.answer(HTTPStatus.OK, response, **{"Mcp-Session-Id": ident})

    async def _answer_legacy(self, exchange: Exchange, session: Session) -> None:
        message = exchange.request.message
        if "method" not in message or "id" not in message:
            session.tell(message)
            exchange.answer(HTTPStatus.ACCEPTED)
            return
        stream = session.ask(message)
        exchange.open_stream()
        while (each := await stream.get()) is not None:
            exchange.event(each)
            if "method" not in each:
                break
        session.close_stream(message["id"])

    async def _answer_modern(self, exchange: Exchange) -> None:
        """The response alone if nothing comes before it, else everything as a stream."""
        message = exchange.request.message
        pipe = await Pipe.open(self._daemon, self._directory)
        try:
            pipe.send(message)
            each = await pipe.receive()
            if each is None or "method" not in each:
                exchange.answer(_status(each), each)
                return
            exchange.open_stream()
            while each is not None:
                exchange.event(each)
                if "method" not in each:
                    return
                each = await pipe.receive()
        finally:
            await pipe.close()


def _opens_session(message: Any) -> bool:
    meta = (message.get("params") or {}).get("_meta", {})
    return message.get("method") == "initialize" and VERSION not in meta


def _status(response: dict[str, Any] | None) -> int:
    if response is None:
        return HTTPStatus.BAD_GATEWAY
    if "error" not in response:
        return HTTPStatus.OK
    return STATUSES.get(response["error"]["code"], HTTPStatus.OK)


async def _first(*works: Any) -> None:
    """Wait until one of them is done, and end the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        task.result()
