"""Passes: when what is served is brought in line with the files, one pass at a time, as they are wanted."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from mcppd.reloading.shortage import ShortageError

logger = logging.getLogger("mcppd.reload")

SETTLE_LIMIT: Final = 2.0
"""Seconds a call or a list waits for a save to be loaded; then the version before answers, and says so (D19)."""
PAUSE: Final = 0.5
"""Seconds after a pass that failed in which none is made."""
AGAIN: Final = 60.0
"""Seconds until the next one at most, where they fail again and again and nobody asks."""
START_LIMIT: Final = 60.0
"""Seconds for the first pass: nothing is served before it, so nobody has to be told that the list changed then."""


@dataclass(slots=True)
class Errand:
    """What a pass is for."""

    noticed: float | None = None  # monotonic seconds: when the first of it was
    only: frozenset[str] | None = frozenset()  # directories of modules; None: anything may have changed

    def add(self, noticed: float, only: frozenset[str] | None) -> None:
        """It is for something more."""
        self.noticed = noticed if self.noticed is None else self.noticed
        self.only = None if self.only is None or only is None else self.only | only


class Passes:
    """Makes passes, and lets others wait for them."""

    def __init__(self, make: Callable[[], Awaitable[None]]) -> None:
        self.news = asyncio.Event()  # something changed since the pass under way began
        self._make = make
        self._started = asyncio.Event()
        self._wake = asyncio.Event()
        self._requested = 0  # passes asked for
        self._completed = 0  # of those, how many are answered
        self._passed = asyncio.Event()
        self._youth: asyncio.TimerHandle | None = None
        self._grown_only: frozenset[str] | None = None
        self._errand = Errand()
        self._is_passing = False
        self._made = 0  # passes, ever
        self._failed = 0  # the last ones, in a row

    @property
    def idle_since(self) -> int | None:
        """The number of the last pass; None while there is one, one is wanted, or the last one failed."""
        return None if self._is_passing or self._wake.is_set() or self._failed else self._made

    @property
    def has_started(self) -> bool:
        """Whether the first pass has found something to serve."""
        return self._started.is_set()

    def started(self) -> None:
        """The first pass has found something to serve."""
        self._started.set()
        self._tell_passed()

    async def run(self) -> None:
        """Make passes for ever, as they are wanted."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            self.news.clear()
            answered = self._requested
            self._is_passing = True
            try:
                await self._make()
                self._failed = 0
            except ShortageError as error:
                logger.warning("%s; what was served goes on", error)
                await self._fail()
            except Exception:
                logger.exception("a reload failed; what was served goes on")
                await self._fail()
            finally:
                self._is_passing = False
                self._made += 1
            self._completed = answered
            self._tell_passed()

    def want(self, noticed: float | None = None, only: frozenset[str] | None = None) -> None:
        """Ask for a pass: something on the disk may have changed, of `only` these modules if that is known.

        `noticed` when, in monotonic seconds, else now.
        """
        self._requested += 1
        self._errand.add(time.monotonic() if noticed is None else noticed, only)
        self.news.set()
        self._wake.set()

    def take_errand(self) -> Errand:
        """What the pass that begins is for."""
        errand, self._errand = self._errand, Errand()
        return errand

    def wake(self) -> None:
        """Have a pass made for what has become ready."""
        self._wake.set()

    def want_at(self, moment: float, only: frozenset[str] | None) -> None:
        """A young file is read again once its stamp can be trusted: at a moment of monotonic time (D19)."""
        if self._youth is not None:
            self._youth.cancel()
            only = None if only is None or self._grown_only is None else only | self._grown_only
        self._grown_only = only
        self._youth = asyncio.get_running_loop().call_at(moment, self._grown)

    async def another(self, *, wanted: bool = True, only: frozenset[str] | None = None) -> None:
        """Wait for a pass that begins after now, if one is wanted; else for the end of the next one."""
        if not wanted:
            await self._passed.wait()
            return
        self.want(only=only)
        goal = self._requested
        while self._completed < goal:
            await self._passed.wait()

    async def settle(
        self, unsettled: Callable[[], Awaitable[str | None]], only: Callable[[], frozenset[str] | None]
    ) -> bool:
        """Wait until nothing is unsettled ("changed", "busy" or None); False if that took too long.

        `only` are the modules that are asked about, None for all.
        """
        try:
            if not self._started.is_set():
                async with asyncio.timeout(START_LIMIT):
                    await self._started.wait()
            async with asyncio.timeout(SETTLE_LIMIT):
                while (reason := await unsettled()) is not None:
                    await self.another(wanted=reason == "changed", only=only())
        except TimeoutError:
            return False
        return True

    async def _fail(self) -> None:
        """Have everything looked at again, but not at once: whoever waits for that would have it made without end."""
        self._errand.add(time.monotonic(), None)  # nobody knows how far it came
        again = min(PAUSE * 2**self._failed, AGAIN)
        self._failed += 1
        asyncio.get_running_loop().call_later(again, self._wake.set)
        await asyncio.sleep(PAUSE)

    def _tell_passed(self) -> None:
        passed, self._passed = self._passed, asyncio.Event()
        passed.set()

    def _grown(self) -> None:
        self._youth = None
        self.want(only=self._grown_only)
