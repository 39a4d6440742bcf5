"""Handing over: how a daemon ends, or is followed by another without a moment in which nobody answers.

Of the two sides of a restart, the one that follows has loaded everything before it asks (`mcppd/restart`). The one that
ends then lets its calls end, while it accepts and answers all else, and leaves the lock. The other takes it, puts its
sockets in the place of the old ones and says so (`mcppd/moved`); then every shim moves at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from enum import IntEnum
from typing import Final

import mcppd
from mcppd.client import Client, ClientError, ConnectionLostError, RemoteError
from mcppd.core.errors import McppdError
from mcppd.door import Door
from mcppd.serving.server import AgentServer
from mcppd.transport.lock import AlreadyRunningError

logger = logging.getLogger("mcppd")

DRAIN_LIMIT: Final = 10.0
"""Seconds that running calls may take to end when the daemon stops."""
LAST_WORDS_LIMIT: Final = 1.0
"""Seconds to answer those that did not: their workers are gone by then, so only the writing is left."""
MOVING_LIMIT: Final = 2.0
"""Seconds that shims have to go when they were told to: each needs a few milliseconds, and goes by itself after 2 s."""
LAST_TASKS_LIMIT: Final = 1.0
"""Seconds for what is left to do when everything is closed, such as the last lines of a log."""
LOCK_LIMIT: Final = 2.0
"""Seconds in which the one that follows must have the lock once it is free: only a third one can keep it away."""
FOLLOWED_LIMIT: Final = 5.0
"""Seconds until the one that follows must have said that it listens: it lacks the lock and the sockets only."""
RESTART_LIMIT: Final = 30.0
"""Seconds for the answer to `mcppd/restart`: the calls that run may end first."""
IDLE_LIMIT: Final = 1800.0
"""Seconds without anybody connected after which a daemon that an agent started ends: longer than a person's pause."""
INTERVAL: Final = 0.01
"""Seconds between two tries at the lock."""


class NotFollowedError(McppdError):
    """The daemon that runs isn't followed by another; the text says why."""


class Ending(IntEnum):
    """Why a daemon ends; what is greater holds where there are two."""

    RESTART = 1  # another follows, and is there already
    END = 2  # a signal from whoever looks after it, or nobody needs it: shims may start another
    STOP = 3  # a person wants none


WORDS: Final = {Ending.RESTART: "restarted", Ending.END: "ended", Ending.STOP: "stopped"}


class Leaving:
    """The way out of a daemon, from the first reason to the last goodbye."""

    def __init__(self, agents: AgentServer, door: Door) -> None:
        self.reason: Ending | None = None
        self._agents = agents
        self._door = door
        self._begun = asyncio.Event()
        self._free = asyncio.Event()  # the lock is
        self._moved = asyncio.Event()

    def begin(self, reason: Ending) -> None:
        """Let no call begin any more; the rest is answered till the end."""
        if self.reason is not None and reason <= self.reason:
            return
        self.reason = reason
        if reason is Ending.STOP:
            self._agents.say_stopped()
        self._agents.begin_drain(WORDS[reason])
        self._begun.set()

    async def wait(self) -> None:
        """Wait until there is a reason to end, the calls that ran then have ended, and whoever follows is there."""
        while True:
            await self._begun.wait()
            await self._agents.drain(DRAIN_LIMIT)
            if self.reason is not Ending.RESTART or await self._is_followed():
                self._free.set()
                return
            self._stay()

    async def wait_idle(self) -> None:
        """Wait until nobody has been connected for so long that nobody will miss us."""
        while True:
            await self._agents.wait_empty()
            if not await self._agents.is_visited(IDLE_LIMIT):
                return

    async def say_goodbye(self) -> None:
        """Leave the door to others and send everybody there; no call runs any more."""
        await self._agents.drain(LAST_WORDS_LIMIT)
        await self._door.leave()
        self._agents.hand_over()
        await self._agents.wait_empty(MOVING_LIMIT)

    async def give_way(self) -> None:
        """Let another daemon follow: comes back when it can take the lock. Raises NotFollowedError."""
        self.begin(Ending.RESTART)
        async with asyncio.timeout(RESTART_LIMIT):
            await self._free.wait()
        if self.reason is not Ending.RESTART:
            raise NotFollowedError(f"the daemon is being {WORDS[self.reason or Ending.END]}: none follows it")

    def moved(self) -> None:
        """The one that follows listens."""
        self._moved.set()

    async def _is_followed(self) -> bool:
        """Leave the lock to the one that follows; whether it has come, or somebody else has."""
        self._moved.clear()  # whoever said so before meant nothing
        self._door.release_lock()
        self._free.set()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FOLLOWED_LIMIT):
                await self._moved.wait()
        return not self._takes_back()  # whatever was said: who follows holds the lock

    def _takes_back(self) -> bool:
        try:
            self._door.take_lock()
        except (AlreadyRunningError, OSError):
            return False  # whoever has it is the daemon
        return True

    def _stay(self) -> None:
        """The one that should follow has ended: go on, and have the shims ask us again what they were given back."""
        logger.warning("the daemon that was to follow has not come; this one goes on")
        self.reason = None
        for event in (self._begun, self._free, self._moved):
            event.clear()
        self._door.reclaim()
        self._agents.hand_over()
        self._agents.stay()


class Following:
    """The daemon that runs, for the one that is to follow it and has loaded everything."""

    def __init__(self, door: Door, control: str) -> None:
        self._door = door
        self._control = control
        self._client: Client | None = None

    async def take_lock(self) -> None:
        """Have the calls of the one that runs end, and take the lock. Raises NotFollowedError, OSError."""
        try:
            self._client = await Client.control(self._control)
            params = {"pid": os.getpid(), "version": mcppd.__version__}
            await self._client.request("mcppd/restart", params, limit=RESTART_LIMIT)
        except RemoteError as error:
            raise NotFollowedError(f"the daemon that runs makes no place: {error.message}") from None
        except (OSError, ConnectionLostError):
            pass  # it has ended, or nobody can reach it: the lock tells
        except ClientError as error:
            raise NotFollowedError(f"the daemon that runs makes no place: {error}") from None
        await self._have_lock()

    async def say_moved(self) -> None:
        """Tell the one that runs that we listen in its place."""
        if self._client is None:
            return
        try:
            await self._client.request("mcppd/moved", limit=FOLLOWED_LIMIT)
            await self._client.close()
        except ClientError as error:
            logger.warning("the daemon before this one ended without a word: %s", error)

    async def _have_lock(self) -> None:
        deadline = asyncio.get_running_loop().time() + LOCK_LIMIT
        while True:
            try:
                self._door.take_lock()
            except AlreadyRunningError as error:
                if asyncio.get_running_loop().time() > deadline:
                    raise NotFollowedError(str(error)) from None
                await asyncio.sleep(INTERVAL)
            else:
                return
