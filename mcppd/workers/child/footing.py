"""What a worker stands on: its descriptors, limits, priority and user. What a call can't take away for good.

Some of it can be put back; where it can't, this worker takes no further call.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from typing import Any, Final

from .hearing import Hearing

_LIMITS: Final = {name: getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")}
_INPUT, _OUTPUTS = 0, (1, 2)
_FILES: Final = (_INPUT, *_OUTPUTS)
_LIMITING: Final = (
    *("resource.setrlimit", "resource.prlimit"),
    *("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"),
)
"""Events after which limits may be others: Python's two ways, and programs, which can change those of their parent."""
_LIBRARIES: Final = ("ctypes.dlopen", "ctypes.dlsym", "ctypes.dlsym/handle", "ctypes.call_function")
"""Events after which C code that isn't the interpreter's may run at any time, and tell nothing."""
_OWN_EXTENSIONS: Final = os.path.dirname(getattr(resource, "__file__", ""))  # none has an empty one


class Footing:
    """A state of the process that all its calls need."""

    def __init__(self, hearing: Hearing) -> None:
        self._is_limited = False  # limits may have changed since they were looked at
        self._has_strangers = False  # C code is here that could change them and tell nothing
        for event in _LIMITING:
            hearing.on(event, self._heard_limits)
        for event in _LIBRARIES:
            hearing.on(event, self._heard_library)
        hearing.on("import", self._heard_import)
        self.remember()

    def remember(self) -> None:
        """Take the state of now as the one to come back to."""
        self._files = list(map(identity, _FILES))
        self._open = [each for each, file in zip(_FILES, self._files, strict=True) if file]
        self._blocking = list(map(os.get_blocking, self._open))
        self._limits = {name: resource.getrlimit(number) for name, number in _LIMITS.items()}
        self._priority = os.getpriority(os.PRIO_PROCESS, 0)
        self._cores = os.sched_getaffinity(0)
        self._user = _user()

    def restore(self) -> str | None:
        """Come back to it; what can't be put back, for people."""
        lost = list(self._lost())
        return lost[0] if lost else None

    def _lost(self) -> Iterator[str]:
        if _user() != self._user:
            yield "changed its user or group"
        if self._is_limited or self._has_strangers:  # else sixteen questions to the system for nothing
            self._is_limited = False
            yield from self._lost_limits()
        if os.getpriority(os.PRIO_PROCESS, 0) != self._priority:
            try:
                os.setpriority(os.PRIO_PROCESS, 0, self._priority)
            except OSError:
                yield "lowered its priority (`nice`), which only an administrator can raise again"
        if os.sched_getaffinity(0) != self._cores:
            try:
                os.sched_setaffinity(0, self._cores)
            except OSError:
                yield "bound itself to other processors"
        yield from self._lost_files()

    def _lost_limits(self) -> Iterator[str]:
        for name, wanted in self._limits.items():
            if resource.getrlimit(_LIMITS[name]) != wanted:
                try:
                    resource.setrlimit(_LIMITS[name], wanted)
                except (ValueError, OSError):
                    yield f"lowered a hard limit ({name}), which only an administrator can raise again"

    def _lost_files(self) -> Iterator[str]:
        now = list(map(identity, _FILES))
        if now != self._files:
            yield from self._lost_places(now)
        if list(map(os.get_blocking, self._open)) != self._blocking:
            for each, is_blocking in zip(self._open, self._blocking, strict=True):
                os.set_blocking(each, is_blocking)  # a program that shares it has changed that

    def _lost_places(self, now: list[tuple[int, int] | None]) -> Iterator[str]:
        if now[_INPUT] != self._files[_INPUT]:
            _put(_INPUT, os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
        for each, other in (_OUTPUTS, _OUTPUTS[::-1]):
            if now[each] == self._files[each]:
                continue
            if now[other] is not None and now[other] == self._files[each]:
                os.dup2(other, each)
            else:  # what is printed is lost, but must not fail
                _put(each, os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC))
                yield "closed its own output (descriptors 1 and 2)"

    def _heard_limits(self, _: tuple[Any, ...]) -> None:
        self._is_limited = True

    def _heard_library(self, _: tuple[Any, ...]) -> None:
        self._has_strangers = True

    def _heard_import(self, args: tuple[Any, ...]) -> None:
        """Of extensions, the event comes once more with the file; those of the standard library tell what they do."""
        path = args[1]
        if isinstance(path, str) and path.endswith(".so") and os.path.dirname(path) != _OWN_EXTENSIONS:
            self._has_strangers = True


def identity(descriptor: int) -> tuple[int, int] | None:
    """Which file a descriptor stands for; None for none."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _put(place: int, descriptor: int) -> None:
    """Move a descriptor to where programs that are started from here inherit it."""
    if descriptor == place:  # it was the lowest that was free
        os.set_inheritable(place, True)
        return
    os.dup2(descriptor, place)
    os.close(descriptor)


def _user() -> tuple[object, ...]:
    return os.getresuid(), os.getresgid(), os.getgroups()
