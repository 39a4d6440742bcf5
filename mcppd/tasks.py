"""Tasks that have an owner, and whose failures are logged and cost nobody else anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Generator
from contextvars import Context
from types import TracebackType
from typing import Any, Self, TypeVar

logger = logging.getLogger("mcppd")

Result = TypeVar("Result")


class Tasks(asyncio.TaskGroup):
    """A TaskGroup in which a task that fails doesn't cancel its siblings: the daemon outlives its own faults."""

    def __init__(self) -> None:
        super().__init__()
        self._all: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> Self:
        self._running = asyncio.get_running_loop()
        return await super().__aenter__()

    def create_task(
        self,
        coro: Generator[Any, None, Result] | Coroutine[Any, Any, Result],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[Result]:
        """Run something in a task of this group; where it fails that is logged."""
        task = self._running.create_task(coro, name=name, context=context)
        self._all.add(task)
        task.add_done_callback(self._ended)
        return task

    async def end(self, limit: float) -> None:
        """Wait for all that still runs, and after `limit` seconds for nothing: it waits for others that are gone."""
        if self._all:
            await asyncio.wait(self._all, timeout=limit)
        for task in list(self._all):
            task.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Wait for all tasks; where the body failed, or the wait is cancelled, they are cancelled first."""
        try:
            while self._all and error is None:
                await asyncio.wait(self._all)
        finally:
            for task in list(self._all):
                task.cancel()
            while self._all:
                await asyncio.wait(self._all)
        await super().__aexit__(kind, error, traceback)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._all.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            logger.error("something failed inside mcppd; the rest goes on", exc_info=error)
