"""Resources and prompts."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from .image import PNG

IMAGE = {"type": "image", "data": base64.b64encode(PNG).decode(), "mimeType": "image/png"}


def read_resource(uri: str, variables: Mapping[str, str]) -> Any:
    """What a resource holds; those with a `file` in the manifest need no code."""
    if uri == "test://static-binary":
        return PNG
    if ident := variables.get("id"):
        return {"json": {"id": ident, "templateTest": True, "data": f"Data for ID: {ident}"}}
    return None


def get_prompt(name: str, arguments: Mapping[str, str]) -> Any:
    """The messages of a prompt."""
    match name:
        case "test_prompt_with_arguments":
            return f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'"
        case "test_prompt_with_embedded_resource":
            return [embedded(arguments["resourceUri"]), user("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            return [user(IMAGE), user("Please analyze the image above.")]
    return "This is a simple prompt for testing."


def embedded(uri: str) -> dict[str, Any]:
    """A message with a resource in it."""
    text = "Embedded resource content for testing."
    return user({"type": "resource", "resource": {"uri": uri, "mimeType": "text/plain", "text": text}})


def user(content: Any) -> dict[str, Any]:
    """What a user says."""
    return {"role": "user", "content": content}
