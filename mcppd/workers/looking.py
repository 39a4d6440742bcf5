"""When the spawner looks at the workers: often while calls run, ever more seldom while nothing happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final

FIRST: Final = 0.1
"""Seconds between two looks while something runs: a fork bomb has made some hundred processes by then."""
RESTLESS: Final = 0.25
"""Seconds between two looks at most, while something is left that may go on by itself: a thread, a process. A bomb that
goes off between calls has made some hundred processes by then, too."""
LONGEST: Final = 10.0
"""Seconds between two looks at workers that do nothing at all, and by themselves can't begin to; a look at one takes a
twentieth of a millisecond."""
HUNG_LIMIT: Final = 10.0
"""Seconds that the spawner may leave a look unanswered, which takes it milliseconds; then it is stopped, or hangs."""


class Looking:
    """Asks for looks; of a daemon with no worker, for none."""

    def __init__(self, ask: Callable[[Sequence[int]], None], hung: Callable[[], None]) -> None:
        self.spinning: Callable[[int], None] | None = None  # hears of a worker that works on without a call
        self._ask = ask  # takes the workers without a call since the last look
        self._hung = hung  # hears that no answer comes
        self._living: set[int] = set()
        self._busy: set[int] = set()
        self._touched: set[int] = set()  # busy at some time since the last look
        self._timer: asyncio.TimerHandle | None = None
        self._interval = FIRST
        self._longest = LONGEST
        self._is_asked = False  # and not answered yet
        self._late = 0.0  # seconds, in steps that were really waited: after a stop of us both nothing hangs

    def begins(self, number: int) -> None:
        """A worker gets something to do, or is about to be made."""
        self._living.add(number)
        self._busy.add(number)
        self._touched.add(number)
        if self._timer is None or self._interval > FIRST:
            self._interval = FIRST
            self._wait()

    def ends(self, number: int) -> None:
        """It has done it."""
        self._busy.discard(number)

    def gone(self, number: int) -> None:
        """It is no more."""
        for numbers in (self._living, self._busy, self._touched):
            numbers.discard(number)

    def answered(self, spinning: Collection[int], *, restless: bool) -> None:
        """The spawner has looked."""
        self._is_asked, self._late = False, 0.0
        self._longest = RESTLESS if restless else LONGEST
        for number in spinning:
            if self.spinning is not None:
                self.spinning(number)

    def stop(self) -> None:
        """The spawner is gone, and every worker with it."""
        self._living.clear()
        self._busy.clear()
        self._touched.clear()
        self._is_asked, self._late = False, 0.0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._interval, self._look)

    def _look(self) -> None:
        self._timer = None
        if not self._living:
            return
        if self._is_asked:
            self._interval = FIRST
            self._late += FIRST
            if self._late > HUNG_LIMIT:
                self._hung()
                return
        else:
            is_quiet = not self._touched
            self._interval = min(self._interval * 2, self._longest) if is_quiet else FIRST
            self._is_asked = True
            self._ask(sorted(self._living - self._touched))
            self._touched = set(self._busy)
        self._wait()
