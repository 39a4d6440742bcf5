"""What requests ask for is read out of their params, and what can't be read is refused by its name."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.effects import CallTool, Complete, GetPrompt, List, ReadResource, Reference, Retry, Work
from mcppd.core.eras import REVISIONS
from mcppd.core.errors import INVALID_PARAMS
from tests.core.conversation import NEWEST, Conversation, modern, request

ARGUMENT = {"name": "city", "value": "Par"}
PROMPT = {"type": "ref/prompt", "name": "travel"}
TEMPLATE = {"type": "ref/resource", "uri": "file:///{path}"}


def effect_of(revision: str, method: str, params: Any) -> Any:
    """What follows from a request of a revision."""
    client = Conversation()
    if revision != NEWEST:
        client.shake_hands(revision)
    (effect,) = client.send((modern if revision == NEWEST else request)(1, method, params))
    assert isinstance(effect, Work)
    assert (effect.ticket.revision, effect.ticket.modern) == (revision, revision == NEWEST)
    return effect


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("tools/list", {}, (List, "tools", None)),
        ("prompts/list", {"cursor": ""}, (List, "prompts", "")),
        ("resources/list", {"cursor": None}, (List, "resources", None)),
        ("resources/templates/list", {"cursor": "c"}, (List, "resourceTemplates", "c")),
        ("tools/call", {"name": "t", "arguments": None}, (CallTool, "t", {}, None)),
        ("prompts/get", {"name": "p"}, (GetPrompt, "p", {}, None)),
        ("prompts/get", {"name": "p", "arguments": {"a": "b"}}, (GetPrompt, "p", {"a": "b"}, None)),
        ("resources/read", {"uri": "file:///a b"}, (ReadResource, "file:///a b", None)),
        (
            "completion/complete",
            {"ref": PROMPT, "argument": ARGUMENT},
            (Complete, Reference("ref/prompt", "travel"), "city", "Par", {}),
        ),
        (
            "completion/complete",
            {"ref": TEMPLATE, "argument": ARGUMENT, "context": {"arguments": {"a": "b"}}},
            (Complete, Reference("ref/resource", "file:///{path}"), "city", "Par", {"a": "b"}),
        ),
    ],
)
def test_a_request_is_read_in_every_revision(revision: str, method: str, params: Any, expected: Any) -> None:
    effect = effect_of(revision, method, params)
    kind, *members = expected
    assert effect == kind(effect.ticket, *members)


@pytest.mark.parametrize("make", [request, modern], ids=["legacy", "modern"])
@pytest.mark.parametrize(
    ("method", "params", "named"),
    [
        ("prompts/list", {"cursor": 1}, "cursor"),
        ("prompts/get", {}, "name"),
        ("prompts/get", {"name": 1}, "name"),
        ("prompts/get", {"name": "p", "arguments": []}, "arguments"),
        ("prompts/get", {"name": "p", "arguments": {"a": 1}}, "arguments"),
        ("resources/read", {}, "uri"),
        ("resources/read", {"uri": None}, "uri"),
        ("completion/complete", {}, "ref"),
        ("completion/complete", {"ref": "x", "argument": ARGUMENT}, "ref"),
        ("completion/complete", {"ref": {"type": "ref/tool", "name": "x"}, "argument": ARGUMENT}, "ref"),
        ("completion/complete", {"ref": {"type": "ref/prompt", "uri": "x"}, "argument": ARGUMENT}, "ref"),
        ("completion/complete", {"ref": PROMPT}, "argument"),
        ("completion/complete", {"ref": PROMPT, "argument": []}, "argument"),
        ("completion/complete", {"ref": PROMPT, "argument": {"name": "x"}}, "argument"),
        ("completion/complete", {"ref": PROMPT, "argument": ARGUMENT, "context": 1}, "context"),
        (
            "completion/complete",
            {"ref": PROMPT, "argument": ARGUMENT, "context": {"arguments": {"a": 1}}},
            "context.arguments",
        ),
    ],
)
def test_what_can_not_be_read_is_refused_by_its_name(make: Any, method: str, params: Any, named: str) -> None:
    error = Conversation().ask(make(1, method, params))["error"]
    assert error["code"] == INVALID_PARAMS
    assert named in error["message"]


ASKING = [("tools/call", {"name": "t"}), ("prompts/get", {"name": "p"}), ("resources/read", {"uri": "a:b"})]


@pytest.mark.parametrize(("method", "params"), ASKING)
def test_a_retry_brings_its_answers_and_its_state(method: str, params: Any) -> None:
    responses = {"elicit-1": {"action": "accept"}}
    more = {"inputResponses": responses, "requestState": "s"}
    assert effect_of(NEWEST, method, {**params, **more}).retry == Retry(responses, "s")
    assert effect_of(NEWEST, method, {**params, "requestState": "s"}).retry == Retry({}, "s")
    assert effect_of(NEWEST, method, {**params, "inputResponses": responses}).retry == Retry(responses, None)
    assert effect_of(NEWEST, method, {**params, "inputResponses": None}).retry is None
    assert effect_of("2025-11-25", method, {**params, **more}).retry is None


@pytest.mark.parametrize(("method", "params"), ASKING)
@pytest.mark.parametrize(
    "more", [{"inputResponses": []}, {"inputResponses": "x"}, {"requestState": 1}, {"requestState": {}}]
)
def test_a_retry_of_wrong_types_is_refused(method: str, params: Any, more: Any) -> None:
    client = Conversation()
    assert client.refused(modern(1, method, {**params, **more})) == (1, INVALID_PARAMS)
    assert client.session.in_flight == 0


def test_requests_that_may_ask_nothing_have_no_retries() -> None:
    effect = effect_of(NEWEST, "tools/list", {"inputResponses": 1, "requestState": 1})
    assert effect == List(effect.ticket, "tools", None)
