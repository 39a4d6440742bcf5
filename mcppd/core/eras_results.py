"""Results as each revision has them: what a tool came to, a page of tools, and all other answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import orjson

from mcppd.core.effects import ServerInfo, ToolsPage
from mcppd.core.eras import REVISIONS, Revision
from mcppd.core.jsonrpc import encode_value
from mcppd.core.results import ToolResult, text_item

_CACHE: Final = b'"ttlMs":0,"cacheScope":"private"'
"""Lists change with the next save of a file, and belong to one person."""


class ResultEncoder:
    """Encodes the results of one server; modern ones carry their type and who answers."""

    __slots__ = ("_meta", "_tail")

    def __init__(self, server: ServerInfo) -> None:
        self._meta = {"io.modelcontextprotocol/serverInfo": implementation(server)}
        self._tail = b',"resultType":"complete","_meta":%b}' % encode_value(self._meta)

    def tool_result(self, result: ToolResult, revision: str) -> bytes:
        """A CallToolResult."""
        known = REVISIONS[revision]
        result = adapt_result(result, revision)
        parts = [b'{"content":', one_line(result.content)]
        if result.structured is not None:
            parts += (b',"structuredContent":', one_line(result.structured))
        parts += (b',"isError":true' if result.is_error else b',"isError":false', self._end(known))
        return b"".join(parts)

    def tools_page(self, page: ToolsPage, revision: str) -> bytes:
        """A ListToolsResult."""
        known = REVISIONS[revision]
        parts = [b'{"tools":', one_line(page.tools)]
        if page.next_cursor is not None:
            parts += (b',"nextCursor":', encode_value(page.next_cursor))
        if known.modern:
            parts += (b",", _CACHE)
        parts.append(self._end(known))
        return b"".join(parts)

    def result(self, members: Mapping[str, Any], revision: str) -> bytes:
        """Any other result; members of it win over those that a modern result has anyway."""
        if not REVISIONS[revision].modern:
            return encode_value(dict(members))
        meta = {**self._meta, **members.get("_meta", {})}
        return encode_value({"resultType": "complete", **members, "_meta": meta})

    def _end(self, known: Revision) -> bytes:
        return self._tail if known.modern else b"}"


def implementation(server: ServerInfo, *, titles: bool = True) -> dict[str, str]:
    """The server as MCP's Implementation."""
    shown = {"name": server.name, "version": server.version}
    if titles and server.title is not None:
        shown["title"] = server.title
    return shown


def one_line(text: bytes) -> bytes:
    """JSON text with no line break in it: outside of strings, where alone they can be, they mean nothing."""
    return text.replace(b"\n", b" ").replace(b"\r", b" ")


def adapt_result(result: ToolResult, revision: str) -> ToolResult:
    """The result without what this revision doesn't know; content is decoded only where that may be in it."""
    known = REVISIONS[revision]
    structured = result.structured
    if structured is not None and not _takes_structured(known, structured):
        result = replace(result, structured=None)
    if _may_hold_unknown(known, result.content):
        items = [_known_item(item, known) for item in orjson.loads(result.content)]
        result = replace(result, content=orjson.dumps(items))
    return result


def _takes_structured(known: Revision, structured: bytes) -> bool:
    return known.modern or (known.structured and structured.lstrip()[:1] == b"{")


def _may_hold_unknown(known: Revision, content: bytes) -> bool:
    return (not known.resource_links and b'"resource_link"' in content) or (
        not known.audio and b'"audio"' in content
    )


def _known_item(item: Any, known: Revision) -> Any:
    """The item, or a text item in its place; who it is for stays."""
    match item:
        case {"type": "resource_link"} if not known.resource_links:
            shown = text_item(_link_text(item))
        case {"type": "audio"} if not known.audio:
            kind = item.get("mimeType", "of unknown type")
            shown = text_item(f"[audio, {kind}, left out: the protocol of this client has none]")
        case _:
            return item
    if "annotations" in item:
        shown["annotations"] = item["annotations"]
    return shown


def _link_text(item: Mapping[str, Any]) -> str:
    """A resource link for people and models: what it is called, where it is, what it is about."""
    label = item.get("title") or item.get("name") or "resource"
    about = f" ({item['description']})" if item.get("description") else ""
    return f"[Resource link: {label}] {item.get('uri', '')}{about}"
