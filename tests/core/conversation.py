"""A client in a test: it talks with a Session, and holds everything that comes back against the schemas."""

from __future__ import annotations

import json
from typing import Any, Final

from mcppd.core.effects import (
    CallTool,
    Complete,
    Effect,
    GetPrompt,
    List,
    Page,
    ReadResource,
    Send,
    ServerInfo,
    Ticket,
)
from mcppd.core.eras import MODERN
from mcppd.core.eras_results import Answer
from mcppd.core.results import text_result
from mcppd.core.session import Session
from tests.wire_schema import BATCHES, check_message

SERVER: Final = ServerInfo("mcppd", "1.2.3", "Tools", "Call help first.")
NEWEST: Final = MODERN[-1]
VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT: Final = "io.modelcontextprotocol/clientInfo"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"
META: Final = {VERSION: NEWEST, CAPABILITIES: {}}
OK: Final = text_result("ok")
PAGE: Final = Page("tools", b"[]")


def request(ident: Any, method: str, params: Any = None, **members: Any) -> dict[str, Any]:
    """A request as a client sends it."""
    message = {"jsonrpc": "2.0", "id": ident, "method": method, **members}
    return message if params is None else {**message, "params": params}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    """A notification as a client sends it."""
    message = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "params": params}


def modern(ident: Any, method: str, params: Any = None, **meta: Any) -> dict[str, Any]:
    """A request of the modern era."""
    return request(ident, method, {**(params or {}), "_meta": {**META, **meta}})


def call(ident: Any, name: str = "echo", **params: Any) -> dict[str, Any]:
    """A tools/call of the legacy era."""
    return request(ident, "tools/call", {"name": name, **params})


class Conversation:
    """One client and the session that serves it."""

    def __init__(self, server: ServerInfo = SERVER) -> None:
        self.server = server
        self.session = Session(lambda: self.server)
        self.methods: dict[Any, tuple[str, str]] = {}  # id of a request -> its method and revision

    def send(self, message: Any) -> list[Effect]:
        """Send a message (or raw bytes); what follows, each message of it checked."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self._remember(line)
        effects = self.session.receive(line)
        for effect in effects:
            if isinstance(effect, Send):
                self.read(effect.data)
        return effects

    def ask(self, message: Any) -> Any:
        """Send what is answered at once; the answer."""
        (effect,) = self.send(message)
        assert isinstance(effect, Send)
        return self.read(effect.data)

    def refused(self, message: Any) -> tuple[Any, int]:
        """Send what is refused; the id and the code of the error."""
        answer = self.ask(message)
        return answer["id"], answer["error"]["code"]

    def open(self, message: Any) -> Ticket:
        """Send what needs an answer from outside; its ticket."""
        (effect,) = self.send(message)
        assert isinstance(effect, CallTool | GetPrompt | ReadResource | Complete | List)
        return effect.ticket

    def finish(self, ticket: Ticket, answer: Answer = OK) -> Any:
        """Answer a ticket; what was sent, None if nothing was."""
        self.methods[ticket.id] = (ticket.method, ticket.revision)
        line = self.session.finish(ticket, answer)
        return None if line is None else self.read(line)

    def shake_hands(self, revision: str, **capabilities: Any) -> list[Effect]:
        """Initialize, and say that this was understood."""
        params = {
            "protocolVersion": revision,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "7"},
        }
        assert self.ask(request("hello", "initialize", params))["result"]["protocolVersion"] == revision
        return self.send(notification("notifications/initialized"))

    def told(self, lines: list[bytes]) -> list[Any]:
        """What lines of ours say, each of them checked."""
        return [self.read(line) for line in lines]

    def read(self, line: bytes) -> Any:
        """A line of ours: one line, and what the schemas want it to be."""
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        message = json.loads(line)
        if isinstance(message, list):
            check_message("server", BATCHES, message, closed=True)
            return message
        if "id" in message:
            assert line.startswith(b'{"jsonrpc":"2.0","id":')
        self._check(message)
        return message

    def _remember(self, line: bytes) -> None:
        try:
            messages = json.loads(line)
        except (ValueError, RecursionError):
            return
        for message in messages if isinstance(messages, list) else [messages]:
            self._remember_one(message)

    def _remember_one(self, message: Any) -> None:
        if (
            isinstance(message, dict)
            and isinstance(ident := message.get("id"), str | int)
            and "method" in message
        ):
            params = message.get("params")
            meta = params.get("_meta") if isinstance(params, dict) else None
            is_modern = isinstance(meta, dict) and VERSION in meta
            revision = NEWEST if is_modern else self.session.revision
            self.methods[ident] = (message["method"], revision)

    def _check(self, message: Any) -> None:
        if "id" in message and "method" not in message:
            method, revision = self.methods.get(message["id"], (None, NEWEST))
            if method == "initialize" and "result" in message:
                revision = message["result"]["protocolVersion"]
            check_message("server", revision, message, method, closed=True)
            return
        is_modern = (
            SUBSCRIPTION in message.get("params", {}).get("_meta", {})
            or message["method"] == "notifications/cancelled"
        )
        check_message("server", NEWEST if is_modern else self.session.revision, message, closed=True)
