"""The questions of the call that a worker runs: put to the client, and their answers handed to the worker.

While one is open, the clock of the call stands still. A question that ends the call gives it up: whoever waits for
its result has the reason at once, and the author's code is told to stop as by a cancellation.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from mcppd.core.calls import Ask
from mcppd.core.errors import McppdError, ToolError

logger = logging.getLogger("mcppd.workers")

OPEN_LIMIT: Final = 100
"""Times that one call may be asking at once, from its threads; a person is asked one thing after the other."""
NOBODY: Final = "nobody can be asked here: the client is asked by tools, prompts and resources only"

Spawn = Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]]


class OpenQuestions:
    """What one call is asking."""

    def __init__(
        self,
        ask: Ask | None,
        reply: Callable[[int, Mapping[str, Any]], None],
        changed: Callable[[], None],
        give_up: Callable[[McppdError], None],
        spawn: Spawn,
    ) -> None:
        self._ask = ask
        self._reply = reply  # sends the answer to a question to the worker
        self._changed = changed  # hears when the waiting begins, and when it ends
        self._give_up = give_up  # hears why the call ends at a question
        self._spawn = spawn
        self._tasks: dict[int, asyncio.Task[Any]] = {}
        self._is_closed = False
        self.is_waiting = False  # something is being asked, and the answer isn't known yet

    def take(self, header: Mapping[str, Any]) -> None:
        """The worker asks, or doesn't want an answer any more."""
        number = header["question"]
        if header["op"] == "withdraw":
            if (task := self._tasks.get(number)) is not None:
                task.cancel()
        elif self._ask is None:
            self._reply(number, {"error": NOBODY})
        elif len(self._tasks) >= OPEN_LIMIT:
            self._reply(number, {"error": f"{OPEN_LIMIT} questions of this call are open already"})
        else:
            self._begin(number, self._ask, header["questions"])

    def close(self) -> None:
        """The call is over, or given up: nobody waits for the answers."""
        self._is_closed = True
        for task in self._tasks.values():
            task.cancel()
        self._stop_waiting()

    def _begin(self, number: int, ask: Ask, questions: Any) -> None:
        task = self._tasks[number] = self._spawn(self._answer(number, ask, questions))
        task.add_done_callback(lambda _: self._forget(number))
        asyncio.get_running_loop().call_soon(self._look)  # after the first step, in which modern ones end

    def _look(self) -> None:
        """Begin to wait, if something is still being asked."""
        is_done = all(task.done() for task in self._tasks.values())
        if not (self.is_waiting or self._is_closed or is_done):
            self.is_waiting = True
            self._changed()

    def _forget(self, number: int) -> None:
        self._tasks.pop(number, None)
        if not self._tasks:
            self._stop_waiting()

    def _stop_waiting(self) -> None:
        if self.is_waiting:
            self.is_waiting = False
            self._changed()

    async def _answer(self, number: int, ask: Ask, questions: Any) -> None:
        """Ask, in a task of its own, from which nothing may escape."""
        reply: Mapping[str, Any]
        try:
            reply = {"result": await ask(questions)}
        except ToolError as error:
            reply = {"error": error.text}
        except McppdError as error:
            if not self._is_closed:
                self._give_up(error)
            return
        except Exception:
            logger.exception("a question could not be asked")
            reply = {"error": "mcppd failed to ask the client; its log says why"}
        if not self._is_closed:
            self._reply(number, reply)
