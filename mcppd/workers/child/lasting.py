"""What a module's import may set for good, and a call may not: each call finds it as the import left it."""

from __future__ import annotations

import _locale
import faulthandler
import gc
import signal
import sys
from operator import is_
from typing import Any, Final

from .signals import get_handler, set_handler

EACH_RUN: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
"""Signals whose handlers aren't even the import's: the worker needs them, and a timer must not go off later."""
_OTHERS: Final = tuple(
    map(int, signal.valid_signals() - {*EACH_RUN, signal.SIGKILL, signal.SIGSTOP})
)  # SIGCHLD, for one: ignored, it lets every program that a tool starts seem to have succeeded
_FATAL: Final = {*map(int, (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT))}
_TIMERS: Final = (signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_STREAMS: Final = ("stdin", "stdout", "stderr")


class Lasting:
    """A state of the process."""

    def __init__(self) -> None:
        self.remember()

    def remember(self) -> None:
        """Take the state of now as the one to come back to."""
        self._handlers = list(map(get_handler, _OTHERS))
        self._locale = _locale.setlocale(_locale.LC_ALL)
        self._recursion = sys.getrecursionlimit()
        self._streams = [(name, getattr(sys, name)) for name in _STREAMS]
        self._hooks = sys.gettrace(), sys.getprofile()
        self._collects = gc.isenabled()

    def restore(self) -> None:
        """Come back to it, as far as the system allows."""
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
        self._restore_handlers()
        if _locale.setlocale(_locale.LC_ALL) != self._locale:
            _locale.setlocale(_locale.LC_ALL, self._locale)
        sys.setrecursionlimit(self._recursion)
        self._restore_streams()
        if (sys.gettrace(), sys.getprofile()) != self._hooks:
            sys.settrace(self._hooks[0])
            sys.setprofile(self._hooks[1])
        if gc.isenabled() != self._collects:
            (gc.enable if self._collects else gc.disable)()

    def _restore_handlers(self) -> None:
        now = list(map(get_handler, _OTHERS))
        if all(map(is_, now, self._handlers)):  # sixty of them, so without a line of Python for each
            return
        changed = [
            (number, handler)
            for number, handler, is_now in zip(_OTHERS, self._handlers, now, strict=True)
            if is_now is not handler and handler is not None  # None: one of C code
        ]
        for number, handler in changed:
            set_handler(number, handler)
        if _FATAL.intersection(number for number, _ in changed):
            faulthandler.disable()  # whoever stood there has its place again
            faulthandler.enable(2)

    def _restore_streams(self) -> None:
        streams: Any = sys
        for name, stream in self._streams:
            if getattr(sys, name, None) is not stream and _is_open(stream):
                setattr(streams, name, stream)


def _is_open(stream: Any) -> bool:
    try:
        return not stream.closed
    except Exception:  # noqa: BLE001 - its buffer was detached, or an author put anything there
        return False
