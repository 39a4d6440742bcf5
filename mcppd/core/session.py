"""One client's conversation: lines in, effects out; answers in, lines out.

It decides for each message which era it belongs to and never locks one (D9). It never calls out.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final, TypeAlias

from mcppd.core.batches import Batch
from mcppd.core.effects import (
    CallTool,
    Cancel,
    ClientInfo,
    Close,
    Effect,
    End,
    Hello,
    ListTools,
    Roots,
    Send,
    ServerInfo,
    Ticket,
    ToolsPage,
)
from mcppd.core.eras import NEWEST_LEGACY, REVISIONS, allows_batches, knows_method
from mcppd.core.eras_legacy import RootsQuestion, initialize_result, read_initialize
from mcppd.core.eras_modern import SHOWN, Envelope, Listens, discover_result, read_envelope
from mcppd.core.eras_results import ResultEncoder, implementation
from mcppd.core.errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, ProtocolError
from mcppd.core.framing import MAX_LINE
from mcppd.core.jsonrpc import (
    Id,
    Invalid,
    Message,
    Notification,
    Request,
    Response,
    decode,
    encode_error,
    encode_id,
    encode_notification,
    encode_result,
    encode_value,
    is_id,
)
from mcppd.core.requests import read_call, read_cursor
from mcppd.core.results import ToolResult

__all__ = [
    "Answer",
    "CallTool",
    "Cancel",
    "ClientInfo",
    "Close",
    "Effect",
    "End",
    "Hello",
    "ListTools",
    "Roots",
    "Send",
    "ServerInfo",
    "Session",
    "Ticket",
    "ToolsPage",
]

Answer: TypeAlias = ToolResult | ToolsPage | ProtocolError | Mapping[str, Any]

_TOOLS_CHANGED: Final = encode_notification("notifications/tools/list_changed") + b"\n"


class Session:
    """The conversation with one client over one connection."""

    def __init__(self, server: ServerInfo) -> None:
        self.server = server
        self.client: ClientInfo | None = None  # of the handshake; a modern request's is on its ticket
        self.revision = NEWEST_LEGACY  # of legacy requests: the handshake's
        self.initialized = False
        self._is_first = True  # nothing has been received yet
        self._tickets: dict[Id, Ticket] = {}
        self._roots = RootsQuestion()
        self._listens = Listens(implementation(server))
        self._encoder = ResultEncoder(server)

    @property
    def in_flight(self) -> int:
        """How many requests are being served; open listens are none of them."""
        return len(self._tickets)

    @property
    def wants_roots(self) -> bool:
        """Whether the client was asked for its roots and hasn't answered."""
        return self._roots.is_open

    def receive(self, line: bytes) -> list[Effect]:
        """What follows from a line of the client's, in this order."""
        message = decode(line)
        if message is None:
            return []
        is_first, self._is_first = self._is_first, False
        match message:
            case Notification("mcppd/hello", params):
                return [Hello(params)] if is_first else []
            case tuple():
                return self._on_batch(message)
            case _:
                return self._on_message(message, None)

    def overlong(self, limit: int = MAX_LINE) -> list[Effect]:
        """What follows from a line that went over the limit and was thrown away."""
        self._is_first = False
        text = f"Parse error: a line may have {limit} bytes at most; send large values as files"
        return [Send(encode_error(None, PARSE_ERROR, text) + b"\n")]

    def finish(self, ticket: Ticket, answer: Answer) -> bytes | None:
        """The line that answers a ticket; None if it is cancelled or answered, or its batch lacks one."""
        if self._tickets.get(ticket.id) is not ticket:
            return None
        encoded = self._encode(ticket, answer)
        del self._tickets[ticket.id]
        whole = encoded if ticket.batch is None else ticket.batch.add(encoded)
        return None if whole is None else whole + b"\n"

    def progress(
        self, ticket: Ticket, progress: float, total: float | None = None, message: str | None = None
    ) -> bytes | None:
        """The progress notification of a ticket, if one was asked for and it says more than the last."""
        token = ticket.progress_token
        if token is None or self._tickets.get(ticket.id) is not ticket or not _is_number(progress):
            return None
        if ticket.progress is not None and progress <= ticket.progress:
            return None
        ticket.progress = progress
        params = b'{"progressToken":%b,"progress":%b' % (encode_id(token), encode_value(progress))
        if total is not None and _is_number(total):
            params += b',"total":' + encode_value(total)
        if isinstance(message, str) and REVISIONS[ticket.revision].progress_messages:
            params += b',"message":' + encode_value(message)
        return encode_notification("notifications/progress", params + b"}") + b"\n"

    def tools_changed(self) -> list[bytes]:
        """The notifications that say that the list of tools has changed."""
        unsolicited = [_TOOLS_CHANGED] if self.initialized else []
        return unsolicited + [message + b"\n" for message in self._listens.tools_changed()]

    def end_listens(self) -> list[bytes]:
        """The messages that end every open listen, at shutdown."""
        return [message + b"\n" for message in self._listens.end()]

    def _encode(self, ticket: Ticket, answer: Answer) -> bytes:
        match answer:
            case ProtocolError():
                return encode_error(ticket.id, answer.code, answer.message, answer.data)
            case ToolResult():
                result = self._encoder.tool_result(answer, ticket.revision)
            case ToolsPage():
                result = self._encoder.tools_page(answer, ticket.revision)
            case _:
                result = self._encoder.result(answer, ticket.revision)
        return encode_result(ticket.id, result)

    def _on_batch(self, messages: tuple[Message, ...]) -> list[Effect]:
        if not messages or not allows_batches(self.revision):
            text = "Invalid request: batches belong to revision 2025-03-26 only, and have something in them"
            return [Send(encode_error(None, INVALID_REQUEST, text) + b"\n")]
        batch = Batch()
        effects = [effect for message in messages for effect in self._on_message(message, batch)]
        effects += _sent(batch.seal())
        effects.sort(key=lambda effect: isinstance(effect, Close))  # the answers come before closing
        return effects

    def _on_message(self, message: Message, batch: Batch | None) -> list[Effect]:
        if batch is not None and isinstance(message, Request | Invalid):
            batch.expect()
        match message:
            case Request():
                return self._on_request(message, batch)
            case Notification():
                return self._on_notification(message)
            case Response():
                roots = self._roots.read(message)
                return [] if roots is None else [Roots(roots)]
            case Invalid(ident, code, text):
                return _answered(encode_error(ident, code, text), batch)

    def _on_request(self, request: Request, batch: Batch | None) -> list[Effect]:
        try:
            return self._serve(request, self._admit(request, batch), batch)
        except ProtocolError as error:
            return _answered(encode_error(request.id, error.code, error.message, error.data), batch)

    def _admit(self, request: Request, batch: Batch | None) -> Envelope | None:
        """The envelope of a request that may be served now. Raises ProtocolError."""
        if request.id in self._tickets or request.id in self._listens:
            raise ProtocolError(INVALID_REQUEST, "Invalid request: a request with this id is still open")
        envelope = read_envelope(request.method, request.params)
        if batch is not None and (envelope is not None or request.method == "initialize"):
            raise ProtocolError(INVALID_REQUEST, "Invalid request: not in a batch; send it by itself")
        return envelope

    def _serve(self, request: Request, envelope: Envelope | None, batch: Batch | None) -> list[Effect]:
        """Serve a request in its era. Raises ProtocolError."""
        revision = self.revision if envelope is None else envelope.revision
        if not knows_method(revision, request.method):
            shown = request.method[:SHOWN]
            raise ProtocolError(METHOD_NOT_FOUND, f"Method not found: {shown}", {"method": shown})
        match request.method:
            case "tools/call":
                name, arguments = read_call(request.params)
                return [CallTool(self._ticket(request, envelope, batch), name, arguments)]
            case "tools/list":
                cursor = read_cursor(request.params)
                return [ListTools(self._ticket(request, envelope, batch), cursor)]
            case "subscriptions/listen":
                return [Send(self._listens.open(request.id, request.params) + b"\n")]
            case _:
                return self._answer_at_once(request, revision, batch)

    def _answer_at_once(self, request: Request, revision: str, batch: Batch | None) -> list[Effect]:
        """Answer what needs nothing but the session itself. Raises ProtocolError."""
        result: Mapping[str, Any] = {}  # of ping, shutdown and exit
        after: list[Effect] = []
        match request.method:
            case "initialize":
                result = self._initialize(request.params)
            case "server/discover":
                result = discover_result(self.server)
            case "exit":
                after = [Close()]
        return _answered(encode_result(request.id, self._encoder.result(result, revision)), batch) + after

    def _initialize(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """A handshake, the first or another: what the last one settled is gone, what is in flight goes on."""
        handshake = read_initialize(params)
        self.revision, self.client = handshake.revision, handshake.client
        self.initialized = False  # till its own notifications/initialized
        self._roots.forget(declared=handshake.has_roots)
        return initialize_result(self.server, self.revision)

    def _on_notification(self, notification: Notification) -> list[Effect]:
        match notification.method:
            case "notifications/cancelled":
                return self._cancel(notification.params.get("requestId"))
            case "notifications/initialized" if not self.initialized:
                self.initialized = True
                return self._ask_roots()
            case "notifications/roots/list_changed" if self.initialized:
                return self._ask_roots()
            case "mcppd/end":
                return [End()]
            case "exit":
                return [Close()]
            case _:
                return []  # notifications are never answered, known or not

    def _ask_roots(self) -> list[Effect]:
        return [Send(self._roots.ask() + b"\n")] if self._roots.declared else []

    def _cancel(self, ident: Any) -> list[Effect]:
        """Cancel a request or a listen; ids of nothing (any more) come from races and are ignored."""
        if not is_id(ident) or self._listens.close(ident):
            return []
        ticket = self._tickets.pop(ident, None)
        if ticket is None:
            return []
        ticket.cancelled = True
        return [Cancel(ticket), *_sent(ticket.batch.drop() if ticket.batch else None)]

    def _ticket(self, request: Request, envelope: Envelope | None, batch: Batch | None) -> Ticket:
        said_by = self if envelope is None else envelope
        token = (request.params.get("_meta") or {}).get("progressToken")
        if not is_id(token):
            token = None
        ticket = Ticket(request.id, request.method, said_by.revision, said_by.client, token, batch)
        self._tickets[request.id] = ticket
        return ticket


def _answered(answer: bytes, batch: Batch | None) -> list[Effect]:
    """The effects of an answer: sent, or gathered by its batch."""
    return _sent(answer if batch is None else batch.add(answer))


def _sent(message: bytes | None) -> list[Effect]:
    return [] if message is None else [Send(message + b"\n")]


def _is_number(value: Any) -> bool:
    """Whether JSON has this as a number; an integer may be of any size."""
    return type(value) is int or (type(value) is float and isfinite(value))
