"""What a session is told and what it tells: its values, without any decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from mcppd.core.batches import Batch
from mcppd.core.jsonrpc import Id
from mcppd.core.kinds import Kind
from mcppd.core.values import value


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """Who we are, as every client is told."""

    name: str
    version: str
    title: str | None = None
    instructions: str | None = None
    icons: tuple[Mapping[str, Any], ...] = ()  # MCP's Icon


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
    capabilities: Mapping[str, Any] = field(default_factory=dict)  # MCP's ClientCapabilities
    modern: bool = False
    log_level: str | None = None  # a modern request's; legacy ones have their session's


# What answers a ticket, beside ToolResult, ProtocolError and a mapping


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list: a JSON array, encoded for the ticket's revision, without a line break."""

    kind: Kind
    items: bytes
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Encoded:
    """What a worker made of a request, as JSON text.

    prompt: a whole GetPromptResult; contents: the array of a ReadResourceResult; completion: the object
    {values, total?, hasMore?} of a CompleteResult.
    """

    kind: Literal["prompt", "contents", "completion"]
    body: bytes


@dataclass(frozen=True, slots=True)
class InputRequired:
    """Questions to the client of a modern request, who sends it again with the answers (InputRequiredResult)."""

    requests: Mapping[str, Mapping[str, Any]]
    state: str


# What follows from a message


@value
class Send:
    """Write this: a whole line, newline included."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Retry:
    """What a modern client sends with a request again: `inputResponses` and `requestState`, as it says them."""

    responses: Mapping[str, Any]
    state: str | None


@value
class CallTool:
    """Call a tool, then `finish` the ticket."""

    ticket: Ticket
    name: str
    arguments: dict[str, Any]
    retry: Retry | None = None


@value
class GetPrompt:
    """Get a prompt, then `finish` the ticket."""

    ticket: Ticket
    name: str
    arguments: dict[str, str]
    retry: Retry | None = None


@value
class ReadResource:
    """Read a resource, then `finish` the ticket."""

    ticket: Ticket
    uri: str
    retry: Retry | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """What is being completed: a prompt by its name, or a resource by its URI or its template."""

    kind: Literal["ref/prompt", "ref/resource"]
    name: str


@value
class Complete:
    """Complete the value of an argument, then `finish` the ticket."""

    ticket: Ticket
    ref: Reference
    argument: str  # its name
    value: str  # so far
    known: dict[str, str]  # the other arguments, as far as they are settled


@value
class List:
    """List what there is of a kind from a cursor on, then `finish` the ticket with a Page."""

    ticket: Ticket
    kind: Kind
    cursor: str | None


@dataclass(frozen=True, slots=True)
class Replied:
    """The client answered a question that was put by `Session.ask`; either a result or an error."""

    question: str
    result: Any
    error: str | None


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


Work: TypeAlias = CallTool | GetPrompt | ReadResource | Complete | List
"""An effect that its ticket waits for."""

Effect: TypeAlias = Send | Work | Replied | Cancel | Hello | End | Close | Roots
