"""The legacy era: the handshake, and the roots that a server may ask a client for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcppd.core.effects import ClientInfo, ServerInfo
from mcppd.core.eras import LEGACY, NEWEST_LEGACY, REVISIONS
from mcppd.core.eras_results import implementation
from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.jsonrpc import Response, encode_request

CAPABILITIES: Final[Mapping[str, Any]] = {"tools": {"listChanged": True}}
"""What we declare in both eras; clients drop notifications of a server that doesn't (CASES C1)."""


@dataclass(frozen=True, slots=True)
class Handshake:
    """What a client's `initialize` settles."""

    revision: str
    client: ClientInfo | None
    has_roots: bool


def read_initialize(params: Mapping[str, Any]) -> Handshake:
    """What `initialize` settles: the version asked for if we have it, else our newest.

    Raises ProtocolError without a version, as every SDK does; an integer is taken, as one of them takes it. A
    missing clientInfo or missing capabilities are no reason to refuse: a refused client can do nothing.
    """
    requested = params.get("protocolVersion")
    if not isinstance(requested, str | int) or isinstance(requested, bool):
        text = f"Invalid params: protocolVersion must be a string such as {NEWEST_LEGACY}"
        raise ProtocolError(INVALID_PARAMS, text)
    capabilities = params.get("capabilities")
    return Handshake(
        revision=requested if isinstance(requested, str) and requested in LEGACY else NEWEST_LEGACY,
        client=read_client(params.get("clientInfo")),
        has_roots=isinstance(capabilities, dict) and isinstance(capabilities.get("roots"), dict),
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
        "capabilities": CAPABILITIES,
        "serverInfo": implementation(server, titles=REVISIONS[revision].titles),
    }
    if server.instructions:
        result["instructions"] = server.instructions
    return result


class RootsQuestion:
    """Asks a client for its roots; only the answer to the newest question counts."""

    __slots__ = ("_asked", "_count", "declared")

    def __init__(self) -> None:
        self.declared = False  # by the client, in its handshake
        self._count = 0
        self._asked: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether an answer is awaited."""
        return self._asked is not None

    def forget(self, *, declared: bool) -> None:
        """A new handshake: what was asked before doesn't matter any more."""
        self.declared = declared
        self._asked = None

    def ask(self) -> bytes:
        """A new question."""
        self._count += 1
        self._asked = f"mcppd:roots:{self._count}"
        return encode_request(self._asked, "roots/list")

    def read(self, response: Response) -> tuple[str, ...] | None:
        """The roots that a response names, None if it answers something else; none at all in an error."""
        if self._asked is None or response.id != self._asked:
            return None
        self._asked = None
        match response.result:
            case {"roots": [*roots]}:
                found = [root.get("uri") for root in roots if isinstance(root, dict)]
                return tuple(uri for uri in found if isinstance(uri, str))
            case _:  # an error, or nothing that could be read
                return ()
