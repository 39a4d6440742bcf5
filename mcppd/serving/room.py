"""What a connection needs of the server that accepted it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from mcppd.core.calls import AgentEnvironment
from mcppd.core.kinds import Kind
from mcppd.core.results import ToolResult
from mcppd.serving.answers import Answers
from mcppd.serving.asking import Signing

if TYPE_CHECKING:
    from mcppd.serving.connection import Connection


class Room(Protocol):
    """What a connection needs of the server that accepted it."""

    @property
    def answers(self) -> Answers:
        """Who answers."""
        ...

    @property
    def registry(self) -> str:
        """The real path of the registry that is served."""
        ...

    def serves(self, registry: str) -> bool:
        """Whether this is the real path of the registry that is served."""
        ...

    @property
    def signing(self) -> Signing:
        """What goes through clients and back is signed with this."""
        ...

    @property
    def lists(self) -> Mapping[Kind, str] | None:
        """The hashes of the lists that are served; None before there are any."""
        ...

    @property
    def refusal(self) -> ToolResult | None:
        """What a call gets where none may begin any more and no shim keeps it; None while calls may begin."""
        ...

    @property
    def is_stopped(self) -> bool:
        """A person stopped the daemon: no shim starts another."""
        ...

    @property
    def is_moving(self) -> bool:
        """Shims are to go to the next daemon."""
        ...

    def environment(self, agent: dict[str, str]) -> AgentEnvironment:
        """The environment of calls for an agent with this one."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something in a task that has an owner."""
        ...

    def introduced(self, connection: Connection) -> None:
        """A client has said who it is."""

    def left(self, connection: Connection) -> None:
        """A connection is gone."""
