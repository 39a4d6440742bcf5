"""The module NAME: `execute` runs the tools that tool.yaml describes.

It runs in a worker process that is replaced when a file of the module is saved. `print` writes to the module's
log. An exception costs one call, and the agent is told where it happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .helper import count_lines, letters_of

Result = dict[str, Any]


def execute(tool_name: str, arguments: dict[str, Any], context: Mapping[str, Any]) -> Result:
    """Run a tool; its arguments fit its inputSchema. It may be `async def`.

    The context has workspace_dir (the agent's project, also the working directory), module_dir, session_id,
    client, tool_timeout, and the functions report_progress(progress, total, message), log(level, data) and
    cancelled().
    """
    match tool_name:
        case "NAME_hello":
            return hello(arguments["who"], arguments.get("times", 1))
        case "NAME_lines":
            return lines(Path(context["workspace_dir"]), arguments["file"])
        case _:
            return failure(f"this module has no tool {tool_name!r}")


def get_info(context: Mapping[str, Any]) -> str:
    """What `help` tells an agent that asks for this module or one of its tools; optional."""
    return f"Relative paths are taken from {context['workspace_dir']}."


def hello(who: str, times: int) -> Result:
    """The answer of NAME_hello: `result` is for the agent, `display` (Markdown, optional) for people."""
    greeting = " ".join([f"Hello, {who}!"] * times)
    return {
        "success": True,
        "result": {"greeting": greeting, "letters": letters_of(who)},
        "display": f"**{greeting}**",
    }


def lines(workspace: Path, file: str) -> Result:
    """The answer of NAME_lines."""
    path = (workspace / file).resolve()
    if not path.is_relative_to(workspace.resolve()):
        return failure(f"{file} is outside of the workspace: give a path below {workspace}")
    try:
        count = count_lines(path)
    except OSError as error:
        return failure(f"{file}: {error.strerror}; paths are relative to {workspace}")
    return {"success": True, "result": {"file": file, "lines": count}}


def failure(error: str) -> Result:
    """The answer of a call that came to nothing: say what is wrong and what to do, an agent reads it."""
    return {"success": False, "error": error}
