"""What comes and goes with the manifest beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def execute(tool_name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool."""
    return {"success": True, "result": f"{tool_name} is there."}


def get_prompt(name: str, arguments: Mapping[str, str]) -> str:
    """The one message of a prompt."""
    return f"{name} is there."
