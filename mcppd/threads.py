"""The threads of a loop: what is waited for there may never come, and must not hold the process."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

COUNT: Final = 8
"""Threads at once: they wait for the disk, and more would only wait for each other."""
END_LIMIT: Final = 2.0
"""Seconds at the end of the loop for what is under way: a file is written in that time, a dead network file system
or a glob over a whole disk is left behind (D17)."""

Result = TypeVar("Result")
_Job = tuple[Future[Any], Callable[[], Any]]


class Threads(ThreadPoolExecutor):
    """An executor whose end has a limit: the pool of the standard library waits for its threads for ever.

    It is one of those only because a loop takes nothing else for its own.
    """

    def __init__(self) -> None:
        super().__init__(COUNT)
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._started: list[Thread] = []

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Have something done; the future of what it gives."""
        future: Future[Result] = Future()
        self._jobs.put((future, partial(fn, *args, **kwargs)))
        if len(self._started) < COUNT:
            # a daemon thread: the interpreter doesn't wait for it
            thread = Thread(target=_work, args=(self._jobs,), daemon=True)
            self._started.append(thread)
            thread.start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """End the threads; what isn't done within the limit is left to the end of the process."""
        for _ in self._started:
            self._jobs.put(None)
        deadline = time.monotonic() + END_LIMIT
        for thread in self._started if wait else ():
            thread.join(max(0.0, deadline - time.monotonic()))


def _work(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        future, work = job
        if not future.set_running_or_notify_cancel():
            continue
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - it is for whoever waits
            future.set_exception(error)
        else:
            future.set_result(result)
        del job, future, work  # nothing is kept alive until the next one comes
