"""What can go wrong for a client.

ClientError
├── RemoteError           the daemon answered with an error
├── RefusedError          the daemon turned the whole connection away
├── ConnectionLostError   the connection ended before the answer came
└── NoAnswerError         the daemon is there, but didn't answer in time
"""

from __future__ import annotations

from typing import Any

from mcppd.core.errors import McppdError


class ClientError(McppdError):
    """A request came to nothing."""


class RemoteError(ClientError):
    """The daemon answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message
        self.data = data


class RefusedError(ClientError):
    """The daemon turned the connection away, as it serves another registry, say; nothing was carried out."""


class ConnectionLostError(ClientError):
    """The connection ended first; whether the request was carried out is unknown."""


class NoAnswerError(ClientError):
    """No answer within the limit; the daemon was told that nobody waits any more."""
