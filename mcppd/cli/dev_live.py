"""The view on a terminal: one picture of everything, drawn again whenever something happens."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mcppd.cli.answers import Status
from mcppd.cli.dev_news import Warned, Warnings, clock
from mcppd.cli.dev_pen import Bell, Pen
from mcppd.cli.dev_picture import Story, picture
from mcppd.cli.dev_terminal import Screen
from mcppd.core.events import Event, Stopping

ENDINGS: Final = (signal.SIGHUP, signal.SIGQUIT)
"""What ends a view, and so the daemon, besides the daemon's own signals: a closed terminal, Ctrl-\\."""

SWITCH: Final = 0.0005
"""Seconds that drawing may keep the daemon from its agents: a large picture takes 40 ms, a call 1 ms."""


class LiveView:
    """The picture on stdout."""

    def __init__(self, pen: Pen, shim: str) -> None:
        self._shim = shim
        self._pen = pen
        self._bell = Bell()
        self._story = Story()
        self.is_followed = False  # another daemon has taken the place of this one
        self._is_shown = False

    def attach(self, log: logging.Logger) -> None:
        """Take in the log's warnings too."""
        log.addHandler(Warnings(self._warn))

    def tell(self, event: Event) -> None:
        """Take in what happened."""
        self._story.take(clock(), event)
        self.is_followed = event == Stopping(is_followed=True) or self.is_followed
        self._bell.ring()

    async def show(self, status: Callable[[], Mapping[str, Any]]) -> None:
        """Draw until cancelled, or until the terminal is gone."""
        sys.setswitchinterval(SWITCH)
        with Screen(self._pen) as screen, self._signals(screen):
            self._is_shown = True
            try:
                while self._is_shown and self._pen.has_reader:
                    if not (is_behind := not self._pen.is_idle):
                        self._draw(screen, Status.read(status()))
                    await self._bell.wait(is_behind=is_behind)
            finally:
                self._is_shown = False

    def _draw(self, screen: Screen, status: Status) -> None:
        story = self._story.copy()  # the pen's thread reads it while the next events come
        screen.draw(lambda size: picture(status, story, self._shim, size.columns, size.lines))

    def _warn(self, warned: Warned) -> bool:
        self._story.take(clock(), warned)  # may come from another thread, so the next tick has to do
        return self._is_shown

    @contextlib.contextmanager
    def _signals(self, screen: Screen) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for number in ENDINGS:
            loop.add_signal_handler(number, self._end)  # stays: the daemon still has to stop in order
        loop.add_signal_handler(signal.SIGWINCH, self._look)
        loop.add_signal_handler(signal.SIGTSTP, self._suspend, screen)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)
            loop.remove_signal_handler(signal.SIGTSTP)

    def _look(self) -> None:
        self._bell.ring(at_once=True)

    def _suspend(self, screen: Screen) -> None:
        screen.suspend()
        self._look()

    def _end(self) -> None:
        self._is_shown = False
        self._look()
