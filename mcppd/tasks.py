"""Tasks that have an owner, and whose failures are logged and cost nobody else anything."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Coroutine, Generator
from contextvars import Context
from typing import Any, TypeVar, cast

logger = logging.getLogger("mcppd")

Result = TypeVar("Result")


class Tasks(asyncio.TaskGroup):
    """A TaskGroup in which an escaped exception doesn't cancel the siblings: the daemon outlives its own faults."""

    def __init__(self) -> None:
        super().__init__()
        self._all: set[asyncio.Task[Any]] = set()

    def create_task(
        self,
        coro: Generator[Any, None, Result] | Coroutine[Any, Any, Result],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> asyncio.Task[Result]:
        """Run something in a task of this group; where it fails that is logged, and its result is None."""
        guarded = cast("Coroutine[Any, Any, Result]", _guarded(cast("Awaitable[Result]", coro)))
        task = super().create_task(guarded, name=name, context=context)
        self._all.add(task)
        task.add_done_callback(self._all.discard)
        task.add_done_callback(
            lambda _: coro.close()
        )  # one that is cancelled before its first step never began it
        return task

    async def end(self, limit: float) -> None:
        """Wait for all that still runs, and after `limit` seconds for nothing: it waits for others that are gone."""
        if self._all:
            await asyncio.wait(self._all, timeout=limit)
        for task in list(self._all):
            task.cancel()


async def _guarded(work: Awaitable[Result]) -> Result | None:
    try:
        return await work
    except Exception:
        logger.exception("something failed inside mcppd; the rest goes on")
        return None
