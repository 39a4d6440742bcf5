"""Tools that change what is served, by editing files as a person would."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

LINES = {
    "test_trigger_tool_change": ("tools:\n", "  - {name: test_changed_tool, description: It has come.}\n"),
    "test_trigger_prompt_change": (
        "prompts:\n",
        "  - {name: test_changed_prompt, description: It has come.}\n",
    ),
}
"""What each tool puts into the manifest or takes out of it, and behind which line."""


def execute(tool_name: str, arguments: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool."""
    modules = Path(context["module_dir"]).parent
    if tool_name == "test_trigger_resource_change":
        (modules / "reading" / "watched.txt").write_text(arguments["text"])
        return {"success": True, "result": "The resource has a new text."}
    manifest = modules / "changed" / "tool.yaml"
    said = manifest.read_text()
    heading, line = LINES[tool_name]
    if line in said:
        manifest.write_text(said.replace(line, ""))
        return {"success": True, "result": "It is gone."}
    manifest.write_text(said.replace(heading, heading + line))
    return {"success": True, "result": "It has come."}
