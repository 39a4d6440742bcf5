"""What hosts and daemons say to each other, line by line."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.shim.world import Host, Listener, Peer, World

MODERN: Final = "2026-07-28"
META: Final = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE: Final = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tester", "version": "1"},
}
INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'


def line(message: Any) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def request(ident: Any, method: str, params: dict[str, Any] | None = None) -> bytes:
    return line({"jsonrpc": "2.0", "id": ident, "method": method, **({"params": params} if params else {})})


def modern(ident: Any, method: str, **params: Any) -> bytes:
    return request(ident, method, {**params, "_meta": META})


def notification(method: str, params: dict[str, Any] | None = None) -> bytes:
    return line({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})


def result(ident: Any, value: Any = None) -> bytes:
    """A daemon's answer."""
    return line({"jsonrpc": "2.0", "id": ident, "result": {} if value is None else value})


def failure(ident: Any) -> bytes:
    """A daemon's error."""
    return line({"jsonrpc": "2.0", "id": ident, "error": {"code": -32602, "message": "no"}})


LISTEN: Final = modern("listen:0", "subscriptions/listen", notifications={"toolsListChanged": True})
TAG: Final = {"_meta": {"io.modelcontextprotocol/subscriptionId": "listen:0"}}
ACKNOWLEDGED: Final = notification(
    "notifications/subscriptions/acknowledged", {**TAG, "notifications": {"toolsListChanged": True}}
)


def lost_call(message: dict[str, Any], ident: Any) -> dict[str, Any]:
    """The result of a call whose daemon ended, after a look at what holds in both eras."""
    assert message["id"] == ident
    found: dict[str, Any] = message["result"]
    assert found["isError"] is True
    [item] = found["content"]
    assert item["type"] == "text"
    assert "outcome is unknown" in item["text"]
    return found


def said(host: Host) -> Any:
    """The next message that the host gets."""
    text = host.stdout.readline()
    assert text, "the shim has ended"
    return json.loads(text)


def heard(peer: Peer) -> Any:
    """The next message that the daemon gets."""
    return json.loads(peer.read_line())


class Scene:
    """A host, its shim, and one daemon after another in the same place."""

    def __init__(self, world: World, *arguments: str, **options: Any) -> None:
        self.listener: Listener = world.listen()
        self.host = world.start(*arguments, **options)
        self.peer = self.listener.accept()
        self.hello = self.peer.read_hello()

    def next_daemon(self) -> dict[str, Any]:
        """The daemon ends, another takes its place; the hello that it gets."""
        self.peer.close()
        return self.meet()

    def meet(self) -> dict[str, Any]:
        """Another daemon takes the place; the hello that it gets."""
        self.peer = self.listener.accept()
        return self.peer.read_hello()

    def ask(self, data: bytes) -> bytes:
        """The host sends a line; what the daemon gets."""
        self.host.write(data)
        return self.peer.read_line()

    def tell(self, data: bytes) -> Any:
        """The daemon sends a line; the message that the host gets."""
        self.peer.send(data)
        return said(self.host)

    def shake_hands(self, data: bytes = request(0, "initialize", INITIALIZE)) -> None:
        """The handshake of a legacy session."""
        self.ask(data)
        ident = json.loads(data)["id"]
        assert self.tell(result(ident, {"protocolVersion": "2025-11-25"}))["id"] == ident
        assert self.ask(INITIALIZED) == INITIALIZED

    def assert_quiet(self) -> None:
        """Neither side has got anything else: what one sends now is the next thing that the other gets."""
        assert self.ask(request("quiet?", "ping")) == request("quiet?", "ping")
        assert self.tell(result("quiet?")) == {"jsonrpc": "2.0", "id": "quiet?", "result": {}}
