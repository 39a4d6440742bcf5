"""Tools that answer with each kind of content, report progress, log and fail."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from . import items

PAUSE = 0.05
"""Seconds between two steps: what a tool says meanwhile has to come out before its answer does."""


class IntendedError(Exception):
    """What `test_error_handling` is there for."""


def execute(tool_name: str, arguments: Mapping[str, Any], context: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool."""
    match tool_name:
        case "test_simple_text":
            return {"success": True, "result": "This is a simple text response for testing."}
        case "test_image_content":
            return {"success": True, "content": [items.image()]}
        case "test_audio_content":
            return {"success": True, "content": [items.sound()]}
        case "test_embedded_resource":
            text = "This is an embedded resource content."
            return {"success": True, "content": [items.resource("test://embedded-resource", text)]}
        case "test_multiple_content_types":
            return {"success": True, "content": several()}
        case "test_tool_with_logging":
            log_in_steps(context)
        case "test_logging_tool":
            context["log"]("info", "test_logging_tool was called")
        case "test_tool_with_progress":
            progress_in_steps(context)
        case "test_error_handling":
            raise IntendedError("This tool intentionally returns an error for testing")
        case "json_schema_2020_12_tool":
            return {"success": True, "result": dict(arguments)}
    return {"success": True, "result": f"{tool_name} is done."}


def several() -> list[dict[str, Any]]:
    """Items of three kinds."""
    return [
        {"type": "text", "text": "Multiple content types test:"},
        items.image(),
        items.resource("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ]


def log_in_steps(context: Mapping[str, Any]) -> None:
    """Say three times what is going on."""
    context["log"]("info", "Tool execution started")
    time.sleep(PAUSE)
    context["log"]("info", "Tool processing data")
    time.sleep(PAUSE)
    context["log"]("info", "Tool execution completed")


def progress_in_steps(context: Mapping[str, Any]) -> None:
    """Say three times how far it is."""
    for done in (0, 50, 100):
        context["report_progress"](done, 100, f"Completed step {done} of 100")
        time.sleep(PAUSE)
