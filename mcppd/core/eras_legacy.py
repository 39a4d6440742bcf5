"""The legacy era: the handshake, and what a server may ask its client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcppd.core.effects import ClientInfo, Replied, Roots, ServerInfo
from mcppd.core.eras import LEGACY, NEWEST_LEGACY, capabilities
from mcppd.core.eras_results import implementation
from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.jsonrpc import Response, encode_notification, encode_request, encode_value


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a client's `initialize` settles."""

    revision: str
    client: ClientInfo | None
    capabilities: Mapping[str, Any]  # MCP's ClientCapabilities


def read_initialize(params: Mapping[str, Any]) -> Handshake:
    """What `initialize` settles: the version asked for if we have it, else our newest.

    Raises ProtocolError without a version, as every SDK does; an integer is taken, as one of them takes it. A
    missing clientInfo or missing capabilities are no reason to refuse: a refused client can do nothing.
    """
    requested = params.get("protocolVersion")
    if not isinstance(requested, str | int) or isinstance(requested, bool):
        text = f"Invalid params: protocolVersion must be a string such as {NEWEST_LEGACY}"
        raise ProtocolError(INVALID_PARAMS, text)
    declared = params.get("capabilities")
    return Handshake(
        revision=requested if isinstance(requested, str) and requested in LEGACY else NEWEST_LEGACY,
        client=read_client(params.get("clientInfo")),
        capabilities=declared if isinstance(declared, dict) else {},
    )


def read_client(info: Any) -> ClientInfo | None:
    """MCP's Implementation of a client, None if it has no name."""
    if not isinstance(info, dict) or not isinstance(name := info.get("name"), str):
        return None
    version = info.get("version")
    return ClientInfo(name, version if isinstance(version, str) else "")


def initialize_result(server: ServerInfo, revision: str) -> dict[str, Any]:
    """An InitializeResult."""
    result: dict[str, Any] = {
        "protocolVersion": revision,
        "capabilities": capabilities(revision),
        "serverInfo": implementation(server, revision),
    }
    if server.instructions:
        result["instructions"] = server.instructions
    return result


class Questions:
    """What a client was asked and hasn't answered, for the session itself (its roots) and for calls.

    Of the questions for the roots only the newest counts. The ids begin with `prefix`, so that an answer to another
    run of the daemon is never taken for one to this.
    """

    __slots__ = ("_asked", "_count", "_prefix", "_roots")

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._count = 0
        self._roots: str | None = None
        self._asked: set[str] = set()

    @property
    def wants_roots(self) -> bool:
        """Whether an answer about the roots is awaited."""
        return self._roots is not None

    def forget_roots(self) -> None:
        """A new handshake: the roots that were asked for before don't matter any more."""
        self._roots = None

    def ask_roots(self) -> bytes:
        """A new question for the client's roots."""
        self._roots = self._next("roots")
        return encode_request(self._roots, "roots/list")

    def ask(self, method: str, params: Mapping[str, Any]) -> tuple[str, bytes]:
        """A question of a call: its id and the request."""
        question = self._next("ask")
        self._asked.add(question)
        return question, encode_request(question, method, encode_value(params) if params else None)

    def drop(self, question: str) -> bytes | None:
        """Take back a question of a call: the notification that says so, None where it is answered."""
        if question not in self._asked:
            return None
        self._asked.remove(question)
        return encode_notification("notifications/cancelled", b'{"requestId":%b}' % encode_value(question))

    def read(self, response: Response) -> Roots | Replied | None:
        """What a response tells, None if it answers nothing that is (still) asked."""
        if response.id is not None and response.id == self._roots:
            self._roots = None
            return Roots(_roots_in(response.result))  # none in an error, or in what can't be read
        if not isinstance(response.id, str) or response.id not in self._asked:
            return None
        self._asked.remove(response.id)
        error = None if response.error is None else _error_text(response.error)
        return Replied(response.id, response.result, error)

    def _next(self, about: str) -> str:
        self._count += 1
        return f"{self._prefix}:{about}:{self._count}"


def _roots_in(result: Any) -> tuple[str, ...]:
    match result:
        case {"roots": [*roots]}:
            found = [root.get("uri") for root in roots if isinstance(root, dict)]
            return tuple(uri for uri in found if isinstance(uri, str))
        case _:
            return ()


def _error_text(error: Any) -> str:
    match error:
        case {"code": int(code), "message": str(message)}:
            return f"{message} ({code})"
        case _:
            return "an error that says nothing"
