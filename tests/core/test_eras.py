"""Each revision gets what it knows and nothing else; the official schemas are the judge."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest

from mcppd.core.effects import Encoded, InputRequired, Page, ServerInfo
from mcppd.core.eras import (
    LEGACY,
    MODERN,
    NEWEST_LEGACY,
    REVISIONS,
    advertise,
    allows_batches,
    capabilities,
    knows_method,
)
from mcppd.core.eras_content import adapt_content, adapt_contents
from mcppd.core.eras_results import ResultEncoder, error_of, implementation
from mcppd.core.errors import ResourceNotFoundError
from mcppd.core.kinds import Kind
from mcppd.core.results import ToolResult, text_item
from tests.wire_schema import check_message

SERVER = ServerInfo("mcppd", "1")
NEWEST = MODERN[-1]
ALWAYS = {"name", "description", "inputSchema", "x-author", "annotated"}
FULL: dict[str, Any] = {
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
DATED = {"priority": 0.5, "lastModified": "2026-01-02T03:04:05Z"}
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
    shown = advertise("tools", FULL, revision)
    assert set(shown) == ALWAYS | known
    assert all(shown[name] == FULL[name] for name in set(shown) - {"outputSchema"})
    named = {name: value for name, value in shown.items() if name not in ("x-author", "annotated")}
    page = Page("tools", orjson.dumps([named]), "next")
    message = as_message(b"".join(ResultEncoder(SERVER).page(page, revision)))
    assert message["result"]["nextCursor"] == "next"
    check_message("server", revision, message, "tools/list", closed=True)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_tool_that_says_little_stays_as_it_is(revision: str) -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}}
    assert advertise("tools", tool, revision) == tool


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"anyOf": [{"type": "object"}]}, {"type": ["object"]}, True]
)
def test_an_output_that_is_no_object_is_shown_to_modern_clients_only(revision: str, schema: Any) -> None:
    shown = advertise("tools", {"name": "t", "outputSchema": schema}, revision)
    assert shown.get("outputSchema") == (schema if revision == NEWEST else None)


def test_a_boolean_schema_of_an_output_is_an_object_for_legacy_clients() -> None:
    properties = {"a": {}, "b": {"not": {}}, "c": {"type": "string"}}
    assert advertise("tools", FULL, NEWEST_LEGACY)["outputSchema"]["properties"] == properties
    assert advertise("tools", FULL, NEWEST)["outputSchema"] == FULL["outputSchema"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_member_that_is_null_is_left_out_since_clients_drop_the_whole_list_for_it(revision: str) -> None:
    tool = dict.fromkeys(["title", "annotations", "outputSchema", "icons", "_meta", "execution"])
    assert advertise("tools", {"name": "t", **tool}, revision) == {"name": "t"}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("items", [[], [TEXT], [TEXT, LINK, AUDIO]], ids=["none", "text", "all"])
@pytest.mark.parametrize("structured", [None, {"a": 1}, [1]], ids=["plain", "object", "array"])
def test_every_result_fits_the_schema_of_its_revision(
    revision: str, is_error: bool, items: list[Any], structured: Any
) -> None:
    encoded = None if structured is None else orjson.dumps(structured)
    result = ToolResult(orjson.dumps(items), is_error, encoded)
    message = as_message(b"".join(ResultEncoder(SERVER).tool_result(result, revision)))
    check_message("server", revision, message, "tools/call", closed=True)
    sent = message["result"]
    assert sent["isError"] is is_error
    assert len(sent["content"]) == len(items)
    takes = revision == NEWEST or (revision >= "2025-06-18" and isinstance(structured, dict))
    assert sent.get("structuredContent") == (structured if takes else None)


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_content_that_the_revision_knows_is_never_touched(revision: str) -> None:
    odd = b'[ {"type":"resource_link","_meta":{}} , "audio" ]'  # would not survive decoding and encoding
    assert adapt_content(odd, REVISIONS[revision]) is odd
    assert adapt_contents(odd, REVISIONS[revision]) is odd


@pytest.mark.parametrize("revision", REVISIONS)
def test_content_without_such_items_is_not_even_decoded(revision: str) -> None:
    odd = b"[ not json ]"
    assert adapt_content(odd, REVISIONS[revision]) is odd


def adapted(items: list[Any], revision: str) -> Any:
    return json.loads(adapt_content(json.dumps(items, separators=(",", ":")).encode(), REVISIONS[revision]))


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
def test_a_link_becomes_a_text_that_holds_it(revision: str) -> None:
    first, second = adapted([TEXT, LINK], revision)
    assert first == TEXT
    assert second["type"] == "text"
    assert all(part in second["text"] for part in ("a", "file:///a b", "the a"))


def test_audio_becomes_a_text_for_the_same_audience_where_there_is_none() -> None:
    (item,) = adapted([AUDIO], "2024-11-05")
    assert item["type"] == "text"
    assert "audio/wav" in item["text"]
    assert item["annotations"] == AUDIO["annotations"]
    assert adapted([AUDIO], "2025-03-26") == [AUDIO]


def test_a_text_that_speaks_of_audio_stays_a_text() -> None:
    content = [text_item('{"type":"audio"}'), {"type": "text", "text": "audio"}]
    assert adapted(content, "2024-11-05") == content


@pytest.mark.parametrize(
    ("item", "thing", "since"),
    [
        ({"type": "text", "text": "x", "_meta": {"a": 1}}, ("_meta",), "2025-06-18"),
        ({**LINK, "icons": [{"src": "data:,"}]}, ("icons",), "2025-11-25"),
        ({"type": "text", "text": "x", "annotations": DATED}, ("annotations", "lastModified"), "2025-06-18"),
        (
            {"type": "resource", "resource": {"uri": "a:b", "text": "x", "_meta": {}}},
            ("resource", "_meta"),
            "2025-06-18",
        ),
    ],
    ids=["meta", "icons", "date", "meta-of-contents"],
)
@pytest.mark.parametrize("revision", REVISIONS)
def test_a_part_of_an_item_is_sent_from_its_revision_on(
    revision: str, item: Any, thing: tuple[str, ...], since: str
) -> None:
    (shown,) = adapted([item], revision)
    if shown["type"] == item["type"]:  # else the item itself was replaced
        for name in thing[:-1]:
            shown, item = shown[name], item[name]
        assert (thing[-1] in shown) is (revision >= since)
        assert set(item) - set(shown) <= {thing[-1]}


def test_big_numbers_survive_where_content_is_adapted() -> None:
    number = 10**30
    item = {"type": "text", "text": "x", "_meta": {"n": number}, "icons": []}
    assert adapted([item], "2025-06-18")[0]["_meta"] == {"n": number}


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_prompt_and_contents_and_a_completion_fit_their_revision(revision: str) -> None:
    encoder = ResultEncoder(SERVER)
    resource = {"uri": "file:///a", "mimeType": "text/plain", "text": "x", "_meta": {"a": 1}}
    contents = [resource, {"uri": "file:///b", "blob": "AAAA"}]
    embedded = {"type": "resource", "resource": resource, "annotations": DATED}
    items = [TEXT, AUDIO, LINK, embedded]
    prompt = {"description": "d", "messages": [{"role": "user", "content": item} for item in items]}
    completion = {"values": ["a"], "total": 1, "hasMore": False}
    for made, method in (
        (Encoded("prompt", orjson.dumps(prompt)), "prompts/get"),
        (Encoded("contents", orjson.dumps(contents)), "resources/read"),
        (Encoded("completion", orjson.dumps(completion)), "completion/complete"),
    ):
        check_message("server", revision, as_message(encoder.encoded(made, revision)), method, closed=True)
    shown = json.loads(encoder.encoded(Encoded("contents", orjson.dumps(contents)), revision))["contents"]
    assert ("_meta" in shown[0]) is (revision >= "2025-06-18")
    assert shown[1] == contents[1]
    shown = json.loads(encoder.encoded(Encoded("prompt", orjson.dumps(prompt)), revision))
    assert [message["role"] for message in shown["messages"]] == ["user"] * len(items)
    assert shown["description"] == "d"


def test_questions_of_a_call_are_a_result_of_the_modern_revision() -> None:
    questions = InputRequired({"roots-1": {"method": "roots/list"}}, "state")
    message = as_message(ResultEncoder(SERVER).input_required(questions))
    assert message["result"]["inputRequests"] == {"roots-1": {"method": "roots/list"}}
    assert message["result"]["requestState"] == "state"
    for method in ("tools/call", "prompts/get", "resources/read"):
        check_message("server", NEWEST, message, method, closed=True)


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_resource_that_is_not_there_has_the_code_of_its_revision(revision: str) -> None:
    answer = json.loads(error_of(1, ResourceNotFoundError("file:///x"), revision))
    assert answer["error"]["code"] == (-32602 if revision == NEWEST else -32002)
    assert answer["error"]["data"] == {"uri": "file:///x"}
    check_message("server", revision, answer, "resources/read", closed=True)


@pytest.mark.parametrize("revision", REVISIONS)
def test_capabilities_are_all_that_the_revision_has(revision: str) -> None:
    expected = {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "logging": {},
    }
    if revision >= "2025-03-26":
        expected["completions"] = {}
    assert capabilities(revision) == expected


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_server_is_shown_with_what_the_revision_knows(revision: str) -> None:
    shown = implementation(ServerInfo("mcppd", "1", "Tools", icons=tuple(FULL["icons"])), revision)
    expected = {"name", "version"}
    expected |= {"title"} if revision >= "2025-06-18" else set()
    expected |= {"icons"} if revision >= "2025-11-25" else set()
    assert set(shown) == expected


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("kind", "definition", "since"),
    [
        (
            "prompts",
            {"name": "p", "description": "d", "arguments": [{"name": "a", "required": True}], "x-author": 1},
            {"title": "2025-06-18", "_meta": "2025-06-18", "icons": "2025-11-25"},
        ),
        (
            "resources",
            {"uri": "file:///a", "name": "a", "mimeType": "text/plain", "size": 3, "x-author": 1},
            {"title": "2025-06-18", "_meta": "2025-06-18", "icons": "2025-11-25"},
        ),
        (
            "resourceTemplates",
            {"uriTemplate": "file:///{a}", "name": "a", "annotations": {"priority": 1}},
            {"title": "2025-06-18", "_meta": "2025-06-18", "icons": "2025-11-25"},
        ),
    ],
    ids=["prompt", "resource", "template"],
)
def test_prompts_and_resources_are_shown_with_what_their_revision_knows(
    revision: str, kind: Kind, definition: Any, since: dict[str, str]
) -> None:
    optional = {"title": "T", "_meta": {"a": 1}, "icons": FULL["icons"]}
    shown = advertise(kind, {**definition, **optional}, revision)
    known = {name: value for name, value in optional.items() if revision >= since[name]}
    assert shown == {**definition, **known}
    nulls = dict.fromkeys(optional)
    assert advertise(kind, {**definition, **nulls}, revision) == definition
    named = {name: value for name, value in shown.items() if name != "x-author"}
    message = as_message(b"".join(ResultEncoder(SERVER).page(Page(kind, orjson.dumps([named])), revision)))
    assert message["result"][kind] == [named]
    method = {"prompts": "prompts/list", "resources": "resources/list"}.get(kind, "resources/templates/list")
    check_message("server", revision, message, method, closed=True)


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_lies_deeper_in_a_prompt_or_a_resource_is_shown_from_its_revision_on(revision: str) -> None:
    prompt = {"name": "p", "arguments": [{"name": "a", "title": "A"}]}
    (argument,) = advertise("prompts", prompt, revision)["arguments"]
    assert argument == ({"name": "a", "title": "A"} if revision >= "2025-06-18" else {"name": "a"})
    resource = {"uri": "a:b", "name": "a", "annotations": DATED}
    annotations = advertise("resources", resource, revision)["annotations"]
    assert ("lastModified" in annotations) is (revision >= "2025-06-18")
    assert annotations["priority"] == DATED["priority"]


def test_content_with_line_breaks_between_its_values_is_one_line() -> None:
    result = ToolResult(b'[\r\n{"type":"text","text":"a\\nb"}\n]', structured=b'{\n"a": 1}')
    encoded = b"".join(ResultEncoder(SERVER).tool_result(result, NEWEST))
    assert b"\n" not in encoded
    assert b"\r" not in encoded
    assert json.loads(encoded)["content"][0]["text"] == "a\nb"


@pytest.mark.parametrize("revision", LEGACY)
def test_a_legacy_result_has_nothing_of_the_modern_ones(revision: str) -> None:
    encoder = ResultEncoder(SERVER)
    assert json.loads(encoder.result({}, revision)) == {}
    assert set(json.loads(b"".join(encoder.page(Page("tools", b"[]"), revision)))) == {"tools"}
    assert set(json.loads(b"".join(encoder.tool_result(ToolResult(b"[]"), revision)))) == {
        "content",
        "isError",
    }


def test_a_modern_result_says_its_type_and_who_answers() -> None:
    encoder = ResultEncoder(ServerInfo("mcppd", "1", "Tools"))
    meta = {"io.modelcontextprotocol/serverInfo": {"name": "mcppd", "version": "1", "title": "Tools"}}
    common = {"resultType": "complete", "_meta": meta}
    assert json.loads(encoder.result({}, NEWEST)) == common
    page = json.loads(b"".join(encoder.page(Page("tools", b"[]", ""), NEWEST)))
    assert page == {"tools": [], "nextCursor": "", "ttlMs": 0, "cacheScope": "private", **common}


def test_what_a_modern_result_says_itself_is_kept() -> None:
    members = {"resultType": "task", "_meta": {"a": 1}, "b": 2}
    shown = json.loads(ResultEncoder(SERVER).result(members, NEWEST))
    assert (shown["resultType"], shown["_meta"]["a"], shown["b"]) == ("task", 1, 2)
    assert "io.modelcontextprotocol/serverInfo" in shown["_meta"]


LEGACY_ONLY = [
    *("initialize", "ping", "shutdown", "exit", "logging/setLevel"),
    *("resources/subscribe", "resources/unsubscribe"),
]
IN_BOTH = [
    *("tools/list", "tools/call", "prompts/list", "prompts/get", "completion/complete"),
    *("resources/list", "resources/templates/list", "resources/read"),
]


@pytest.mark.parametrize("method", LEGACY_ONLY)
def test_legacy_methods_are_legacy_only(method: str) -> None:
    assert all(knows_method(revision, method) for revision in LEGACY)
    assert not knows_method(NEWEST, method)


@pytest.mark.parametrize("method", ["server/discover", "subscriptions/listen"])
def test_modern_methods_are_modern_only(method: str) -> None:
    assert not any(knows_method(revision, method) for revision in LEGACY)
    assert knows_method(NEWEST, method)


@pytest.mark.parametrize("method", IN_BOTH)
def test_what_is_offered_is_served_in_every_revision(method: str) -> None:
    assert all(knows_method(revision, method) for revision in REVISIONS)


def test_one_revision_has_batches() -> None:
    assert [revision for revision in REVISIONS if allows_batches(revision)] == ["2025-03-26"]
