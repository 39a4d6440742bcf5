"""What the interpreter tells of itself (PEP 578): one hook for all who listen, since each is called for every event."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeAlias

Heard: TypeAlias = Callable[[tuple[Any, ...]], None]
"""Takes the arguments of an event; it must not raise, and costs every such event its time."""


class Hearing:
    """Tells of events in this process, from now on."""

    def __init__(self) -> None:
        self._heard: dict[str, Heard] = {}
        sys.addaudithook(self._hear)

    def on(self, event: str, heard: Heard) -> None:
        """Have something called at each event of a kind."""
        self._heard[event] = heard

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        heard = self._heard.get(event)
        if heard is not None:
            heard(args)
