"""What a session is told and what it tells: its values, without any decision."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcppd.core.batches import Batch
from mcppd.core.jsonrpc import Id


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Who we are, as every client is told."""

    name: str
    version: str
    title: str | None = None
    instructions: str | None = None


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """Who a client says it is; for display and logs, never for decisions."""

    name: str
    version: str


@dataclass(slots=True, eq=False)
class Ticket:
    """One request that is being served; compared by identity, changed by its session only."""

    id: Id
    method: str
    revision: str
    client: ClientInfo | None = None
    progress_token: Id | None = None
    batch: Batch | None = field(default=None, repr=False)
    cancelled: bool = False
    progress: float | None = None  # the last that was sent


@dataclass(frozen=True, slots=True)
class ToolsPage:
    """One page of tools: a JSON array, encoded for the ticket's revision."""

    tools: bytes
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Send:
    """Write this: a whole line, newline included."""

    data: bytes


@dataclass(frozen=True, slots=True)
class CallTool:
    """Call a tool, then `finish` the ticket."""

    ticket: Ticket
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ListTools:
    """List the tools from a cursor on, then `finish` the ticket with a ToolsPage."""

    ticket: Ticket
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop serving this ticket; no answer to it will be sent."""

    ticket: Ticket


@dataclass(frozen=True, slots=True)
class Hello:
    """The shim introduced itself. The params hold its environment and are kept nowhere else (D20)."""

    params: dict[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True)
class End:
    """The agent will ask nothing more: answer what is in flight, then close."""


@dataclass(frozen=True, slots=True)
class Close:
    """The client asked to be closed."""


@dataclass(frozen=True, slots=True)
class Roots:
    """The client's roots, as it named them; none where it has none or won't say."""

    uris: tuple[str, ...]


Effect: TypeAlias = Send | CallTool | ListTools | Cancel | Hello | End | Close | Roots
