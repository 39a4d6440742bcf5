"""Deaths: how a worker ended, as its spawner tells, and how people are told."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass

from mcppd.core.errors import McppdError
from mcppd.workers.bounds import Excess


@dataclass(frozen=True, slots=True)
class Death:
    """How a worker ended: its wait status (None if its spawner went with it), its last output, why it was ended."""

    status: int | None
    output: str = ""
    excess: Excess | None = None
    was_ended: bool = False  # it lived when it was told to go
    is_cut: bool = False  # it was, since its wire was at its end
    oom_kills: int = 0  # processes that the kernel has killed for want of memory at that time

    @property
    def came_from_outside(self) -> bool:
        """Whether its code need not have had a part in it: killed by somebody, or gone with its spawner."""
        if self.excess is not None or self.was_ended:
            return False
        return self.status is None or (
            os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL
        )

    def __str__(self) -> str:
        if self.excess is not None:
            return str(self.excess)
        if self.status is None:
            return "ended together with the process that looks after the workers"
        if self.is_cut and self.was_ended:
            return (
                "was ended: the tool closed the worker's connection to the daemon, or wrote to it; "
                "that descriptor isn't its own"
            )
        if os.WIFSIGNALED(self.status):
            return f"was killed by {_signal_name(os.WTERMSIG(self.status))}{self._hint()}"
        return f"exited with status {os.WEXITSTATUS(self.status)}"

    def _hint(self) -> str:
        if self.oom_kills and not self.was_ended and self.status == signal.SIGKILL:
            return (
                ", perhaps by the kernel for want of memory: the machine, or its container, has run out of it"
            )
        return ""


class WorkerEndedError(McppdError):
    """The worker ended before it answered; `is_unread`: and before it had read what it was asked."""

    def __init__(self, death: Death, *, is_unread: bool = False) -> None:
        super().__init__(str(death))
        self.death = death
        self.is_unread = is_unread


def _signal_name(number: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"
