"""What agents have to be told: the command that starts the shim, and the form in which each of them reads it.

Knows nothing of a daemon, running or not: it is the same before the first start.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mcppd_shim import places

NAME: Final = "mcppd"
"""What agents call us."""

ALONE: Final = ("-I", "-S")
"""Without `site`, which the shim doesn't need: it is half of the time that the script `mcppd-shim` takes to start."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent's way to be told of a server."""

    write: Callable[[Sequence[str]], str]  # of the command
    advice: str  # what to do with the text, and which file it belongs to


def shim_command(registry: str | None, socket: str | None) -> list[str]:
    """The fastest command that starts this installation's shim, for a shell or an agent in any directory.

    `registry` is None for the default one, `socket` for the usual one. Raises PlaceError.
    """
    if not sys.executable:
        raise places.PlaceError(
            None, "Python doesn't know its own executable: agents can start mcppd-shim", ""
        )
    command = [sys.executable, *ALONE, os.path.join(os.path.dirname(places.__file__), "__main__.py")]
    for option, path in (("--config", registry), ("--socket", socket)):
        if path is not None:
            command += [option, places.absolute(path)]
    return command


def server_block(command: Sequence[str]) -> str:
    """The JSON that most agents read."""
    return _json({"mcpServers": {NAME: _server(command)}})


def _claude(command: Sequence[str]) -> str:
    return shlex.join(["claude", "mcp", "add", "-s", "user", NAME, "--", *command])


def _codex(command: Sequence[str]) -> str:
    program, *arguments = command
    lines = [f"[mcp_servers.{NAME}]", f"command = {_toml(program)}"]
    return "\n".join([*lines, f"args = [{', '.join(map(_toml, arguments))}]"])


def _opencode(command: Sequence[str]) -> str:
    # OpenCode 2 has names under `mcp.servers`, and reads those right under `mcp` too, as OpenCode 1 does.
    return _json({"mcp": {NAME: {"type": "local", "command": list(command)}}})


def _vscode(command: Sequence[str]) -> str:
    return _json({"servers": {NAME: {"type": "stdio"} | _server(command)}})


def _server(command: Sequence[str]) -> dict[str, Any]:
    program, *arguments = command
    return {"command": program, "args": arguments}


def _json(value: Any, margin: str = "") -> str:
    """JSON as people write it: a line for each member, a list in one line."""
    if not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    inner = f"{margin}  "
    members = [f"{inner}{json.dumps(name)}: {_json(each, inner)}" for name, each in value.items()]
    return "\n".join(["{", ",\n".join(members), f"{margin}}}"])


def _toml(text: str) -> str:
    """A TOML string; it is JSON's, but that DEL has to be escaped as well."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


AGENTS: Final[Mapping[str, Agent]] = {
    "claude": Agent(
        _claude, "Run this. It goes into ~/.claude.json; `claude mcp remove -s user mcppd` takes it back."
    ),
    "codex": Agent(_codex, "Add this to ~/.codex/config.toml."),
    "gemini": Agent(
        server_block, "Add this to ~/.gemini/settings.json (for one project: .gemini/settings.json)."
    ),
    "opencode": Agent(
        _opencode, "Add this to ~/.config/opencode/opencode.json (for one project: opencode.json)."
    ),
    "vscode": Agent(
        _vscode,
        "Add this to .vscode/mcp.json of a project; for all projects, to the file that the command "
        "`MCP: Open User Configuration` opens.",
    ),
    "cursor": Agent(server_block, "Add this to ~/.cursor/mcp.json (for one project: .cursor/mcp.json)."),
}
"""The agents that we know, by the names that people type."""

ANY: Final = Agent(
    server_block,
    "Most agents read this from their MCP configuration (Claude Code, for one project: .mcp.json). "
    f"{', '.join(AGENTS)}: put the agent's name behind the command.",
)
