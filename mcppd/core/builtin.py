"""The tools that are always there, `help` and `call_tool`: what lists show of them, and what `help` says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import orjson

from mcppd.core.catalog import CALL_TOOL, HELP, Catalog, Module, Tool
from mcppd.core.errors import ToolError

HELP_DEFINITION: Final[Mapping[str, Any]] = {
    "name": HELP,
    "title": "Help on the tools of mcppd",
    "description": (
        "Shows every tool that is there right now, module by module, with the state of each module: what is "
        "broken (file and line), what answers from its last good version, what the last reload changed. "
        "With `tool`, the instructions and the input schema of one tool or module. "
        "Use it when a tool is missing, fails to load, or was just edited."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {"tool": {"type": "string", "description": "Name of a tool or of a module"}},
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


def overview(catalog: Catalog, last_reload: str | None, notes: Iterable[str] = ()) -> str:
    """What `help` says without an argument."""
    by_module: dict[str, list[Tool]] = {}
    for tool in catalog.listed:
        by_module.setdefault(tool.module.name, []).append(tool)
    parts = [_module_text(module, by_module.get(module.name, [])) for module in catalog.modules]
    if not parts:
        parts = ["No modules yet: list a directory with tool.yaml and mcpptool.py in tools.yaml, and save."]
    shadowed = [
        f"`{tool.own_name}` of module {tool.module.name} is listed as `{tool.name}`: "
        f"the plain name belongs to module {owner.module.name if (owner := catalog.find(tool.own_name)) else 'mcppd'}."
        for tool in catalog.listed
        if tool.is_shadowed
    ]
    warnings = [f"Warning: {warning}" for warning in catalog.warnings]
    reload = [f"Last reload: {last_reload}"] if last_reload else []
    return "\n\n".join([*parts, *shadowed, *warnings, *reload, *notes])


def of_module(catalog: Catalog, module: Module, tool: Tool | None, info: str) -> str:
    """What `help` says of one tool, or of a module."""
    tools = [tool] if tool is not None else [each for each in catalog.listed if each.module is module]
    return "\n\n".join([_module_text(module, tools), *([info] if info else []), *map(_schema_text, tools)])


def _module_text(module: Module, tools: Iterable[Tool]) -> str:
    lines = [f"## {module.name}" + (f" — {module.about.strip()}" if module.about else "")]
    lines += _state_lines(module)
    for tool in tools:
        also = f" (also `{tool.full_name}`)" if tool.full_name != tool.name else ""
        first = str(tool.offer.definition.get("description") or "").strip().split("\n", 1)[0]
        lines.append(f"- `{tool.name}`{also}: {first}")
    return "\n".join(lines)


def _state_lines(module: Module) -> Iterator[str]:
    match module.state:
        case "broken":
            yield f"BROKEN since {module.since}: {module.fault}"
            if module.fault is not None and module.fault.source:
                yield f"    {module.fault.source.strip()}"
            yield "The last good version answers until the file is repaired and saved."
        case "failed":
            yield f"FAILED since {module.since}: {module.fault}"
            if module.fault is not None and module.fault.source:
                yield f"    {module.fault.source.strip()}"
            yield "Its tools answer with this error until the file is repaired and saved."
    for fault in module.faults:
        yield f"Left out: {fault}"
    for warning in module.all_warnings:
        yield f"Warning: {warning}"


def _schema_text(tool: Tool) -> str:
    schema = tool.input_schema if tool.input_schema is not None else {}
    text = orjson.dumps(schema, option=orjson.OPT_INDENT_2, default=str).decode()
    return f"Input schema of `{tool.name}`:\n```json\n{text}\n```"
