"""What a call finds around it: working directory, environment, umask, signal handlers, standard streams.

Set for each call or put back after it, so that one call can't trip the next; where that can't be, the worker goes.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, TextIO, TypeVar

from .footing import Footing
from .hearing import Hearing
from .lasting import EACH_RUN, Lasting
from .signals import HELD, IGNORED, block, get_handler, hold_signals, release_signals, set_handler
from .variables import Variables

Result = TypeVar("Result")

_FORMER: Final[list[object]] = []
"""What stood where something of our own stands now: to take it apart would cost more memory than to keep it."""
_OWN: Final[dict[str, object]] = {}
"""The streams that print, by their names in `sys`: those that are ours, and run nothing of an author's."""


@dataclass(frozen=True, slots=True)
class Raised:
    """What an author's code raised."""

    error: BaseException


class DirectoryError(Exception):
    """The working directory of a call can't be used."""


class Surroundings:
    """The process as it was before any tool ran, and how to get back to that."""

    def __init__(self, hearing: Hearing) -> None:
        self.variables = Variables(hearing)
        self._directory = _working_directory()
        self._umask = os.umask(0)
        os.umask(self._umask)
        self._handlers = [(number, get_handler(number)) for number in EACH_RUN]
        self._lasting = Lasting()
        self._footing = Footing(hearing)

    def remember(self) -> None:
        """The module has been imported: what it set for good is what its calls find."""
        self._lasting.remember()
        self._footing.remember()

    def run(
        self,
        action: Callable[[], Result],
        env: Mapping[str, str] | None = None,
        directory: str | None = None,
        *,
        otherwise: str | None = None,
    ) -> Result | Raised:
        """Run the author's code, and leave signals held; no environment is that of the run before.

        `otherwise`: where it runs if the directory isn't there.
        `restore` is due before the next run. A handler of the author's may raise at any moment until signals
        are held: also after the code is through, when what it came to still counts.
        """
        results: list[Result] = []
        raised: BaseException | None = None
        try:
            try:
                self._enter(env, directory, otherwise)
                results.append(action())
            finally:
                block(signal.SIG_BLOCK, HELD)
        except BaseException as error:  # noqa: BLE001 - whatever an author's code raises
            block(signal.SIG_BLOCK, HELD)
            raised = error
        return results[0] if raised is None or results else Raised(raised)

    def restore(self) -> str | None:
        """Put back what isn't set for each run anyway; what can't be put back, for people.

        A timer that was left behind must not go off later. Signals are held: by `run`, and by whoever ran
        something of the author's since.
        """
        signal.setitimer(signal.ITIMER_REAL, 0)
        set_handler(signal.SIGALRM, IGNORED)  # forgets one that has come already
        for number, handler in self._handlers:
            set_handler(number, handler)
        with contextlib.suppress(ValueError):  # the descriptor that an author gave is closed
            signal.set_wakeup_fd(-1)
        self._lasting.restore()
        os.umask(self._umask)
        self.variables.restore()
        try:
            os.chdir(self._directory)
        except OSError:  # it is gone; the root never is
            os.chdir("/")
        return self._footing.restore()

    def _enter(self, env: Mapping[str, str] | None, directory: str | None, otherwise: str | None) -> None:
        self.variables.enter(env)
        if directory is not None:
            _change_directory(directory, otherwise)
        release_signals()


def standard_streams() -> tuple[TextIO, TextIO, TextIO]:
    """Streams for descriptors 0, 1 and 2, which must be what they will be by then: files without positions."""
    reader = open(0, encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115 - it stays open
    return reader, _writer(1), _writer(2)


def become_plain(streams: tuple[TextIO, TextIO, TextIO] | None, entry: str = "") -> None:
    """Make the interpreter look like one that was just started for the module alone; its streams may be made before."""
    ours: Any = sys  # the originals are declared read-only
    _FORMER.extend((sys.__stdin__, sys.__stdout__, sys.__stderr__, sys.modules["__main__"]))
    reader, output, errors = streams or standard_streams()
    ours.stdin = ours.__stdin__ = reader
    ours.stdout = ours.__stdout__ = output
    ours.stderr = ours.__stderr__ = errors
    _OWN.update(stdout=output, stderr=errors)
    sys.modules["__main__"] = ModuleType("__main__")
    sys.argv = [entry]
    faulthandler.enable(2)  # a segmentation fault tells in the log where it happened


def flush() -> None:
    """Let what was printed reach the log, also by C code; a stream that was closed is made anew.

    Between an author's code and the next request, when signals are held: they are so afterwards, whatever an
    author has put in the place of a stream.
    """
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name, None)
        is_flushed = _is_flushed(stream)
        if stream is not _OWN.get(name):
            hold_signals()
        if not is_flushed:
            with contextlib.suppress(OSError):  # there is no such descriptor yet
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
    function = library.fflush  # found now: later that is an event, as if an author had called a library
    return lambda: function(stream)


_flush_c = _c_flusher()


def _change_directory(directory: str, otherwise: str | None) -> None:
    try:
        os.chdir(directory)
    except (OSError, ValueError) as error:  # ValueError: no path can be that
        if otherwise is not None and not os.path.isdir(directory):
            os.chdir(otherwise)
            return
        why = error.strerror if isinstance(error, OSError) else error
        text = f"the workspace directory {directory} can't be used: {why}"
        raise DirectoryError(text) from error


def _working_directory() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        return "/"
