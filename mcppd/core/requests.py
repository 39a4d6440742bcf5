"""What requests about tools ask for, read out of their params; ProtocolError where they don't say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcppd.core.errors import INVALID_PARAMS, ProtocolError


def read_call(params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The tool and the arguments of a `tools/call`; no arguments and null are none (CASES H7)."""
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: name must be a string, the name of a tool")
    if arguments is None:
        return name, {}
    if not isinstance(arguments, dict):
        raise ProtocolError(INVALID_PARAMS, "Invalid params: arguments must be an object")
    return name, arguments


def read_cursor(params: Mapping[str, Any]) -> str | None:
    """The cursor of a list; the empty string is one."""
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise ProtocolError(
            INVALID_PARAMS, "Invalid params: cursor must be the string that a former page gave"
        )
    return cursor
