"""Writing: which files the author's code writes, so that the daemon can tell its own doing from a person's save."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any, Final

from .hearing import Hearing

WRITTEN_LIMIT: Final = 200
"""Paths of one worker that are told; a tool that writes more has other files than its own in mind."""
_WRITING: Final = os.O_WRONLY | os.O_RDWR


class Writes:
    """Notes what is opened for writing or renamed to, in this process, from now on."""

    def __init__(self, hearing: Hearing) -> None:
        self._new: set[str] = set()
        self._told: set[str] = set()
        self._tell: Callable[[], None] | None = None
        hearing.on("open", self._opened)
        hearing.on("os.rename", self._renamed)

    @property
    def has_news(self) -> bool:
        """Whether there is something to take."""
        return bool(self._new)

    def take(self) -> list[str]:
        """The paths that were written since this was asked last; each is told once."""
        new, self._new = sorted(self._new), set()
        self._told.update(new)
        return new

    @contextlib.contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        """Have each path taken before it is written: an import that changes what it is made of is ended by that."""
        self._tell = tell
        try:
            yield
        finally:
            self._tell = None

    def _opened(self, args: tuple[Any, ...]) -> None:
        path, _, flags = args
        if isinstance(flags, int) and flags & _WRITING:
            self._note(path)

    def _renamed(self, args: tuple[Any, ...]) -> None:
        self._note(args[1])

    def _note(self, path: object) -> None:
        try:
            whole = os.path.abspath(os.fsdecode(path))  # type: ignore[arg-type] # a descriptor is a TypeError
            whole.encode()
        except (TypeError, ValueError, OSError):
            return
        if (
            whole not in self._told
            and "__pycache__" not in whole
            and len(self._told) + len(self._new) < WRITTEN_LIMIT
        ):
            self._new.add(whole)
            if (tell := self._tell) is not None:  # once: in another thread the import may just have ended
                tell()
