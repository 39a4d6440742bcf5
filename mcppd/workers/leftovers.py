"""What a spawner that was killed left behind: its workers die with it, but not what they had started.

The daemon adopts that, as the spawner would have, and ends it before there is another spawner.
"""

from __future__ import annotations

import asyncio
import os
import time
from typing import Final

from mcppd.workers import spawner_processes as processes

LIMIT: Final = 3.0
"""Seconds to wait for what is being ended; what can't be ended by then hangs in a device or a mount."""
INTERVAL: Final = 0.01
"""Seconds between two looks at it."""


class Leftovers:
    """Adopts what the spawners leave, from its making on; one for a process, which has no other children."""

    def __init__(self) -> None:
        self._others = frozenset(processes.children(os.getpid()))  # of whatever this program was before
        processes.adopt_orphans()

    async def end(self) -> None:
        """End it all; there must be no spawner."""
        deadline = time.monotonic() + LIMIT
        while self._is_any_left() and time.monotonic() < deadline:  # noqa: ASYNC110 - no event tells of the end
            await asyncio.sleep(INTERVAL)

    def end_now(self) -> None:
        """The same where no loop runs any more."""
        deadline = time.monotonic() + LIMIT
        while self._is_any_left() and time.monotonic() < deadline:
            time.sleep(INTERVAL)

    def _is_any_left(self) -> bool:
        ours = [pid for pid in processes.children(os.getpid()) if pid not in self._others]
        processes.kill_trees(ours)
        for pid in ours:
            os.waitpid(pid, os.WNOHANG)
        return bool(ours)
