"""Strikes: workers of a module that died one after another, and what follows from that.

well -> backoff           so many in a row died in their calls; for a while none is made
backoff -> backoff        the next one died too: for twice as long
backoff -> failed         and so on: none is made any more
backoff, failed -> well   a call was answered, a person asked for everything anew, or a new version was saved
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PATIENCE: Final = 5
"""Deaths in a row that cost their calls and nothing else: an agent that tries a crash again, with other arguments."""
PAUSES: Final = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds of the pauses that follow, each after another death: together longer than a disk or a network that went
away for a moment; after the last one nobody is served by trying."""


@dataclass(frozen=True, slots=True)
class Condition:
    """How the workers of a module are, where they aren't well."""

    state: str  # backoff, failed
    text: str  # what happened; the same as long as nothing else does
    seconds: float = 0.0  # until the next call may try again; 0 where it may, or where none may

    @property
    def advice(self) -> str:
        """When it is tried again."""
        anew = "as soon as a change of the module is saved, or after `mcppd reload`"
        if self.state == "failed":
            return f"it is tried again {anew}."
        when = f"in {self.seconds:.1f} s" if self.seconds else "now"
        return f"the next one tries it again {when}; at once {anew}."

    def told(self, module: str) -> str:
        """What a call is told that came meanwhile."""
        how = "has failed" if self.state == "failed" else f"is paused for {self.seconds:.1f} s more"
        return f"Error: module {module!r} {how}: {self.text} This call has not begun; {self.advice}"


@dataclass(frozen=True, slots=True)
class Workforce:
    """The workers of one generation at one moment."""

    workers: int = 0
    busy: int = 0
    waiting: int = 0  # calls
    condition: Condition | None = None


class Strikes:
    """What is counted for one generation; times are seconds of the monotonic clock."""

    def __init__(self) -> None:
        self.incidents = (
            0  # deaths that were counted, ever; a worker is known by how many there were at its birth
        )
        self._in_a_row = 0
        self._until = 0.0
        self._how = ""

    def died(self, born_at: int, how: str, now: float) -> bool:
        """A worker died in its call; whether that changed what the condition is.

        `born_at` are the incidents at its birth: of several that die together, only the first is counted.
        """
        if born_at != self.incidents:
            return False
        self.incidents += 1
        self._in_a_row += 1
        self._how = (how.splitlines() or [""])[0].rstrip(".")
        pause = self._in_a_row - PATIENCE
        if 0 <= pause < len(PAUSES):
            self._until = now + PAUSES[pause]
        return pause >= 0

    def forgive(self) -> None:
        """A call was answered, or it is to be tried anew."""
        self._in_a_row = 0

    def may_try(self, now: float) -> bool:
        """Whether a worker may be made."""
        return self._in_a_row < PATIENCE or (not self._is_failed and now >= self._until)

    def condition(self, now: float) -> Condition | None:
        """How the workers are; None where they are well."""
        if self._in_a_row < PATIENCE:
            return None
        text = f"its workers died {self._in_a_row} times in a row, the last one so: {self._how}."
        if self._is_failed:
            return Condition("failed", text)
        return Condition("backoff", text, max(0.0, self._until - now))

    @property
    def _is_failed(self) -> bool:
        return self._in_a_row >= PATIENCE + len(PAUSES)
