"""Results of tool calls as they travel inside the daemon: encoded once, by the worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from mcppd.core.values import value

OUTPUT: Final = 100_000
"""Bytes of the texts of a result where neither file says anything: 25,000 tokens, the most that any client puts before
its model; what is longer each of them cuts in its own way, or puts into a file (PROTOCOL 4.4)."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What a result was before it was cut: its texts, or the structured content that it then has no more."""

    data: bytes  # UTF-8
    is_structured: bool = False


@value
class ToolResult:
    """What a call came to; `content` and `structured` are JSON texts in UTF-8.

    `content` is an array of content items (MCP, server/tools, Tool Result), never empty of
    brackets; `structured` is the value of `structuredContent`.
    """

    content: bytes
    is_error: bool = False
    structured: bytes | None = None
    whole: Whole | None = None  # where texts were cut, or the structured content is missing


def text_item(text: str, audience: str | None = None) -> dict[str, Any]:
    """A text content item, for one audience ("user", "assistant") or for both."""
    item: dict[str, Any] = {"type": "text", "text": text.encode("utf-8", "replace").decode()}
    if audience:
        item["annotations"] = {"audience": [audience]}
    return item


def text_result(text: str, display: str | None = None, *, is_error: bool = False) -> ToolResult:
    """A result of one text, with a display for people in front of it where there is one."""
    items: Sequence[Any] = [text_item(text)]
    if display:
        items = [text_item(display, "user"), text_item(text, "assistant")]
    return ToolResult(orjson.dumps(items), is_error)


def error_result(text: str) -> ToolResult:
    """The result of a call that failed."""
    return text_result(text, is_error=True)


def with_item(result: ToolResult, text: str) -> ToolResult:
    """The same result with one more text item at its end."""
    item = orjson.dumps(text_item(text))
    body = result.content.strip()[1:-1].strip()
    content = b"[" + (body + b"," if body else b"") + item + b"]"
    return replace(result, content=content)
