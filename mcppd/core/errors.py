"""The exceptions of mcppd.

McppdError
├── FaultError                    a file that a person wrote can't be used (carries the Fault)
├── UnknownModuleError            a person named a module that isn't there
├── ProtocolError                 a request that is answered with a JSON-RPC error
│   ├── ResourceNotFoundError     there is no resource of that URI
│   └── MissingCapabilityError    a call ends at a question that its modern client can't answer
├── InputRequiredError            a call ends at a question; its modern client retries it with the answer
├── ToolError                     a call that is answered with a result that has `isError: true`
└── RetiredError                  a call hadn't begun when its generation was replaced: look it up again

`CallContext.ask` raises ToolError, which the author's code is told, and ProtocolError and InputRequiredError, at
which the call is given up and which go through to who asked for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mcppd.core.faults import Fault

# JSON-RPC 2.0 section 5.1
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
# MCP, legacy revisions
RESOURCE_NOT_FOUND: Final = -32002
# MCP 2026-07-28
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022

SHOWN: Final = 200
"""Characters of a client's own words that an error gives back: enough to know them by."""


class McppdError(Exception):
    """Anything that mcppd itself raises."""


class FaultError(McppdError):
    """A file that a person wrote can't be used."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(str(fault))
        self.fault = fault


class UnknownModuleError(McppdError):
    """A person named a module that isn't there."""

    def __init__(self, name: str, nearest: Sequence[str]) -> None:
        likely = (
            f"did you mean {' or '.join(nearest)}?" if nearest else "`mcppd status` names those there are"
        )
        super().__init__(f"there is no module {name[:SHOWN]!r}: {likely}")


class ProtocolError(McppdError):
    """A request can't be served as it was sent (JSON-RPC 2.0 section 5.1)."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ResourceNotFoundError(ProtocolError):
    """There is no resource of a URI; the session words its code as the revision has it."""

    def __init__(self, uri: str) -> None:
        super().__init__(INVALID_PARAMS, f"Resource not found: {uri[:SHOWN]}", {"uri": uri})
        self.uri = uri


class MissingCapabilityError(ProtocolError):
    """A call asked for something that its client doesn't declare (MCP 2026-07-28, basic, Error Codes)."""

    def __init__(self, message: str, required: Mapping[str, Any]) -> None:
        super().__init__(MISSING_CAPABILITY, message, {"requiredCapabilities": dict(required)})


class InputRequiredError(McppdError):
    """A call ends at its questions (MCP 2026-07-28, multi round-trip requests).

    `requests` is the result's `inputRequests` by key, `state` its `requestState`.
    """

    def __init__(self, requests: Mapping[str, Mapping[str, Any]], state: str) -> None:
        super().__init__(f"input required: {', '.join(requests)}")
        self.requests = requests
        self.state = state


class ToolError(McppdError):
    """A tool call failed; the text is for whoever called (MCP, server/tools, Error Handling)."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class RetiredError(McppdError):
    """A call was still waiting when its generation was replaced; nothing of it has run."""
