"""What a module's import may set for good, and a call may not: each call finds it as the import left it."""

from __future__ import annotations

import _locale
import contextlib
import resource
import signal
import sys
from typing import Any, Final

from .signals import get_handler, set_handler

_SIGNALS: Final = (
    signal.SIGCHLD,  # ignored, it lets every program that a tool starts seem to have succeeded
    signal.SIGPIPE,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGXCPU,
)
_TIMERS: Final = (signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_LIMITS: Final = tuple(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))
_STREAMS: Final = ("stdin", "stdout", "stderr")


class Lasting:
    """A state of the process."""

    def __init__(self) -> None:
        self.remember()

    def remember(self) -> None:
        """Take the state of now as the one to come back to."""
        self._handlers = [(number, get_handler(number)) for number in _SIGNALS]
        self._limits = [(number, resource.getrlimit(number)[0]) for number in _LIMITS]
        self._locale = _locale.setlocale(_locale.LC_ALL)
        self._recursion = sys.getrecursionlimit()
        self._streams = [(name, getattr(sys, name)) for name in _STREAMS]

    def restore(self) -> None:
        """Come back to it, as far as the system allows."""
        for timer in _TIMERS:
            signal.setitimer(timer, 0)
        for number, handler in self._handlers:
            if get_handler(number) is not handler and handler is not None:  # None: one of C code
                set_handler(number, handler)
        for number, soft in self._limits:
            now, hard = resource.getrlimit(number)
            if now != soft:
                with contextlib.suppress(ValueError, OSError):  # the hard limit was lowered as well
                    resource.setrlimit(number, (soft, hard))
        if _locale.setlocale(_locale.LC_ALL) != self._locale:
            _locale.setlocale(_locale.LC_ALL, self._locale)
        sys.setrecursionlimit(self._recursion)
        self._restore_streams()

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
