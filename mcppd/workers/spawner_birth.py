"""A worker from the fork to its first own line: session, signals, descriptors, environment (D2, D4)."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import os
import signal
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NoReturn, TextIO

from . import spawner_processes as processes
from .child.process import main as be_worker
from .child.signals import DEFAULT, IGNORED, block, get_handler, set_handler
from .child.surroundings import standard_streams
from .spawner_looks import Bounds

_WIRE: Final = 3  # where another interpreter's worker finds its wire
_SIGNALS: Final = tuple(map(int, signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}))
_FREE: Final = 10  # descriptors from here on can't be one of those that a worker has to have


@dataclass(frozen=True, slots=True)
class Order:
    """A worker that is to be made."""

    number: int
    log: str
    command: Sequence[str] | None  # None: a fork
    env: Mapping[str, str] | None  # None: that of the spawner
    bounds: Bounds
    streams: tuple[TextIO, TextIO, TextIO]


@dataclass(frozen=True, slots=True)
class Newborn:
    """A worker that has been forked."""

    pid: int
    output: int  # reads what it prints
    start: int  # reads why it could not start; its end means that it has


def fork(order: Order, wire: int, umask: int) -> Newborn:
    """Make a worker that holds the wire; raises OSError."""
    spawner = os.getpid()
    output, output_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    start, start_end = -1, -1
    try:
        os.set_blocking(output_end, True)
        start, start_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        pid = os.fork()
    except BaseException:
        _close(output, start)
        raise
    finally:
        if os.getpid() == spawner:
            _close(output_end, start_end)
    if not pid:
        _become_worker(order, wire, output_end, start_end, spawner, umask)
    return Newborn(pid, output, start)


def made_streams() -> tuple[TextIO, TextIO, TextIO]:
    """What workers will print to, made once for all of them: on descriptors such as they will have."""
    kept = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _FREE) for each in (0, 1, 2)]
    reading, writing = os.pipe2(os.O_CLOEXEC)
    try:
        _put_in_place(null := os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), writing)
        _close(null)
        return standard_streams()
    finally:
        for place, descriptor in enumerate(kept):
            os.dup2(descriptor, place)
        _close(*kept, reading, writing)


def explain(error: OSError, command: Sequence[str] | None) -> str:
    """Why a worker could not be made, and what to do about it."""
    what = f"{command[0]} can't be started" if command else "no process can be made"
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR | errno.EACCES | errno.ENOEXEC if command:
            advice = "`python:` has to name a Python interpreter or the directory of a virtual environment"
        case errno.EAGAIN | errno.ENOMEM:
            advice = "the machine, or the limit of processes of this user, has no room for it"
        case errno.EMFILE | errno.ENFILE:
            advice = "too many workers run at once"
        case _:
            advice = "try again"
    return f"{what}: {error.strerror}; {advice}"


def _become_worker(order: Order, wire: int, output: int, start: int, spawner: int, umask: int) -> NoReturn:
    try:
        os.setsid()
        processes.die_with_parent(spawner)
        processes.adopt_orphans()
        _default_signals(is_python=order.command is None)
        order.bounds.impose()
        os.umask(umask)
        wire, start = _arrange_descriptors(wire, output, start, is_exec=order.command is not None)
        env = os.environ if order.env is None else order.env
        if order.command:
            os.execvpe(order.command[0], list(order.command), env)  # noqa: S606 - no shell, on purpose
        _set_environment(env)
        os.close(start)
        gc.enable()
        be_worker(wire, order.streams)
    except OSError as error:
        _tell(start, explain(error, order.command))
    except BaseException as error:  # noqa: BLE001 - it must not get back into the spawner's loop
        _tell(start, f"a worker can't be started: {type(error).__name__}: {error}")
    finally:
        os._exit(1)


def _set_environment(wanted: Mapping[str, str]) -> None:
    """Change only what differs: each variable that is set anew costs 20 KB of memory that was shared before."""
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


def _default_signals(*, is_python: bool) -> None:
    """The dispositions and the empty mask that a program finds at its start, or Python's own after that."""
    signal.set_wakeup_fd(-1)
    for number in _SIGNALS:
        if get_handler(number) != DEFAULT:
            set_handler(number, DEFAULT)
    if is_python:
        set_handler(signal.SIGINT, signal.default_int_handler)
        set_handler(signal.SIGPIPE, IGNORED)
        set_handler(signal.SIGXFSZ, IGNORED)
    block(signal.SIG_SETMASK, ())


def _arrange_descriptors(wire: int, output: int, start: int, *, is_exec: bool) -> tuple[int, int]:
    """Put 0, 1 and 2 in their places and close everything but the wire and the start pipe."""
    wire, output, start = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, _FREE) for each in (wire, output, start))
    _put_in_place(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC), output)
    if is_exec:
        wire = os.dup2(wire, _WIRE)
    _close_others({0, 1, 2, wire, start})
    return wire, start


def _put_in_place(null: int, output: int) -> None:
    for place, descriptor in enumerate((null, output, output)):
        os.dup2(descriptor, place)


def _close_others(kept: Collection[int]) -> None:
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            _close(int(name))


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            os.close(descriptor)


def _tell(start: int, text: str) -> None:
    with contextlib.suppress(OSError):
        os.write(start, text.encode("utf-8", "replace"))
