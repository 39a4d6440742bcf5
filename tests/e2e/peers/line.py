"""The line between a test and a real MCP client in a process of its own: JSON objects, one a line, both ways.

`{"id": 1, "do": "call", …}` is answered by `{"id": 1, "value": …}` or `{"id": 1, "error": …}`; what is asked at the
same time is done at the same time. Runs inside the virtual environment of a peer: knows nothing of the project.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeAlias

CHANGED = "ToolListChangedNotification"

Spawn: TypeAlias = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]


class Sdk(Protocol):
    """A connected client, in the same words for all SDKs."""

    @property
    def revision(self) -> str:
        """The revision that was agreed on."""
        ...

    async def names(self) -> list[str]:
        """The names of the listed tools, in their order."""
        ...

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """The SDK's own value of the result of a call."""
        ...

    def listen(self) -> AbstractAsyncContextManager[AsyncIterator[Any]]:
        """Ask to be told of changes; only needed in the modern era."""
        ...


class News:
    """What came unasked: notifications of a changed list, and all that the SDK complained of."""

    def __init__(self) -> None:
        self.changes = 0
        self.faults: list[str] = []
        self._more = asyncio.Condition()

    async def note(self, message: Any) -> None:
        """For the SDK: take down a notification or a fault (1.x wraps what it hands over)."""
        kind = type(getattr(message, "root", message)).__name__
        if isinstance(message, Exception):
            self.faults.append(repr(message))
        elif kind == CHANGED:
            async with self._more:
                self.changes += 1
                self._more.notify_all()

    async def wait(self, count: int) -> int:
        """Wait until so many have come; how many have."""
        async with self._more:
            await self._more.wait_for(lambda: self.changes >= count)
        return self.changes


class Complaints(logging.Handler):
    """Makes faults of what the SDK logs as warnings: a message that it could not use, above all."""

    def __init__(self, news: News) -> None:
        super().__init__(logging.WARNING)
        self._news = news

    def emit(self, record: logging.LogRecord) -> None:
        """Take it down."""
        self._news.faults.append(record.getMessage())


class Peer:
    """Carries out what the test says; each method `do_…` is one of its words."""

    def __init__(self, sdk: Sdk, news: News, spawn: Spawn) -> None:
        self._sdk = sdk
        self._news = news
        self._spawn = spawn
        self._repeated: dict[str, tuple[asyncio.Event, asyncio.Task[list[Any]]]] = {}
        self._events = 0

    async def do_revision(self) -> str:
        """The revision that was agreed on."""
        return self._sdk.revision

    async def do_list(self) -> list[str]:
        """The names of all tools."""
        return await self._sdk.names()

    async def do_call(self, name: str, arguments: dict[str, Any]) -> Any:
        """The result of a call, as JSON."""
        result = await self._sdk.call(name, arguments)
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    async def do_listen(self) -> None:
        """Begin to listen; answered once the server has acknowledged it."""
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._spawn(self._listen(ready))
        await ready

    async def do_wait_list_changed(self, count: int) -> int:
        """Wait until so many notifications have come since the start."""
        return await self._news.wait(count)

    async def do_count(self) -> list[int]:
        """How many notifications have come, and how many of them an open listen gave out."""
        return [self._news.changes, self._events]

    async def do_faults(self) -> list[str]:
        """All that the SDK complained of."""
        return self._news.faults

    async def do_repeat(self, name: str) -> None:
        """Begin to call a tool again and again."""
        enough = asyncio.Event()
        self._repeated[name] = enough, self._spawn(self._repeat(name, enough))

    async def do_end_repeat(self, name: str) -> list[Any]:
        """The results of all those calls, the last one included."""
        enough, calling = self._repeated.pop(name)
        enough.set()
        return await calling

    async def _listen(self, ready: asyncio.Future[None]) -> None:
        try:
            async with self._sdk.listen() as events:
                ready.set_result(None)
                async for _ in events:
                    self._events += 1
        except Exception as error:  # noqa: BLE001 - whatever an SDK raises, the test is told
            if not ready.done():
                ready.set_exception(error)
            self._news.faults.append(f"listening ended: {error!r}")

    async def _repeat(self, name: str, enough: asyncio.Event) -> list[Any]:
        found: list[Any] = []
        while not enough.is_set():
            found.append(await self.do_call(name, {}))
        return found


async def serve(sdk: Sdk, news: News) -> None:
    """Do what the test says until it closes our stdin."""
    reader = asyncio.StreamReader(limit=2**24)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    tasks: set[asyncio.Task[Any]] = set()

    def spawn(work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    peer = Peer(sdk, news, spawn)
    _say({"id": 0, "value": None})  # connected
    while line := await reader.readline():
        spawn(_do(peer, json.loads(line)))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def complaints_to(news: News, *loggers: str) -> None:
    """Listen to what the SDK logs, under the root logger and those that keep their records from it."""
    for name in ("", *loggers):
        logging.getLogger(name).addHandler(Complaints(news))


async def _do(peer: Peer, request: dict[str, Any]) -> None:
    ident, word = request.pop("id"), request.pop("do")
    try:
        _say({"id": ident, "value": await getattr(peer, f"do_{word}")(**request)})
    except Exception as error:  # noqa: BLE001 - as above
        code = getattr(getattr(error, "error", None), "code", None)
        _say({"id": ident, "error": {"type": type(error).__name__, "code": code, "message": str(error)}})


def _say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
