"""Certainty: all files were looked at once and nothing has happened since, so they are not looked at again (D19)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

FOR: Final = 1.0
"""Seconds for which one look at everything holds at most: of the few ways to change a file that make no event, each is
noticed then."""


class Certainty:
    """Remembers at which moment everything was found settled."""

    def __init__(self, moment: Callable[[], tuple[int | None, ...]]) -> None:
        """`moment` stays the same as long as nothing can have changed; a None in it: nobody knows."""
        self._moment = moment
        self._settled: tuple[int | None, ...] | None = None
        self._until = 0.0

    def unless_certain(self, look: Callable[[], str | None]) -> str | None:
        """What `look` finds unsettled; None without a look, where that is certain."""
        moment = self._moment()  # before the look: what happens during it makes another
        now = time.monotonic()
        if moment == self._settled and now < self._until:
            return None
        found = look()
        is_settled = found is None and None not in moment
        self._settled, self._until = (moment, now + FOR) if is_settled else (None, 0.0)
        return found
