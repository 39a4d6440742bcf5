"""The exceptions of mcppd.

McppdError
├── FaultError      a file that a person wrote can't be used (carries the Fault)
├── ProtocolError   a request that is answered with a JSON-RPC error
├── ToolError       a call that is answered with a result that has `isError: true`
└── RetiredError    a call hadn't begun when its generation was replaced: look it up again
"""

from __future__ import annotations

from typing import Any, Final

from mcppd.core.faults import Fault

# JSON-RPC 2.0 section 5.1
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
# MCP 2026-07-28
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022


class McppdError(Exception):
    """Anything that mcppd itself raises."""


class FaultError(McppdError):
    """A file that a person wrote can't be used."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class ProtocolError(McppdError):
    """A request can't be served as it was sent (JSON-RPC 2.0 section 5.1)."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ToolError(McppdError):
    """A tool call failed; the text is for whoever called (MCP, server/tools, Error Handling)."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class RetiredError(McppdError):
    """A call was still waiting when its generation was replaced; nothing of it has run."""
