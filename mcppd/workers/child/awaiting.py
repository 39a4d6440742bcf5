"""Running what an `async` function of a tool returned, in an event loop of its own."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Awaitable
from typing import Any

from .context import Call


def settled(value: Any, call: Call | None = None) -> Any:
    """The value, or what it comes to if it has to be awaited; a cancellation of the call reaches it."""
    if type(value) is dict or not inspect.isawaitable(value):  # most results are; the question takes longer
        return value
    import asyncio  # most tools need none of it, and it takes a third of an interpreter's start

    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        task = loop.create_task(_awaited(value))
        if call is not None:
            _listen(call, loop, task)
        return loop.run_until_complete(task)
    finally:
        if call is not None:
            call.on_cancel(None)
        _close(loop)
        if call is not None:
            call.loop = None


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


def _listen(call: Call, loop: Any, task: Any) -> None:
    """Cancel the task when the cancellation arrives, whoever reads it from the wire."""
    wire = call.fileno()
    call.loop = loop

    def cancel() -> None:
        loop.remove_reader(wire)  # at the end of the wire it is readable for ever
        task.cancel()

    call.on_cancel(lambda: loop.call_soon_threadsafe(cancel))
    loop.add_reader(wire, call.poll)
    loop.call_soon(call.poll)  # it may have come together with the call


def _close(loop: Any) -> None:
    """End what the tool left running in its loop, and the loop."""
    import asyncio

    try:
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        asyncio.set_event_loop(None)
        with contextlib.suppress(RuntimeError):  # a task that can't be stopped
            loop.close()
