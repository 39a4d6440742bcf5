"""The modern era: the envelope of each request, discovery, and subscriptions.

Nothing here outlives a request but the open listens, which are requests that stay open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcppd.core.effects import ClientInfo, ServerInfo
from mcppd.core.eras import MODERN, capabilities
from mcppd.core.eras_legacy import read_client
from mcppd.core.eras_results import CACHE, answering, implementation
from mcppd.core.errors import INVALID_PARAMS, SHOWN, UNSUPPORTED_PROTOCOL_VERSION, ProtocolError
from mcppd.core.jsonrpc import Id, encode_id, encode_notification, encode_result, encode_value
from mcppd.core.log_levels import LEVELS

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
_LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
_REQUIRED: Final = (_VERSION, _CAPABILITIES)
_ALWAYS_MODERN: Final = frozenset({"server/discover", "subscriptions/listen"})


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a modern request says about itself."""

    revision: str
    client: ClientInfo | None
    capabilities: Mapping[str, Any]  # MCP's ClientCapabilities
    log_level: str | None


def read_envelope(method: str, params: Mapping[str, Any]) -> Envelope | None:
    """The envelope of a modern request, None of a legacy one. Raises ProtocolError where it is half one."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        if meta is not None:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: _meta must be an object")
        meta = {}
    if _VERSION not in meta and _CAPABILITIES not in meta and method not in _ALWAYS_MODERN:
        return None
    revision = _read_version(meta)
    for key in _REQUIRED:
        if key not in meta:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: _meta lacks {key}", {"missing": key})
    if not isinstance(meta[_CAPABILITIES], dict):
        raise _wrong_type(_CAPABILITIES, "an object")
    if not isinstance(meta.get(_CLIENT, {}), dict):
        raise _wrong_type(_CLIENT, "an object")
    if meta.get(_LOG_LEVEL, LEVELS[0]) not in LEVELS:
        raise _wrong_type(_LOG_LEVEL, f"one of {', '.join(LEVELS)}")
    return Envelope(revision, read_client(meta.get(_CLIENT)), meta[_CAPABILITIES], meta.get(_LOG_LEVEL))


def _read_version(meta: Mapping[str, Any]) -> str:
    """The revision, before all else: what another revision requires can't be judged by this one's rules."""
    version = meta.get(_VERSION, MODERN[-1])
    if not isinstance(version, str):
        raise _wrong_type(_VERSION, "a string")
    if version not in MODERN:
        data = {"supported": list(MODERN), "requested": version[:SHOWN]}
        raise ProtocolError(UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", data)
    return version


def _wrong_type(key: str, expected: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"Invalid params: {key} in _meta must be {expected}", {"wrong": key})


def discover_result(server: ServerInfo, revision: str) -> dict[str, Any]:
    """A DiscoverResult, without what every modern result has."""
    result: dict[str, Any] = {"supportedVersions": list(MODERN), "capabilities": capabilities(revision)}
    if server.instructions:
        result["instructions"] = server.instructions
    meta = {"io.modelcontextprotocol/serverInfo": implementation(server, revision)}
    return {**result, **CACHE, "_meta": meta}


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a listen asked to be told of: MCP's SubscriptionFilter, as far as we honour it."""

    lists: frozenset[str]  # of LIST_CHANGES
    uris: frozenset[str]

    @property
    def size(self) -> int:
        """How much it takes of what a connection may have."""
        return 1 + len(self.uris)

    def encode(self) -> bytes:
        """As a SubscriptionFilter."""
        shown: dict[str, Any] = dict.fromkeys(sorted(self.lists), True)
        if self.uris:
            shown["resourceSubscriptions"] = sorted(self.uris)
        return encode_value(shown)


LIST_CHANGES: Final = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
"""What a listen may ask for beside single resources."""


def read_wishes(params: Mapping[str, Any]) -> Wishes:
    """What the params of a `subscriptions/listen` ask for; unknown kinds are not honoured. Raises ProtocolError."""
    wanted = params.get("notifications")
    if not isinstance(wanted, dict):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: notifications must be an object")
    for name in LIST_CHANGES:
        if not isinstance(wanted.get(name, False), bool):
            text = f"Invalid params: {name} in notifications must be a boolean"
            raise ProtocolError(INVALID_PARAMS, text)
    uris = wanted.get("resourceSubscriptions", [])
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        text = "Invalid params: resourceSubscriptions in notifications must be an array of strings, of URIs"
        raise ProtocolError(INVALID_PARAMS, text)
    return Wishes(frozenset(name for name in LIST_CHANGES if wanted.get(name)), frozenset(uris))


class Listens:
    """The open `subscriptions/listen` requests of a connection, in order of opening."""

    __slots__ = ("_meta_rest", "_open")

    def __init__(self, server: ServerInfo) -> None:
        self._open: dict[Id, Wishes] = {}
        self._meta_rest = encode_value(answering(server))[1:]

    def __contains__(self, ident: Id) -> bool:
        return ident in self._open

    @property
    def size(self) -> int:
        """How much they take of what a connection may have."""
        return sum(wishes.size for wishes in self._open.values())

    def open(self, ident: Id, wishes: Wishes) -> bytes:
        """Open one; the acknowledgement, with what we'll honour of what it asked for."""
        self._open[ident] = wishes
        params = b'{"_meta":{%b},"notifications":%b}' % (_subscription(ident), wishes.encode())
        return encode_notification("notifications/subscriptions/acknowledged", params)

    def close(self, ident: Id) -> bool:
        """The client cancelled one; whether it was open."""
        return self._open.pop(ident, None) is not None

    def list_changed(self, wish: str, method: str, only: Id | None = None) -> list[bytes]:
        """The notification of a method for each that asked for this one of LIST_CHANGES, tagged with its id."""
        return [
            encode_notification(method, b'{"_meta":{%b}}' % _subscription(ident))
            for ident, wishes in self._open.items()
            if wish in wishes.lists and only in (None, ident)
        ]

    def resource_updated(self, uri: str) -> list[bytes]:
        """The notification for each that subscribed to a resource, tagged with its id."""
        return [
            encode_notification(
                "notifications/resources/updated",
                b'{"_meta":{%b},"uri":%b}' % (_subscription(ident), encode_value(uri)),
            )
            for ident, wishes in self._open.items()
            if uri in wishes.uris
        ]

    def end(self) -> list[bytes]:
        """End all: for each its result, then the notification that the page on cancellation asks for.

        In this order, since a client that sees the notification first takes the stream for lost.
        """
        messages: list[bytes] = []
        for ident in self._open:
            meta = b"{" + _subscription(ident) + b"," + self._meta_rest
            messages.append(encode_result(ident, b'{"resultType":"complete","_meta":%b}' % meta))
            cancelled = b'{"requestId":%b}' % encode_id(ident)
            messages.append(encode_notification("notifications/cancelled", cancelled))
        self._open.clear()
        return messages


def _subscription(ident: Id) -> bytes:
    return b'"io.modelcontextprotocol/subscriptionId":' + encode_id(ident)
