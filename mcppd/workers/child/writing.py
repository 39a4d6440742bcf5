"""Writing: which files the author's code writes, so that the daemon can tell its own doing from a person's save."""

from __future__ import annotations

import os
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
