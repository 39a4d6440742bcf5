"""A tool's result, shown: the display for people, the text for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcppd.cli.output import is_terminal, print_json, print_rich, printable

PEOPLE: Final = "user"
PROGRAMS: Final = "assistant"


def show_result(result: Mapping[str, Any], *, as_json: bool = False, prefers_display: bool = False) -> int:
    """Print a result; the exit status. A failure goes to stderr, so that no pipe takes it for an answer."""
    failed = result.get("isError") is True
    if as_json:
        print_json(result)
    elif failed:
        for _, text in shown_texts(result, PROGRAMS):
            sys.stderr.write(printable(text) + "\n")
    elif is_terminal():
        for is_display, text in shown_texts(result, PEOPLE):
            _print_for_people(text, is_markdown=is_display)
    else:
        for _, text in shown_texts(result, PEOPLE if prefers_display else PROGRAMS):
            sys.stdout.write(text + "\n")
    return 1 if failed else 0


def shown_texts(result: Mapping[str, Any], reader: str) -> Iterator[tuple[bool, str]]:
    """The texts that are for a reader, each with whether it was made for people alone."""
    content = result.get("content")
    items = [item for item in content if isinstance(item, Mapping)] if isinstance(content, list) else []
    chosen = [item for item in items if reader in (_audience(item) or (reader,))] or items
    for item in chosen:
        yield _audience(item) == [PEOPLE], _text(item)
    if not items and "structuredContent" in result:
        yield False, json.dumps(result["structuredContent"], ensure_ascii=False)


def _audience(item: Mapping[str, Any]) -> list[Any]:
    annotations = item.get("annotations")
    audience = annotations.get("audience") if isinstance(annotations, Mapping) else None
    return audience if isinstance(audience, list) else []


def _text(item: Mapping[str, Any]) -> str:
    """An item as text; what has none is named."""
    match item:
        case {"type": "text", "text": str(text)} | {"type": "resource", "resource": {"text": str(text)}}:
            return text
        case {"type": "image" | "audio" as kind, "data": str(data)}:
            return f"[{kind}, {item.get('mimeType')}, {len(data) * 3 // 4} bytes]"
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[{item.get('name') or 'link'}: {uri}]"
        case {"type": "resource", "resource": {"uri": str(uri)}}:
            return f"[resource: {uri}]"
        case _:
            return json.dumps(item, ensure_ascii=False)


def _print_for_people(text: str, *, is_markdown: bool) -> None:
    if not is_markdown:
        sys.stdout.write(printable(text) + "\n")
        return
    from rich.markdown import Markdown

    print_rich(Markdown(printable(text), hyperlinks=False))
