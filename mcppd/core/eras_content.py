"""Content as each revision knows it: items of results and prompts, and the contents of resources.

It was encoded by a worker, so it is decoded only where something unknown to the revision may be in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from mcppd.core.eras import REVISIONS, Revision, known_annotations, known_members
from mcppd.core.jsonrpc import encode_value
from mcppd.core.results import text_item


def adapt_content(items: bytes, known: Revision) -> bytes:
    """An array of content items, as JSON text."""
    if not _may_hold_unknown(items, known, "item", "annotations", "types"):
        return items
    return encode_value([known_item(item, known) for item in json.loads(items)])


def adapt_contents(contents: bytes, known: Revision) -> bytes:
    """The array of a ReadResourceResult's contents, as JSON text."""
    if not _may_hold_unknown(contents, known, "contents"):
        return contents
    return encode_value([known_members("contents", each, known) for each in json.loads(contents)])


def adapt_prompt(body: bytes, known: Revision) -> dict[str, Any]:
    """A GetPromptResult, decoded; its own `_meta` is known to all."""
    members: dict[str, Any] = json.loads(body)
    if _may_hold_unknown(body, known, "item", "annotations", "types"):
        members["messages"] = [
            {**message, "content": known_item(message["content"], known)} for message in members["messages"]
        ]
    return members


def known_item(item: Any, known: Revision) -> Any:
    """An item, or a text item in its place; who it is for stays."""
    match item:
        case {"type": "resource_link"} if not known.knows("types", "resource_link"):
            shown = text_item(_link_text(item))
        case {"type": "audio"} if not known.knows("types", "audio"):
            kind = item.get("mimeType", "of unknown type")
            shown = text_item(f"[audio, {kind}, left out: the protocol of this client has none]")
        case {"type": "resource", "resource": {}}:
            shown = {**item, "resource": known_members("contents", item["resource"], known)}
        case {"type": str()}:
            shown = item
        case _:
            return item
    if "annotations" in item:
        shown = {**shown, "annotations": item["annotations"]}
    return known_annotations(known_members("item", shown, known), known)


def _may_hold_unknown(text: bytes, known: Revision, *things: str) -> bool:
    """Whether the name of a part that the revision hasn't stands in a JSON text, in quotes."""
    return any(name in text for name in _unknown_names(known.name, *things))


@cache
def _unknown_names(revision: str, *things: str) -> tuple[bytes, ...]:
    return tuple(b'"%b"' % part.encode() for thing in things for part in REVISIONS[revision].unknown[thing])


def _link_text(item: Mapping[str, Any]) -> str:
    """A resource link for people and models: what it is called, where it is, what it is about."""
    label = item.get("title") or item.get("name") or "resource"
    about = f" ({item['description']})" if item.get("description") else ""
    return f"[Resource link: {label}] {item.get('uri', '')}{about}"
