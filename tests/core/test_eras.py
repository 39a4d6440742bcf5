"""Each revision gets what it knows and nothing else; the official schemas are the judge."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from mcppd.core.effects import ServerInfo, ToolsPage
from mcppd.core.eras import (
    LEGACY,
    MODERN,
    NEWEST_LEGACY,
    REVISIONS,
    advertise_tool,
    allows_batches,
    knows_method,
)
from mcppd.core.eras_results import ResultEncoder, adapt_result
from mcppd.core.results import ToolResult, text_item
from tests.wire_schema import check_message

SERVER = ServerInfo("mcppd", "1")
NEWEST = MODERN[-1]
ALWAYS = {"name", "description", "inputSchema", "x-author", "annotated"}
FULL = {
    "name": "t",
    "description": "d",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}},
    "x-author": {"kept": [1]},
    "annotated": None,
    "annotations": {"readOnlyHint": True},
    "title": "T",
    "outputSchema": {"type": "object", "properties": {"a": True, "b": False, "c": {"type": "string"}}},
    "_meta": {"anthropic/alwaysLoad": True},
    "icons": [{"src": "https://x/y.png", "sizes": ["48x48"]}],
    "execution": {"taskSupport": "forbidden"},
}
TEXT = text_item("hello", "user")
LINK = {"type": "resource_link", "uri": "file:///a b", "name": "a", "description": "the a"}
AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": {"audience": ["assistant"]}}


def as_message(result: bytes) -> Any:
    return {"jsonrpc": "2.0", "id": 1, "result": json.loads(result)}


@pytest.mark.parametrize(
    ("revision", "known"),
    [
        ("2024-11-05", set()),
        ("2025-03-26", {"annotations"}),
        ("2025-06-18", {"annotations", "title", "outputSchema", "_meta"}),
        ("2025-11-25", {"annotations", "title", "outputSchema", "_meta", "icons", "execution"}),
        ("2026-07-28", {"annotations", "title", "outputSchema", "_meta", "icons"}),
    ],
)
def test_a_tool_is_shown_with_what_its_revision_knows_and_all_that_none_does(
    revision: str, known: set[str]
) -> None:
    shown = advertise_tool(FULL, revision)
    assert set(shown) == ALWAYS | known
    assert all(shown[name] == FULL[name] for name in set(shown) - {"outputSchema"})
    page = ToolsPage(orjson.dumps([shown]), "next")
    message = as_message(ResultEncoder(SERVER).tools_page(page, revision))
    assert message["result"]["nextCursor"] == "next"
    check_message("server", revision, message, "tools/list")


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_tool_that_says_little_stays_as_it_is(revision: str) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    assert advertise_tool(tool, revision) == tool


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"anyOf": [{"type": "object"}]}, {"type": ["object"]}, True]
)
def test_an_output_that_is_no_object_is_shown_to_modern_clients_only(revision: str, schema: Any) -> None:
    shown = advertise_tool({"name": "t", "outputSchema": schema}, revision)
    assert shown.get("outputSchema") == (schema if revision == NEWEST else None)


def test_a_boolean_schema_of_an_output_is_an_object_for_legacy_clients() -> None:
    properties = {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}
    assert advertise_tool(FULL, NEWEST_LEGACY)["outputSchema"]["properties"] == properties
    assert advertise_tool(FULL, NEWEST)["outputSchema"] == FULL["outputSchema"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_member_that_is_null_is_left_out_since_clients_drop_the_whole_list_for_it(revision: str) -> None:
    tool = dict.fromkeys(["title", "annotations", "outputSchema", "icons", "_meta", "execution"])
    assert advertise_tool({"name": "t", **tool}, revision) == {"name": "t"}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("items", [[], [TEXT], [TEXT, LINK, AUDIO]], ids=["none", "text", "all"])
@pytest.mark.parametrize("structured", [None, {"a": 1}, [1]], ids=["plain", "object", "array"])
def test_every_result_fits_the_schema_of_its_revision(
    revision: str, is_error: bool, items: list[Any], structured: Any
) -> None:
    encoded = None if structured is None else orjson.dumps(structured)
    result = ToolResult(orjson.dumps(items), is_error, encoded)
    message = as_message(ResultEncoder(SERVER).tool_result(result, revision))
    check_message("server", revision, message, "tools/call")
    sent = message["result"]
    assert sent["isError"] is is_error
    assert len(sent["content"]) == len(items)
    takes = revision == NEWEST or (revision >= "2025-06-18" and isinstance(structured, dict))
    assert sent.get("structuredContent") == (structured if takes else None)


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", "2026-07-28"])
def test_content_that_the_revision_knows_is_never_touched(revision: str) -> None:
    odd = ToolResult(b'[ {"type":"resource_link"} , "audio" ]')  # would not survive decoding and encoding
    assert adapt_result(odd, revision) is odd


@pytest.mark.parametrize("revision", REVISIONS)
def test_content_without_such_items_is_not_even_decoded(revision: str) -> None:
    odd = ToolResult(b"[ not json ]")
    assert adapt_result(odd, revision) is odd


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_a_link_becomes_a_text_that_holds_it(revision: str) -> None:
    result = adapt_result(ToolResult(orjson.dumps([TEXT, LINK])), revision)
    first, second = orjson.loads(result.content)
    assert first == TEXT
    assert second["type"] == "text"
    assert all(part in second["text"] for part in ("a", "file:///a b", "the a"))


def test_audio_becomes_a_text_for_the_same_audience_where_there_is_none() -> None:
    content = ToolResult(orjson.dumps([AUDIO]))
    (item,) = orjson.loads(adapt_result(content, "2024-11-05").content)
    assert item["type"] == "text"
    assert "audio/wav" in item["text"]
    assert item["annotations"] == AUDIO["annotations"]
    assert adapt_result(content, "2025-03-26") is content


def test_a_text_that_speaks_of_audio_stays_a_text() -> None:
    content = orjson.dumps([text_item('{"type":"audio"}'), {"type": "text", "text": "audio"}])
    assert orjson.loads(adapt_result(ToolResult(content), "2024-11-05").content) == orjson.loads(content)


def test_content_with_line_breaks_between_its_values_is_one_line() -> None:
    result = ToolResult(b'[\r\n{"type":"text","text":"a\\nb"}\n]', structured=b'{\n"a": 1}')
    encoded = ResultEncoder(SERVER).tool_result(result, NEWEST)
    assert b"\n" not in encoded
    assert b"\r" not in encoded
    assert json.loads(encoded)["content"][0]["text"] == "a\nb"
    assert b"\n" not in ResultEncoder(SERVER).tools_page(ToolsPage(b"[\n]"), NEWEST)


@pytest.mark.parametrize("revision", LEGACY)
def test_a_legacy_result_has_nothing_of_the_modern_ones(revision: str) -> None:
    encoder = ResultEncoder(SERVER)
    assert json.loads(encoder.result({}, revision)) == {}
    assert set(json.loads(encoder.tools_page(ToolsPage(b"[]"), revision))) == {"tools"}
    assert set(json.loads(encoder.tool_result(ToolResult(b"[]"), revision))) == {"content", "isError"}


def test_a_modern_result_says_its_type_and_who_answers() -> None:
    encoder = ResultEncoder(ServerInfo("mcppd", "1", "Tools"))
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "mcppd", "version": "1", "title": "Tools"}}
    common = {"resultType": "complete", "_meta": meta}
    assert json.loads(encoder.result({}, NEWEST)) == common
    page = json.loads(encoder.tools_page(ToolsPage(b"[]", ""), NEWEST))
    assert page == {"tools": [], "nextCursor": "", "ttlMs": 0, "cacheScope": "private", **common}


def test_what_a_modern_result_says_itself_is_kept() -> None:
    members = {"resultType": "task", "_meta": {"a": 1}, "b": 2}
    shown = json.loads(ResultEncoder(SERVER).result(members, NEWEST))
    assert (shown["resultType"], shown["_meta"]["a"], shown["b"]) == ("task", 1, 2)
    assert "io.modelcontextprotocol/serverInfo" in shown["_meta"]


@pytest.mark.parametrize("method", ["initialize", "ping", "shutdown", "exit"])
def test_legacy_methods_are_legacy_only(method: str) -> None:
    assert all(knows_method(revision, method) for revision in LEGACY)
    assert not knows_method(NEWEST, method)


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_modern_methods_are_modern_only(method: str) -> None:
    assert not any(knows_method(revision, method) for revision in LEGACY)
    assert knows_method(NEWEST, method)


@pytest.mark.parametrize("method", ["tools/list", "tools/call"])
def test_tools_are_served_in_every_revision(method: str) -> None:
    assert all(knows_method(revision, method) for revision in REVISIONS)


def test_one_revision_has_batches() -> None:
    assert [revision for revision in REVISIONS if allows_batches(revision)] == ["2025-03-26"]
