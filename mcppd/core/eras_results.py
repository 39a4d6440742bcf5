"""Results as each revision has them: what a worker made, a page of a list, questions, and all other answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from mcppd.core.effects import Encoded, InputRequired, Page, ServerInfo
from mcppd.core.eras import REVISIONS, Revision, known_members
from mcppd.core.eras_content import adapt_content, adapt_contents, adapt_prompt
from mcppd.core.errors import ProtocolError, ResourceNotFoundError
from mcppd.core.jsonrpc import Id, encode_error, encode_value, result_parts
from mcppd.core.results import ToolResult

Answer: TypeAlias = ToolResult | Page | Encoded | InputRequired | ProtocolError | Mapping[str, Any]

CACHE: Final[Mapping[str, Any]] = {"ttlMs": 0, "cacheScope": "private"}
"""What we offer changes with the next save of a file, and belongs to one person."""

_CACHE_MEMBERS: Final = b',"ttlMs":0,"cacheScope":"private"'


class ResultEncoder:
    """Encodes the results of one server; modern ones carry their type and who answers."""

    __slots__ = ("_meta", "_tail")

    def __init__(self, server: ServerInfo) -> None:
        self._meta = answering(server)
        self._tail = b',"resultType":"complete","_meta":%b}' % encode_value(self._meta)

    def answer(self, ident: Id, answer: Answer, revision: str, end: bytes) -> list[bytes]:
        """The whole answer to a request in parts, `end` after it."""
        match answer:
            case ProtocolError():
                return [error_of(ident, answer, revision) + end]
            case ToolResult():
                result = self.tool_result(answer, revision)
            case Page():
                result = self.page(answer, revision)
            case Encoded():
                result = [self.encoded(answer, revision)]
            case InputRequired():
                result = [self.input_required(answer)]
            case _:
                result = [self.result(answer, revision)]
        return result_parts(ident, *result, end=end)

    def tool_result(self, result: ToolResult, revision: str) -> list[bytes]:
        """A CallToolResult, in parts: what is large is copied once, where all of the line is joined."""
        known = REVISIONS[revision]
        parts = [b'{"content":', one_line(adapt_content(result.content, known))]
        if result.structured is not None and _takes_structured(known, result.structured):
            parts += (b',"structuredContent":', one_line(result.structured))
        parts += (b',"isError":true' if result.is_error else b',"isError":false', self._end(known))
        return parts

    def page(self, page: Page, revision: str) -> list[bytes]:
        """A ListToolsResult or its like, in parts."""
        known = REVISIONS[revision]
        parts = [b'{"%b":' % page.kind.encode(), page.items]
        if page.next_cursor is not None:
            parts += (b',"nextCursor":', encode_value(page.next_cursor))
        if known.modern:
            parts.append(_CACHE_MEMBERS)
        parts.append(self._end(known))
        return parts

    def encoded(self, made: Encoded, revision: str) -> bytes:
        """A GetPromptResult, a ReadResourceResult or a CompleteResult."""
        known = REVISIONS[revision]
        match made.kind:
            case "prompt":
                members = adapt_prompt(made.body, known)
                return self.result(members, revision)
            case "contents":
                cache = _CACHE_MEMBERS if known.modern else b""
                return b'{"contents":' + one_line(adapt_contents(made.body, known)) + cache + self._end(known)
            case "completion":
                return b'{"completion":' + one_line(made.body) + self._end(known)

    def input_required(self, questions: InputRequired) -> bytes:
        """An InputRequiredResult; only modern revisions have them."""
        members = {"inputRequests": dict(questions.requests), "requestState": questions.state}
        return encode_value({**members, "resultType": "input_required", "_meta": self._meta})

    def result(self, members: Mapping[str, Any], revision: str) -> bytes:
        """Any other result; members of it win over those that a modern result has anyway."""
        if not REVISIONS[revision].modern:
            return encode_value(dict(members))
        meta = {**self._meta, **members.get("_meta", {})}
        return encode_value({"resultType": "complete", **members, "_meta": meta})

    def _end(self, known: Revision) -> bytes:
        return self._tail if known.modern else b"}"


def error_of(ident: Id, error: ProtocolError, revision: str) -> bytes:
    """The error that answers a request; its code as the revision has it."""
    code = REVISIONS[revision].not_found if isinstance(error, ResourceNotFoundError) else error.code
    return encode_error(ident, code, error.message, error.data)


def implementation(server: ServerInfo, revision: str) -> dict[str, Any]:
    """The server as MCP's Implementation."""
    icons = [dict(icon) for icon in server.icons] or None
    members = {"name": server.name, "version": server.version, "title": server.title, "icons": icons}
    return known_members("server", members, REVISIONS[revision])


def answering(server: ServerInfo) -> dict[str, Any]:
    """The `_meta` of a modern result; without icons, which would be the greater part of most answers."""
    shown = {"name": server.name, "version": server.version}
    if server.title is not None:
        shown["title"] = server.title
    return {"io.modelcontextprotocol/serverInfo": shown}


def one_line(text: bytes) -> bytes:
    """JSON text with no line break in it: outside of strings, where alone they can be, they mean nothing."""
    return text.replace(b"\n", b" ").replace(b"\r", b" ")


def _takes_structured(known: Revision, structured: bytes) -> bool:
    """Legacy revisions have objects only."""
    return known.modern or (known.knows("result", "structuredContent") and structured.lstrip()[:1] == b"{")
