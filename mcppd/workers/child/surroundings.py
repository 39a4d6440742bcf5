"""What a call finds around it: working directory, environment, umask, signal handlers, standard streams.

Set for each call or put back after it, so that one call can't trip the next.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, TextIO, TypeVar

from .lasting import Lasting
from .signals import HELD, IGNORED, block, get_handler, hold_signals, release_signals, set_handler

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Raised:
    """What an author's code raised."""

    error: BaseException


class DirectoryError(Exception):
    """The working directory of a call can't be used."""


class Surroundings:
    """The process as it was before any tool ran, and how to get back to that."""

    def __init__(self) -> None:
        self._environ = os.environ
        self._variables = dict(_data(os.environ))  # of the run before
        self._directory = _working_directory()
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._handlers = [(number, get_handler(number)) for number in _SIGNALS]
        self._lasting = Lasting()

    def remember(self) -> None:
        """The module has been imported: what it set for good is what its calls find."""
        self._lasting.remember()

    def variables(self) -> Mapping[bytes, bytes]:
        """The environment of the run, as it was given; before the first, the process's own."""
        return self._variables

    def run(
        self, action: Callable[[], Result], env: Mapping[str, str] | None = None, directory: str | None = None
    ) -> Result | Raised:
        """Run the author's code, and leave signals held; no environment is that of the run before.

        `restore` is due before the next run. A handler of the author's may raise at any moment until signals
        are held: also after the code is through, when what it came to still counts.
        """
        results: list[Result] = []
        raised: BaseException | None = None
        try:
            try:
                self._enter(env, directory)
                results.append(action())
            finally:
                block(signal.SIG_BLOCK, HELD)
        except BaseException as error:  # noqa: BLE001 - whatever an author's code raises
            block(signal.SIG_BLOCK, HELD)
            raised = error
        return results[0] if raised is None or results else Raised(raised)

    def restore(self) -> None:
        """Put back what isn't set for each run anyway; a timer that was left behind must not go off later."""
        hold_signals()
        signal.setitimer(signal.ITIMER_REAL, 0)
        set_handler(signal.SIGALRM, IGNORED)  # forgets one that has come already
        for number, handler in self._handlers:
            set_handler(number, handler)
        with contextlib.suppress(ValueError):  # the descriptor that an author gave is closed
            signal.set_wakeup_fd(-1)
        self._lasting.restore()
        os.umask(self._umask)
        os.environ = self._environ  # noqa: B003 - a tool may have put a dict there
        try:
            os.chdir(self._directory)
        except OSError:  # it is gone; the root never is
            os.chdir("/")

    def _enter(self, env: Mapping[str, str] | None, directory: str | None) -> None:
        if env is not None:
            self._variables = _encoded(env)
        _set_environment(self._environ, self._variables)
        if directory is not None:
            _change_directory(directory)
        release_signals()


def become_plain(entry: str = "") -> None:
    """Make the interpreter look like one that was just started for the module alone."""
    streams: Any = sys  # the originals are declared read-only
    streams.stdin = streams.__stdin__ = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - it stays open
    streams.stdout = streams.__stdout__ = _writer(1)
    streams.stderr = streams.__stderr__ = _writer(2)
    sys.modules["__main__"] = ModuleType("__main__")
    sys.argv = [entry]
    faulthandler.enable(2)  # a segmentation fault tells in the log where it happened


def flush() -> None:
    """Let what was printed reach the log, also by C code; a stream that was closed is made anew."""
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if not _is_flushed(getattr(sys, name, None)):
            setattr(sys, name, _writer(descriptor))
    _flush_c()


def _is_flushed(stream: Any) -> bool:
    """Flush what stands for a stream; whether more can be printed on it."""
    try:
        stream.flush()
        return not getattr(stream, "closed", False)
    except Exception:  # noqa: BLE001 - anything may have been put there
        return False


def _writer(descriptor: int) -> TextIO:
    return open(descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)


def _c_flusher() -> Callable[[], Any]:
    """What flushes C's stdout; not every stream of C's, since one that a thread reads from would block."""
    try:
        import ctypes

        library = ctypes.CDLL(None)
        stream = ctypes.c_void_p.in_dll(library, "stdout")
    except (ImportError, OSError, ValueError):  # no libffi, or a C library that names it otherwise
        return lambda: None
    return lambda: library.fflush(stream)


_flush_c = _c_flusher()


def _encoded(env: Mapping[str, str]) -> dict[bytes, bytes]:
    """The variables that the system can hold, as it holds them."""
    variables = {}
    for name, value in env.items():
        if name and "=" not in name and "\0" not in name + value:
            with contextlib.suppress(UnicodeEncodeError):  # a lone surrogate
                variables[os.fsencode(name)] = os.fsencode(value)
    return variables


def _data(environ: Any) -> dict[bytes, bytes]:
    """The mapping behind os.environ: to read it through os.environ takes longer than all the rest of a call."""
    variables: dict[bytes, bytes] = environ._data  # noqa: SLF001
    return variables


def _set_environment(environ: Any, wanted: Mapping[bytes, bytes]) -> None:
    """Change only what differs: each variable costs a call into C."""
    present = _data(environ)
    if present == wanted:
        return
    zone = present.get(b"TZ")
    for name in present.keys() - wanted.keys():
        del environ[os.fsdecode(name)]
    for name, value in wanted.items():
        if present.get(name) != value:
            environ[os.fsdecode(name)] = os.fsdecode(value)
    if present.get(b"TZ") != zone:
        time.tzset()


def _change_directory(directory: str) -> None:
    try:
        os.chdir(directory)
    except OSError as error:
        text = f"the workspace directory {directory} can't be used: {error.strerror}"
        raise DirectoryError(text) from error


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
