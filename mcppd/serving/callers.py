"""Callers: who a request comes from, and what its call carries of them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Final

from mcppd.core.calls import AgentEnvironment, CallContext, Spent
from mcppd.core.effects import Ticket
from mcppd.core.modules import Module
from mcppd.core.values import value
from mcppd.core.workspace import Hints, choose_workspace
from mcppd.serving.callbacks import Callbacks

ROOTS_LIMIT: Final = 1.0
"""Seconds a first call waits for the client's roots (CONTRACT: Workspace)."""


@dataclass(slots=True, eq=False)
class Caller:
    """One connected client, as calls see it; changed by its connection only."""

    session: str
    environment: AgentEnvironment
    hints: Hints = field(default_factory=Hints)
    meta_tools: bool = False
    roots: tuple[str, ...] = ()
    roots_known: asyncio.Event = field(default_factory=asyncio.Event)
    _chosen: tuple[Hints, AgentEnvironment, tuple[str, ...], str, str] | None = (
        None  # a workspace, and by what
    )

    def workspace(self, scope: str) -> str:
        """Where calls of a module of this scope work. Raises ToolError where a local one would have no workspace."""
        by = self._chosen  # as long as it is by the same, it is the same: nobody changes those
        if (
            by is None
            or by[0] is not self.hints
            or by[1] is not self.environment
            or by[2:4] != (self.roots, scope)
        ):
            path = choose_workspace(self.hints, self.environment.get, self.roots, scope)
            by = self._chosen = self.hints, self.environment, self.roots, scope, path
        return by[4]


@value
class Origin:
    """Where a request comes from, and how its client is reached while it is served."""

    caller: Caller
    ticket: Ticket
    callbacks: Callbacks
    spent: Spent = field(default_factory=Spent)

    async def context(self, module: Module) -> CallContext:
        """What a call of a module carries. Raises ToolError where a local one would have no workspace."""
        caller, client = self.caller, self.ticket.client
        if not caller.roots_known.is_set():
            try:
                async with asyncio.timeout(ROOTS_LIMIT):
                    await caller.roots_known.wait()
            except TimeoutError:
                caller.roots_known.set()  # a client that doesn't answer is asked for nothing more
        return CallContext(
            session=caller.session,
            client_name=client.name if client else "unknown",
            client_version=client.version if client else "",
            workspace=caller.workspace(module.scope),
            environment=caller.environment,
            progress=self.callbacks.progress,
            log=self.callbacks.log,
            log_level=self.callbacks.log_level,
            ask=self.callbacks.ask,
            capabilities=self.ticket.capabilities,
            spent=self.spent,
        )

    @property
    def silent(self) -> Origin:
        """The same for what the client hasn't asked for by itself: it is neither told nor asked anything."""
        return Origin(self.caller, self.ticket, Callbacks())
