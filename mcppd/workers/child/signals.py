"""Signals kept away while something must not be left half done: an author's handler may raise anywhere."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # its functions are C: no handler can run on the way into them
import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Final

# signal.pthread_sigmask makes an enumeration member of each of sixty signals, 60 µs a call; this is what it calls
block: Final[Callable[[int, Collection[int]], set[int]]] = _signal.pthread_sigmask
set_handler: Final[Callable[[int, object], object]] = _signal.signal
get_handler: Final[Callable[[int], object]] = _signal.getsignal
DEFAULT: Final[object] = _signal.SIG_DFL
IGNORED: Final[object] = _signal.SIG_IGN
HELD: Final = frozenset(signal.valid_signals()) - {
    # raised by the processor in this very thread; held back, they kill without a trace
    *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT),
}
_MASK: Final = 128  # bytes of a sigset_t, in glibc and in musl; one of zeros is empty
_MANY: Final = 100  # more than there are signals, each of which can interrupt us once


@contextmanager
def held_signals() -> Iterator[None]:
    """Let no signal handler run inside; one that is due already raises before, one that comes now after."""
    before = block(signal.SIG_BLOCK, ())
    try:
        block(signal.SIG_BLOCK, HELD)
        yield
    finally:
        block(signal.SIG_SETMASK, before)


def hold_signals() -> None:
    """Hold back signals until `release_signals`, whatever the handlers of those that are due raise.

    So they are while our own code runs: a handler interrupts a tool or the waiting for a call, nothing else.
    """
    for _ in range(_MANY):
        try:
            block(signal.SIG_BLOCK, HELD)
            return
        except BaseException:  # noqa: BLE001, S112 - a timer of the author's that came too late; the call is over
            continue


def _releaser() -> Callable[[], object]:
    """What empties the mask. `block` would tell us what was in it, fifty numbers that nobody asks for, twice a call."""
    try:
        import ctypes

        library = ctypes.PyDLL(None)  # which keeps the interpreter's lock, as there is nothing to wait for
        function = library.pthread_sigmask
    except (ImportError, OSError, AttributeError):  # no libffi
        return lambda: block(signal.SIG_SETMASK, ())
    function.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    nothing = ctypes.create_string_buffer(_MASK)
    how = int(signal.SIG_SETMASK)
    return lambda: function(how, nothing, None)


_empty_mask: Final = _releaser()


def release_signals() -> None:
    """Let signals in again; the handlers of those that have come meanwhile run now, and may raise."""
    _empty_mask()
