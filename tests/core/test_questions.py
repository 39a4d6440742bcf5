"""What an author's code says becomes a question that every revision's schema takes, or an error that says why not."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.eras import LEGACY, MODERN, REVISIONS
from mcppd.core.eras_questions import adapt_params, missing_capability
from mcppd.core.errors import ToolError
from mcppd.core.questions import Question, fault_of_answer, read_question
from tests.wire_schema import check_message

NEWEST = MODERN[-1]
TEXT = {"type": "text", "text": "Hi"}
AUDIO = {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
FIELDS: dict[str, Any] = {
    "name": {"type": "string", "title": "Name", "minLength": 1, "default": "x"},
    "age": {"type": "integer", "minimum": 0, "default": 3},
    "share": {"type": "number"},
    "sure": {"type": "boolean", "default": True},
    "color": {"type": "string", "enum": ["red", "blue"], "enumNames": ["Red", "Blue"]},
}
CHOICES: dict[str, Any] = {
    "titled": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
    "level": {"type": "string", "enum": ["low", "high"], "default": "low"},
}
SEVERAL = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}
FULL_SAMPLING = {
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": [TEXT, AUDIO]}],
    "max_tokens": 5,
    "system_prompt": "Be brief.",
    "temperature": 0.5,
    "stop_sequences": ["."],
    "model_preferences": {"hints": [{"name": "small"}]},
    "include_context": "none",
}


def form(**fields: Any) -> Question:
    return read_question("elicit", {"message": "m", "schema": {"type": "object", "properties": fields}})


def sent(question: Question, revision: str) -> dict[str, Any]:
    """The params as they are sent, held against the schema of the revision."""
    params = adapt_params(question, revision, "e-1")
    if revision == NEWEST:
        inner = {"method": question.method, **({"params": params} if params else {})}
        result = {"resultType": "input_required", "inputRequests": {"k": inner}, "requestState": "s"}
        check_message("server", revision, {"jsonrpc": "2.0", "id": 1, "result": result}, "tools/call")
    else:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": question.method,
            **({"params": params} if params else {}),
        }
        check_message("server", revision, message)
    return params


# --- reading ---


def test_a_form_is_asked_for_with_its_schema() -> None:
    question = form(**FIELDS)
    assert question.method == "elicitation/create"
    assert question.params == {"message": "m", "requestedSchema": {"type": "object", "properties": FIELDS}}
    for revision in ("2025-11-25", NEWEST):
        assert sent(question, revision) == question.params


def test_a_form_without_a_schema_only_asks_for_consent() -> None:
    for said in ({"message": "Go on?"}, {"message": "Go on?", "schema": {}}):
        question = read_question("elicit", said)
        assert question.params["requestedSchema"] == {"type": "object", "properties": {}}


def test_what_forms_have_not_is_kept_for_checking_and_not_asked_for() -> None:
    field = {"type": "string", "pattern": "^[0-9]+$", "x-own": 1}
    question = form(zip=field)
    assert question.params["requestedSchema"]["properties"] == {"zip": {"type": "string", "x-own": 1}}
    assert question.form is not None
    assert question.form["properties"] == {"zip": field}
    assert question.digest != form(zip={**field, "pattern": "^[a-z]+$"}).digest


def test_the_schema_of_a_class_has_its_enumerations_in_their_places() -> None:
    schema = {
        "title": "Answers",
        "type": "object",
        "properties": {"color": {"$ref": "#/$defs/Color", "title": "Colour"}},
        "$defs": {"Color": {"enum": ["red", "blue"], "title": "Color", "type": "string"}},
        "required": ["color"],
    }
    shown = read_question("elicit", {"message": "m", "schema": schema}).params["requestedSchema"]
    assert shown["properties"] == {"color": {"enum": ["red", "blue"], "title": "Colour", "type": "string"}}
    assert "$defs" not in shown
    assert shown["required"] == ["color"]


@pytest.mark.parametrize(
    ("kind", "said", "named"),
    [
        ("elicit", {}, "message"),
        ("elicit", {"message": 1}, "message"),
        ("elicit", {"message": "m", "mode": "page"}, "mode"),
        ("elicit", {"message": "m", "mode": "url"}, "url"),
        ("elicit", {"message": "m", "schema": [1]}, "schema"),
        ("elicit", {"message": "m", "schema": {"type": "array"}}, "schema"),
        ("elicit", {"message": "m", "schema": {"properties": []}}, "schema.properties"),
        ("elicit", {"message": "m", "schema": {"required": "a"}}, "schema.required"),
        (
            "elicit",
            {"message": "m", "schema": {"properties": {"a": {"type": "object"}}}},
            "schema.properties.a",
        ),
        ("elicit", {"message": "m", "schema": {"properties": {"a": True}}}, "schema.properties.a"),
        (
            "elicit",
            {"message": "m", "schema": {"properties": {"a": {"$ref": "#/$defs/b"}}}},
            "schema.properties.a",
        ),
        (
            "elicit",
            {"message": "m", "schema": {"properties": {"a": {"type": "array"}}}},
            "schema.properties.a",
        ),
        *(
            ("elicit", {"message": "m", "schema": {"properties": {"a": field}}}, named)
            for field, named in [
                ({"type": "string", "minLength": "2"}, "properties.a.minLength"),
                ({"type": "string", "format": "uuid"}, "properties.a.format"),
                ({"type": "string", "enum": ["a", 1]}, "properties.a.enum[1]"),
                ({"type": "string", "oneOf": [{"const": "a"}]}, "properties.a.oneOf[0]"),
                ({"type": "string", "default": 1}, "properties.a.default"),
                ({"type": "string", "title": None}, "properties.a.title"),
                ({"type": "integer", "maximum": "9"}, "properties.a.maximum"),
                ({"type": "number", "default": "9"}, "properties.a.default"),
                ({"type": "boolean", "default": "no"}, "properties.a.default"),
                ({"type": "array", "items": {"enum": [1]}}, "properties.a.items.enum[0]"),
                ({"type": "array", "items": {"enum": ["a"]}, "maxItems": -1}, "properties.a.maxItems"),
            ]
        ),
        ("sample", {}, "messages"),
        ("sample", {"messages": []}, "messages"),
        ("sample", {"messages": [1]}, "messages[0]"),
        ("sample", {"messages": ["a", {"role": "system", "content": "x"}]}, "messages[1]"),
        ("sample", {"messages": "a", "max_tokens": "5"}, "max_tokens"),
        ("sample", {"messages": "a", "max_tokens": True}, "max_tokens"),
        ("sample", {"messages": "a", "model": "big"}, "model"),
        ("shout", {}, "shout"),
    ],
)
def test_what_is_no_question_is_told_by_its_name(kind: str, said: Any, named: str) -> None:
    with pytest.raises(ToolError) as failure:
        read_question(kind, said)
    assert named in failure.value.text


def test_a_text_is_a_message_of_the_users() -> None:
    question = read_question("sample", {"messages": "Hi", "max_tokens": 7})
    assert question.params == {"messages": [{"role": "user", "content": TEXT}], "maxTokens": 7}


def test_options_of_sampling_may_be_written_in_both_ways() -> None:
    python = read_question("sample", {"messages": ["Hi"], "system_prompt": "s", "stop_sequences": ["."]})
    mcp = read_question("sample", {"messages": "Hi", "systemPrompt": "s", "stopSequences": ["."]})
    assert python.params == mcp.params
    assert python.digest == mcp.digest
    assert python.digest != read_question("sample", {"messages": "Ho"}).digest


# --- each revision ---


@pytest.mark.parametrize("revision", REVISIONS)
def test_sampling_and_roots_fit_every_revision(revision: str) -> None:
    params = sent(read_question("sample", FULL_SAMPLING), revision)
    contents = [message["content"] for message in params["messages"]]
    audio = AUDIO if revision >= "2025-03-26" else contents[-1]
    assert contents == ([TEXT, [TEXT, AUDIO]] if revision >= "2025-11-25" else [TEXT, TEXT, audio])
    assert contents[-1] != AUDIO or revision >= "2025-03-26"
    assert params["systemPrompt"] == "Be brief."
    assert sent(read_question("roots", {}), revision) == {}


def test_a_form_of_2025_06_has_no_titles_of_choices_and_defaults_of_booleans_only() -> None:
    params = sent(form(**FIELDS, **CHOICES), "2025-06-18")
    fields = params["requestedSchema"]["properties"]
    assert [name for name, field in fields.items() if "default" in field] == ["sure"]
    assert fields["titled"] == {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}
    assert fields["level"]["enum"] == ["low", "high"]


def test_a_choice_of_several_is_asked_for_where_there_are_such() -> None:
    question = form(several=SEVERAL)
    for revision in ("2025-11-25", NEWEST):
        assert sent(question, revision)["requestedSchema"]["properties"] == {"several": SEVERAL}
    with pytest.raises(ToolError, match="several"):
        adapt_params(question, "2025-06-18", "")


def test_a_page_to_visit_has_an_id_in_one_revision() -> None:
    question = read_question("elicit", {"message": "m", "url": "https://example.org/"})
    assert sent(question, "2025-11-25")["elicitationId"] == "e-1"
    assert sent(question, NEWEST) == {"mode": "url", "message": "m", "url": "https://example.org/"}


# --- what a client must declare ---

FORM = form()
PAGE = read_question("elicit", {"message": "m", "url": "https://example.org/"})
SAMPLE = read_question("sample", {"messages": "Hi"})
TOOLED = read_question("sample", {"messages": "Hi", "tools": []})
CONTEXT = read_question("sample", {"messages": "Hi", "include_context": "thisServer"})
ROOTS = read_question("roots", {})


@pytest.mark.parametrize("revision", ["2025-11-25", NEWEST])
@pytest.mark.parametrize(
    ("question", "declared", "missing"),
    [
        (FORM, {}, {"elicitation": {}}),
        (FORM, {"elicitation": None}, {"elicitation": {}}),
        (FORM, {"elicitation": {}}, None),
        (FORM, {"elicitation": {"form": {}}}, None),
        (FORM, {"elicitation": {"form": {}, "url": {}}}, None),
        (FORM, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        (PAGE, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (PAGE, {"elicitation": {"url": {}}}, None),
        (SAMPLE, {}, {"sampling": {}}),
        (SAMPLE, {"sampling": {}}, None),
        (TOOLED, {"sampling": {}}, {"sampling": {"tools": {}}}),
        (TOOLED, {"sampling": {"tools": {}}}, None),
        (CONTEXT, {"sampling": {}}, {"sampling": {"context": {}}}),
        (CONTEXT, {"sampling": {"context": {}}}, None),
        (ROOTS, {}, {"roots": {}}),
        (ROOTS, {"roots": True}, {"roots": {}}),
        (ROOTS, {"roots": {"listChanged": True}}, None),
    ],
)
def test_what_is_missing_is_a_capability_to_declare(
    revision: str, question: Question, declared: Any, missing: Any
) -> None:
    assert missing_capability(question, declared, revision) == missing


ALL: dict[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {},
}


@pytest.mark.parametrize("revision", LEGACY)
def test_what_a_revision_does_not_know_is_not_declared_whatever_its_client_says(revision: str) -> None:
    assert (missing_capability(FORM, ALL, revision) is None) is (revision >= "2025-06-18")
    assert (missing_capability(PAGE, ALL, revision) is None) is (revision >= "2025-11-25")
    assert (missing_capability(TOOLED, ALL, revision) is None) is (revision >= "2025-11-25")
    assert missing_capability(CONTEXT, ALL, revision) is None
    assert missing_capability(ROOTS, ALL, revision) is None


# --- answers ---


@pytest.mark.parametrize(
    ("question", "answer", "is_good"),
    [
        (FORM, {"action": "accept", "content": {"a": 1}}, True),
        (FORM, {"action": "accept"}, True),
        (FORM, {"action": "decline", "content": None}, True),
        (FORM, {"action": "maybe"}, False),
        (FORM, {"action": "accept", "content": [1]}, False),
        (FORM, None, False),
        (SAMPLE, {"role": "assistant", "content": TEXT, "model": "m"}, True),
        (SAMPLE, {"role": "assistant", "content": [TEXT], "model": "m", "stopReason": "endTurn"}, True),
        (SAMPLE, {"role": "assistant", "content": "Hi", "model": "m"}, False),
        (SAMPLE, {"action": "accept"}, False),
        (ROOTS, {"roots": []}, True),
        (ROOTS, {"roots": [{"uri": "file:///a"}]}, True),
        (ROOTS, {"roots": [{}]}, False),
        (ROOTS, {"roots": None}, False),
        (ROOTS, [], False),
    ],
)
def test_an_answer_is_one_or_is_told_why_not(question: Question, answer: Any, is_good: bool) -> None:
    assert (fault_of_answer(question, answer) is None) is is_good
