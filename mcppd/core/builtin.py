"""The tools that are always there, `help` and `call_tool`: what lists show of them, and how they are called."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

import orjson

from mcppd.core.catalog import CALL_TOOL, HELP
from mcppd.core.errors import ToolError

HELP_DEFINITION: Final[Mapping[str, Any]] = {
    "name": HELP,
    "title": "Help on the tools of mcppd",
    "description": (
        "Shows every tool, prompt and resource that is there right now, by module, with the state of each: what is "
        "broken (file and line), what answers from its last good version, what the last reload changed. "
        "With `tool`, the instructions and the input schema of one tool or module, or what a prompt or resource is. "
        "Use it when a tool is missing, fails to load, or was just edited."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "tool": {
                "type": "string",
                "description": "Name of a tool, module or prompt, or URI of a resource",
            }
        },
        "additionalProperties": False,
    },
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}

CALL_TOOL_DEFINITION: Final[Mapping[str, Any]] = {
    "name": CALL_TOOL,
    "title": "Call a tool by its name",
    "description": (
        "Calls any tool that is there right now by its name, also one that was added after this list was read. "
        "`help` shows the names and what their arguments are."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Name of the tool"},
            "arguments": {"type": "object", "description": "The arguments of that tool"},
        },
        "required": ["name"],
        "additionalProperties": False,
    },
}

NEVER_LIST_AGAIN: Final = ("codex", "qwen")
"""Parts of the names of clients that read the list once and never again (PROTOCOL 4.2)."""


def definitions(client: str, *, meta_tools: bool) -> tuple[Mapping[str, Any], ...]:
    """The built-in tools that are listed for a client of this name."""
    name = client.lower()
    if meta_tools or any(part in name for part in NEVER_LIST_AGAIN):
        return HELP_DEFINITION, CALL_TOOL_DEFINITION
    return (HELP_DEFINITION,)


def unpack_call(arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(name, arguments) out of the arguments of `call_tool`. Raises ToolError."""
    name, inner = arguments.get("name"), arguments.get("arguments")
    if isinstance(inner, str):
        with suppress(orjson.JSONDecodeError):  # what it is instead is said below
            inner = orjson.loads(inner)
    if not isinstance(name, str) or name == CALL_TOOL or not isinstance(inner, dict | None):
        raise ToolError(
            'Error: call_tool takes {"name": the name of another tool, "arguments": an object}; '
            "`help` lists the names."
        )
    return name, inner or {}
