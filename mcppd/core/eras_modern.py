"""The modern era: the envelope of each request, discovery, and subscriptions.

Nothing here outlives a request but the open listens, which are requests that stay open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcppd.core.effects import ClientInfo, ServerInfo
from mcppd.core.eras import MODERN
from mcppd.core.eras_legacy import CAPABILITIES, read_client
from mcppd.core.errors import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, ProtocolError
from mcppd.core.jsonrpc import Id, encode_id, encode_notification, encode_result, encode_value

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
_CLIENT: Final = "io.modelcontextprotocol/clientInfo"
_REQUIRED: Final = (_VERSION, _CAPABILITIES)
_ALWAYS_MODERN: Final = frozenset({"server/discover", "subscriptions/listen"})

SHOWN: Final = 200
"""Characters of a client's own words that an error gives back: enough to know them by."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a modern request says about itself."""

    revision: str
    client: ClientInfo | None


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
    return Envelope(revision, read_client(meta.get(_CLIENT)))


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


def discover_result(server: ServerInfo) -> dict[str, Any]:
    """A DiscoverResult, without what every modern result has."""
    result: dict[str, Any] = {"supportedVersions": list(MODERN), "capabilities": CAPABILITIES}
    if server.instructions:
        result["instructions"] = server.instructions
    return result | {"ttlMs": 0, "cacheScope": "private"}


class Listens:
    """The open `subscriptions/listen` requests of a connection, in order of opening."""

    __slots__ = ("_meta_rest", "_open")

    def __init__(self, server_info: Mapping[str, str]) -> None:
        self._open: dict[Id, bool] = {}  # id -> whether it asked for changes of tools
        self._meta_rest = b',"io.modelcontextprotocol/serverInfo":' + encode_value(server_info)

    def __contains__(self, ident: Id) -> bool:
        return ident in self._open

    def open(self, ident: Id, params: Mapping[str, Any]) -> bytes:
        """Open one; the acknowledgement, with what we'll honour of what it asked for."""
        wanted = params.get("notifications")
        if not isinstance(wanted, dict):
            raise ProtocolError(INVALID_PARAMS, "Invalid params: notifications must be an object")
        tools = wanted.get("toolsListChanged", False)
        if not isinstance(tools, bool):
            text = "Invalid params: toolsListChanged in notifications must be a boolean"
            raise ProtocolError(INVALID_PARAMS, text)
        self._open[ident] = tools
        honoured = b'{"toolsListChanged":true}' if tools else b"{}"
        params_out = b'{"_meta":{%b},"notifications":%b}' % (_subscription(ident), honoured)
        return encode_notification("notifications/subscriptions/acknowledged", params_out)

    def close(self, ident: Id) -> bool:
        """The client cancelled one; whether it was open."""
        return self._open.pop(ident, None) is not None

    def tools_changed(self) -> list[bytes]:
        """The notification for each that asked for it, tagged with its id."""
        return [
            encode_notification("notifications/tools/list_changed", b'{"_meta":{%b}}' % _subscription(ident))
            for ident, tools in self._open.items()
            if tools
        ]

    def end(self) -> list[bytes]:
        """End all: for each its result, then the notification that the page on cancellation asks for.

        In this order, since a client that sees the notification first takes the stream for lost.
        """
        messages: list[bytes] = []
        for ident in self._open:
            meta = _subscription(ident) + self._meta_rest
            messages.append(encode_result(ident, b'{"resultType":"complete","_meta":{%b}}' % meta))
            cancelled = b'{"requestId":%b}' % encode_id(ident)
            messages.append(encode_notification("notifications/cancelled", cancelled))
        self._open.clear()
        return messages


def _subscription(ident: Id) -> bytes:
    return b'"io.modelcontextprotocol/subscriptionId":' + encode_id(ident)
