"""One client's conversation: lines in, effects out; answers in, lines out.

It decides for each message which era it belongs to and never locks one (D9). It never calls out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from mcppd.core.batches import Batch
from mcppd.core.draining import CALL, Draining, resend
from mcppd.core.effects import ClientInfo, Close, Effect, End, Hello, List, Send, ServerInfo, Ticket
from mcppd.core.eras import NEWEST_LEGACY, allows_batches, knows_method
from mcppd.core.eras_legacy import Questions, initialize_result, read_initialize
from mcppd.core.eras_modern import Envelope, discover_result, read_envelope
from mcppd.core.eras_results import Answer, ResultEncoder
from mcppd.core.errors import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR, SHOWN, ProtocolError, ToolError
from mcppd.core.framing import MAX_LINE
from mcppd.core.jsonrpc import (
    Invalid,
    Message,
    Notification,
    Request,
    Response,
    decode,
    encode_error,
    encode_result,
    is_id,
)
from mcppd.core.kinds import Kind
from mcppd.core.known_lists import KnownLists
from mcppd.core.requests import read_level, read_uri, read_work
from mcppd.core.speaking import Speech
from mcppd.core.subscriptions import Subscriptions
from mcppd.core.tickets import Tickets


class Session:
    """The conversation with one client over one connection."""

    def __init__(self, server: Callable[[], ServerInfo], prefix: str = "mcppd") -> None:
        self.client: ClientInfo | None = None  # of the handshake; a modern request's is on its ticket
        self.revision = NEWEST_LEGACY  # of legacy requests: the handshake's
        self.initialized = False
        self.has_given_back = False  # some request, which the client still waits for
        self._server = server  # asked anew where instructions are told: a reload changes them
        self._is_first = True  # nothing has been received yet
        self._capabilities: Mapping[str, Any] = {}  # of the client, in its handshake
        self._questions = Questions(prefix)
        self._draining: Draining | None = None
        info = server()
        self._subscriptions = Subscriptions(info)
        self._encoder = ResultEncoder(info)
        self._tickets = Tickets(self._encoder)
        self.speech = Speech(self._tickets)

    @property
    def has_begun(self) -> bool:
        """Whether anything has been received."""
        return not self._is_first

    @property
    def in_flight(self) -> int:
        """How many requests are being served; open listens are none of them."""
        return len(self._tickets)

    @property
    def wants_roots(self) -> bool:
        """Whether the client was asked for its roots and hasn't answered."""
        return self._questions.wants_roots

    def receive(self, line: bytes) -> list[Effect]:
        """What follows from a line of the client's, in this order."""
        message = decode(line)
        if message is None:
            return []
        is_first, self._is_first = self._is_first, False
        if self._draining is not None and (unbegun := self._draining.unbegun(message)) is not None:
            self.has_given_back = True
            return [Send(resend(unbegun) + b"\n")]
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
        return b"".join(self.finish_in_parts(ticket, answer)) or None

    def finish_in_parts(self, ticket: Ticket, answer: Answer) -> list[bytes]:
        """The same in parts, none instead of None: a list may be as large as half a megabyte."""
        return self._tickets.finish(ticket, answer)

    def ask(self, ticket: Ticket, method: str, params: Mapping[str, Any]) -> tuple[str, bytes]:
        """Ask the client something for a ticket of the legacy era: the question's id and the request.

        It is over with its `Replied`, or with `drop_question`. Raises ToolError where nobody waits any more.
        """
        if not self._tickets.is_open(ticket):
            raise ToolError("Error: this call has ended; nothing can be asked for it.")
        question, request = self._questions.ask(method, params)
        return question, request + b"\n"

    def drop_question(self, question: str) -> bytes | None:
        """Take a question back: what tells the client so, None if it has answered; a late answer is dropped."""
        line = self._questions.drop(question)
        return None if line is None else line + b"\n"

    def list_changed(self, kinds: Collection[Kind]) -> list[bytes]:
        """The lines that say that the lists of these kinds have changed."""
        return _lines(self._subscriptions.list_changed(kinds, unsolicited=self.initialized))

    def resource_updated(self, uri: str) -> list[bytes]:
        """The lines that say that a resource has changed, if the client subscribed to it."""
        return _lines(self._subscriptions.resource_updated(uri, unsolicited=self.initialized))

    @property
    def lists(self) -> KnownLists:
        """What the client has of them."""
        return self._subscriptions.known

    def compare_lists(self, known: Any, served: Mapping[Kind, str]) -> list[bytes]:
        """Take in which lists the client has from another daemon; the lines that say so where others are served now.

        Whoever can't be told yet is told when that is: at `notifications/initialized`, and each listen when it opens.
        """
        self.lists.compare(known, served)
        return self.list_changed(self.lists.outdated)

    def drain(self, draining: Draining) -> None:
        """Begin no call from now on."""
        self._draining = draining

    def give_back(self, ticket: Ticket) -> bytes | None:
        """The line that gives a request back which was not begun; None if that can't be any more."""
        line = self._tickets.give_back(ticket)
        self.has_given_back = self.has_given_back or line is not None
        return line

    def end_listens(self) -> list[bytes]:
        """The lines that end every open listen, at shutdown."""
        return _lines(self._subscriptions.end())

    def _on_batch(self, messages: tuple[Message, ...]) -> list[Effect]:
        if not messages or not allows_batches(self.revision):
            text = "Invalid request: a batch belongs to revision 2025-03-26 only, and has something in it"
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
                told = self._questions.read(message)
                return [] if told is None else [told]
            case Invalid(ident, code, text):
                return _answered(encode_error(ident, code, text), batch)

    def _on_request(self, request: Request, batch: Batch | None) -> list[Effect]:
        try:
            return self._serve(request, self._admit(request, batch), batch)
        except ProtocolError as error:
            return _answered(encode_error(request.id, error.code, error.message, error.data), batch)

    def _admit(self, request: Request, batch: Batch | None) -> Envelope | None:
        """The envelope of a request that may be served now. Raises ProtocolError."""
        if request.id in self._tickets or self._subscriptions.is_listen(request.id):
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
        if request.method == "subscriptions/listen":
            acknowledged = self._subscriptions.listen(request.id, request.params)
            return [Send(line) for line in _lines([acknowledged, *self._subscriptions.catch_up(request.id)])]
        work = read_work(request.method, request.params, modern=envelope is not None)
        if work is None:
            return self._answer_at_once(request, revision, batch)
        effect = work(self._ticket(request, envelope, batch))
        if isinstance(effect, List) and effect.cursor is None:
            self.lists.listed(effect.kind)
        if self._draining is not None and request.method == CALL:
            line = self.finish(effect.ticket, self._draining.refusal)
            return [] if line is None else [Send(line)]
        return [effect]

    def _answer_at_once(self, request: Request, revision: str, batch: Batch | None) -> list[Effect]:
        """Answer what needs nothing but the session itself. Raises ProtocolError."""
        result: Mapping[str, Any] = {}  # of ping and all that only has an effect
        after: list[Effect] = []
        match request.method:
            case "initialize":
                result = self._initialize(request.params)
            case "server/discover":
                result = discover_result(self._server(), revision)
            case "logging/setLevel":
                self.speech.set_level(read_level(request.params))
            case "resources/subscribe":
                self._subscriptions.subscribe(read_uri(request.params))
            case "resources/unsubscribe":
                self._subscriptions.unsubscribe(read_uri(request.params))
            case "exit":
                after = [Close()]
        return _answered(encode_result(request.id, self._encoder.result(result, revision)), batch) + after

    def _initialize(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """A handshake, the first or another: what the last one settled is gone, what is in flight goes on."""
        handshake = read_initialize(params)
        self.revision, self.client = handshake.revision, handshake.client
        self.initialized = False  # till its own notifications/initialized
        self._capabilities = handshake.capabilities
        self.speech.forget()
        self._questions.forget_roots()
        self._subscriptions.forget()
        return initialize_result(self._server(), self.revision)

    def _on_notification(self, notification: Notification) -> list[Effect]:
        match notification.method:
            case "notifications/cancelled":
                return self._cancel(notification.params.get("requestId"))
            case "notifications/initialized" if not self.initialized:
                self.initialized = self.speech.is_initialized = True
                return [*map(Send, _lines(self._subscriptions.catch_up())), *self._ask_roots()]
            case "notifications/roots/list_changed" if self.initialized:
                return self._ask_roots()
            case "mcppd/end":
                return [End()]
            case "exit":
                return [Close()]
            case _:
                return []  # notifications are never answered, known or not

    def _ask_roots(self) -> list[Effect]:
        has_roots = isinstance(self._capabilities.get("roots"), Mapping)
        return [Send(self._questions.ask_roots() + b"\n")] if has_roots else []

    def _cancel(self, ident: Any) -> list[Effect]:
        """Cancel a request or a listen; ids of nothing (any more) come from races and are ignored."""
        is_over = not is_id(ident) or self._subscriptions.close(ident)
        return [] if is_over else self._tickets.cancel(ident)

    def _ticket(self, request: Request, envelope: Envelope | None, batch: Batch | None) -> Ticket:
        token = (request.params.get("_meta") or {}).get("progressToken")
        return self._tickets.open(
            Ticket(
                request.id,
                request.method,
                self.revision if envelope is None else envelope.revision,
                self.client if envelope is None else envelope.client,
                token if is_id(token) else None,
                batch,
                capabilities=self._capabilities if envelope is None else envelope.capabilities,
                modern=envelope is not None,
                log_level=None if envelope is None else envelope.log_level,
            )
        )


def _answered(answer: bytes, batch: Batch | None) -> list[Effect]:
    """The effects of an answer: sent, or gathered by its batch."""
    return _sent(answer if batch is None else batch.add(answer))


def _sent(message: bytes | None) -> list[Effect]:
    return [] if message is None else [Send(message + b"\n")]


def _lines(messages: list[bytes]) -> list[bytes]:
    return [message + b"\n" for message in messages]
