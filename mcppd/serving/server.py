"""The server of agents: every connection there is, and what all of them are told."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Callable, Collection, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcppd.core.calls import AgentEnvironment
from mcppd.core.effects import ServerInfo
from mcppd.core.events import SessionEnded, SessionStarted, Tell
from mcppd.core.framing import LineFraming, Overlong
from mcppd.core.kinds import Kind
from mcppd.core.results import ToolResult, error_result
from mcppd.core.session import Session
from mcppd.serving.answers import Answers, Caller
from mcppd.serving.asking import Signing
from mcppd.serving.connection import Connection
from mcppd.serving.updates import Updates
from mcppd.transport.link import Link


@dataclass(frozen=True, slots=True)
class Identity:
    """What a daemon is, to its agents."""

    info: Callable[[], ServerInfo]  # asked anew whenever a client wants to know: instructions change
    registry: str  # the real path of what it serves
    environment: Mapping[str, str] = field(repr=False)  # its own
    key: bytes = field(repr=False)  # what is given to clients and taken back is signed with it


class AgentServer:
    """Accepts agents and keeps their connections."""

    def __init__(self, identity: Identity, answers: Answers, tasks: asyncio.TaskGroup, tell: Tell) -> None:
        self.answers = answers
        self.registry = identity.registry
        self.lists: Mapping[Kind, str] | None = None  # hashes of those that are served
        self.refusal: ToolResult | None = None
        self.is_stopped = self.is_moving = False
        self.signing = Signing(identity.key, str(os.getuid()))  # nobody else gets as far as the socket (D12)
        self._identity = identity
        self._prefix = f"mcppd-{secrets.token_hex(4)}"  # of our questions: those of another run aren't ours
        self._tasks = tasks
        self._tell = tell
        self._connections: set[Connection] = set()
        self._is_empty, self._is_visited = asyncio.Event(), asyncio.Event()
        self._is_empty.set()
        self._updates = Updates(self._tell_updated)

    def accept(self) -> Link[bytes | Overlong]:
        """A link for a new client."""
        link: Link[bytes | Overlong] = Link(LineFraming())
        caller = Caller(secrets.token_hex(8), self.environment({}))
        connection = Connection(link, Session(self._identity.info, self._prefix), caller, self)
        link.attach(connection)
        self._connections.add(connection)
        self._is_empty.clear()
        self._is_visited.set()
        return link

    def serves(self, registry: str) -> bool:
        """Whether this is the real path of the registry that is served: as it was at the start, or has become since."""
        return registry in (self.registry, os.path.realpath(self.registry))

    def environment(self, agent: dict[str, str]) -> AgentEnvironment:
        """The environment of calls for an agent with this one."""
        return AgentEnvironment(self._identity.environment, agent)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something in a task of the daemon's."""
        return self._tasks.create_task(work)

    def introduced(self, connection: Connection) -> None:
        """A client has said who it is."""
        self._tell(SessionStarted(_name(connection), _workspace(connection)))

    def left(self, connection: Connection) -> None:
        """A connection is gone."""
        self._connections.discard(connection)
        if not self._connections:
            self._is_empty.set()
            self._is_visited.clear()
        if connection.client is not None:
            seconds = time.monotonic() - connection.since
            self._tell(SessionEnded(_name(connection), connection.calls, seconds))

    def begin(self, lists: Mapping[Kind, str]) -> None:
        """There is something to serve, with these hashes of its lists."""
        self.lists = lists
        for connection in list(self._connections):
            connection.compare_lists()

    def broadcast(self, kinds: Collection[Kind], lists: Mapping[Kind, str]) -> int:
        """Tell every client that wants to know that these lists have changed; how many that were."""
        self.lists = lists
        told = sum(connection.notify_list_changed(kinds) for connection in list(self._connections))
        for connection in list(self._connections):
            connection.tell_lists()
        return told

    def log(self, level: str, logger_name: str, text: str) -> None:
        """Tell every client that asked for log messages of this level."""
        for connection in list(self._connections):
            connection.notify_log(level, logger_name, text)

    def resource_updated(self, uri: str) -> None:
        """Tell every client that subscribed to a resource that it has changed."""
        self._updates.updated(uri)

    def _tell_updated(self, uri: str) -> int:
        return sum(connection.notify_resource_updated(uri) for connection in list(self._connections))

    def begin_drain(self, what: str) -> None:
        """Let no call begin any more: the daemon is being `what`, such as "stopped"."""
        self.refusal = error_result(
            f"Error: mcppd is being {what}, so this call was not begun: connect again and ask again."
        )
        for connection in list(self._connections):
            connection.drain(self.refusal)

    async def drain(self, limit: float) -> None:
        """Wait until nothing runs that can't be repeated, but no longer than `limit` seconds."""
        running = {task for connection in self._connections for task in connection.unrepeatable}
        if running:
            await asyncio.wait(running, timeout=limit)

    def say_stopped(self) -> None:
        """A person stopped the daemon: no shim starts another."""
        self.is_stopped = True
        for connection in list(self._connections):
            connection.say_stopped()

    def hand_over(self) -> None:
        """Send the shims to whoever has the socket now, and tell the others goodbye."""
        self.is_moving = True
        for connection in list(self._connections):
            connection.hand_over()

    def stay(self) -> None:
        """The next daemon didn't come: the shims that were sent to it find us, and calls may begin."""
        self.refusal, self.is_moving = None, False

    async def wait_empty(self, limit: float | None = None) -> None:
        """Wait until everybody has gone, but no longer than `limit` seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit):
                await self._is_empty.wait()

    async def is_visited(self, limit: float) -> bool:
        """Whether anybody comes within `limit` seconds, or is there already."""
        try:
            async with asyncio.timeout(limit):
                await self._is_visited.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Say goodbye to every client."""
        for connection in list(self._connections):
            connection.say_goodbye()

    def sessions(self) -> list[dict[str, Any]]:
        """Every connected client, for the status: nothing of its environment."""
        return [_session(connection) for connection in self._connections]


def _session(connection: Connection) -> dict[str, Any]:
    client = connection.client
    return {
        "client": {"name": _name(connection), "version": client.version if client else ""},
        "workspace": _workspace(connection),
        "connected_seconds": round(time.monotonic() - connection.since, 1),
        "calls": connection.calls,
        "in_flight": connection.in_flight,
    }


def _name(connection: Connection) -> str:
    return connection.client.name if connection.client else "unknown"


def _workspace(connection: Connection) -> str | None:
    hints = connection.caller.hints
    return hints.named or hints.cwd
