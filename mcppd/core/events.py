"""Events: what happened in the daemon, told to whoever logs or shows it; nothing of arguments or environments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from mcppd.core.reports import Report
from mcppd.core.values import value

SHORTEST_WAIT: Final = 0.001
"""Seconds that a call waited for a worker, from which on people are told: less is no waiting."""


@value
class CallEnded:
    """A call was answered, or nobody waits for its answer any more."""

    agent: str  # the client's name for itself
    tool: str  # as it was called
    seconds: float
    outcome: str  # ok, failed, cancelled, or the code of an error
    error: str = ""  # what the caller was told; for a person's eyes, never for a log
    waited: float = 0.0  # how many of the seconds it waited for a worker

    @property
    def ran(self) -> float:
        """Seconds that it took besides."""
        return max(0.0, self.seconds - self.waited)


@dataclass(frozen=True, slots=True)
class SessionStarted:
    """A client has said who it is."""

    agent: str
    workspace: str | None


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """A client that had said who it is has gone."""

    agent: str
    calls: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Reloaded:
    """Another catalog is served."""

    report: Report


@dataclass(frozen=True, slots=True)
class Stopping:
    """The daemon has begun to stop: calls that run may still end."""

    is_followed: bool = False  # another daemon has taken its place


Event: TypeAlias = CallEnded | SessionStarted | SessionEnded | Reloaded | Stopping

Tell: TypeAlias = Callable[[Event], None]
"""Takes in what happened; called on the event loop, so it neither waits nor fails."""


def ignore(_: Event) -> None:
    """Nobody listens."""
