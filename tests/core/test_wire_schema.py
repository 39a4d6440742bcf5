"""The judge of other tests is judged: it lets official messages pass and sees what is wrong with others."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from tests.wire_schema import WHY_NO_SCHEMAS, Direction, check_message, have_schemas

REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
LEGACY = REVISIONS[:4]
MODERN = REVISIONS[4]
META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
}
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {}}}
needs_schemas = pytest.mark.skipif(not have_schemas(), reason=WHY_NO_SCHEMAS)


def result(value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": value}


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize(
    ("direction", "message", "method"),
    [
        ("client", CALL, None),
        ("client", {"jsonrpc": "2.0", "method": "notifications/initialized"}, None),
        ("client", {"jsonrpc": "2.0", "id": "r", "result": {"roots": [{"uri": "file:///x"}]}}, "roots/list"),
        ("server", {"jsonrpc": "2.0", "id": "r", "method": "roots/list"}, None),
        ("server", {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, None),
        ("server", result({"content": []}), "tools/call"),
        ("server", result({}), "ping"),
        ("server", result({}), "shutdown"),
        ("server", {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "x"}}, None),
    ],
)
def test_official_legacy_messages_pass(
    revision: str, direction: Direction, message: Any, method: str | None
) -> None:
    check_message(direction, revision, message, method)


@pytest.mark.parametrize(
    ("direction", "message", "method"),
    [
        ("client", {**CALL, "params": {"name": "x", "_meta": META}}, None),
        ("client", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}, None),
        ("server", {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}, None),
        ("server", result({"resultType": "complete", "content": []}), "tools/call"),
    ],
)
def test_official_modern_messages_pass(direction: Direction, message: Any, method: str | None) -> None:
    check_message(direction, MODERN, message, method)


@pytest.mark.parametrize(
    ("direction", "revision", "message", "method"),
    [
        ("server", "2025-11-25", result({"content": [{"type": "text"}]}), "tools/call"),
        ("server", MODERN, result({"resultType": "complete", "tools": []}), "tools/list"),
        ("server", "2025-11-25", {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}, None),
        ("server", "2025-11-25", {"jsonrpc": "2.0", "id": 1.5, "result": {}}, None),
        ("server", "2025-11-25", {"id": 1, "result": {}}, None),
        ("client", MODERN, CALL, None),
        ("client", "2025-11-25", {**CALL, "params": {}}, None),
    ],
)
def test_what_the_types_refuse_is_refused(
    direction: Direction, revision: str, message: Any, method: str | None
) -> None:
    with pytest.raises(ValidationError):
        check_message(direction, revision, message, method)


@pytest.mark.parametrize(
    ("direction", "revision", "method"),
    [("server", MODERN, "roots/list"), ("client", MODERN, "ping"), ("server", "2025-11-25", "tools/call")],
)
def test_a_method_that_a_side_or_a_revision_has_not_is_refused(
    direction: Direction, revision: str, method: str
) -> None:
    with pytest.raises(KeyError):
        check_message(direction, revision, {"jsonrpc": "2.0", "id": 1, "method": method})


@needs_schemas
@pytest.mark.parametrize(
    ("revision", "item"),
    [
        ("2024-11-05", {"type": "audio", "data": "", "mimeType": "audio/wav"}),
        ("2025-03-26", {"type": "resource_link", "name": "x", "uri": "file:///x"}),
    ],
)
def test_what_only_an_older_schema_refuses_is_refused(revision: str, item: Any) -> None:
    check_message("server", "2025-06-18", result({"content": [item]}), "tools/call")
    with pytest.raises(AssertionError):
        check_message("server", revision, result({"content": [item]}), "tools/call")


@pytest.mark.parametrize("revision", REVISIONS)
def test_batches_belong_to_one_revision(revision: str) -> None:
    if revision == "2025-03-26":
        check_message("server", revision, [result({}), result({})])
        return
    with pytest.raises(AssertionError):
        check_message("server", revision, [result({"resultType": "complete"})])


@needs_schemas
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_closed_schema_takes_only_what_its_revision_names(revision: str) -> None:
    more = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"} if revision == MODERN else {}
    tool: dict[str, Any] = {"name": "t", "inputSchema": {"type": "object", "anything": 1}}
    message = result({"tools": [tool], **more})
    check_message("server", revision, message, "tools/list", closed=True)
    tool["x-author"] = 1
    check_message("server", revision, message, "tools/list")
    with pytest.raises(AssertionError, match="x-author"):
        check_message("server", revision, message, "tools/list", closed=True)


@needs_schemas
def test_questions_are_an_answer_to_what_may_ask_only() -> None:
    message = result({"resultType": "input_required", "requestState": "s"})
    check_message("server", MODERN, message, "tools/call")
    with pytest.raises((AssertionError, ValidationError)):
        check_message("server", MODERN, message, "completion/complete")
