"""What people fill into forms is held against what was asked for."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.effects import Replied
from mcppd.core.errors import ToolError
from tests.core.conversation import call
from tests.serving.test_asking import CALL, Desk, answers_of, asked, enveloped, questions_of

FIELDS = {
    "name": {"type": "string", "minLength": 2, "default": "Ann"},
    "age": {"type": "integer", "minimum": 0},
    "color": {"type": "string", "enum": ["red", "blue"]},
    "many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
}
SCHEMA = {"type": "object", "properties": FIELDS, "required": ["name"]}
FORM = [{"kind": "elicit", "said": {"message": "Who?", "schema": SCHEMA}}]
PATTERN = [
    {
        "kind": "elicit",
        "said": {
            "message": "Zip?",
            "schema": {"properties": {"zip": {"type": "string", "pattern": "^[0-9]+$"}}},
        },
    }
]

GOOD: list[tuple[Any, Any, Any]] = [
    (FORM, {"name": "Bo"}, {"name": "Bo"}),
    (FORM, {"name": "Bo", "age": 5, "color": "red", "many": ["b"]}, None),
    (FORM, {"name": "Bo", "age": "5"}, {"name": "Bo", "age": 5}),
    (FORM, {"name": "Bo", "more": True}, None),
    (PATTERN, {"zip": "123"}, None),
]
BAD: list[tuple[Any, Any, str]] = [
    (FORM, {}, "name"),
    (FORM, None, "name"),
    (FORM, {"name": "B"}, "$.name"),
    (FORM, {"name": None}, "$.name"),
    (FORM, {"name": "Bo", "age": -1}, "$.age"),
    (FORM, {"name": "Bo", "age": "old"}, "$.age"),
    (FORM, {"name": "Bo", "color": "green"}, "$.color"),
    (FORM, {"name": "Bo", "many": ["a", "c"]}, "$.many[1]"),
    (PATTERN, {"zip": "abc"}, "$.zip"),
]


def accepted(content: Any) -> dict[str, Any]:
    return {"action": "accept"} | ({} if content is None else {"content": content})


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.client.shake_hands("2025-11-25", elicitation={})
    return desk


@pytest.mark.parametrize(("questions", "content", "taken"), GOOD)
async def test_what_fits_is_taken_with_what_is_converted_and_without_defaults(
    desk: Desk, questions: Any, content: Any, taken: Any
) -> None:
    task = await asked(desk.ask_of(call(1)), questions, desk)
    desk.reply(0, result=accepted(content))
    assert await task == [accepted(taken or content)]

    modern = Desk()
    requests, state = await questions_of(modern, enveloped(*CALL), questions)
    again = enveloped(*CALL, inputResponses=dict.fromkeys(requests, accepted(content)), requestState=state)
    assert await answers_of(modern, again, questions) == [[accepted(taken or content)]]


@pytest.mark.parametrize(("questions", "content", "named"), BAD)
async def test_what_does_not_fit_is_told_to_the_code_that_asked_a_legacy_client(
    desk: Desk, questions: Any, content: Any, named: str
) -> None:
    task = await asked(desk.ask_of(call(1)), questions, desk)
    desk.reply(0, result=accepted(content))
    with pytest.raises(ToolError) as failure:
        await task
    assert named in failure.value.text


@pytest.mark.parametrize(("questions", "content", "named"), BAD)
async def test_a_modern_client_is_asked_again_and_told_what_does_not_fit(
    questions: Any, content: Any, named: str
) -> None:
    desk = Desk()
    first, state = await questions_of(desk, enveloped(*CALL), questions)
    (key,) = first
    again = enveloped(*CALL, inputResponses={key: accepted(content)}, requestState=state)
    second, state = await questions_of(desk, again, questions)
    assert list(second) == [key]
    said = second[key]["params"]
    assert named in said.pop("message")
    assert said.items() <= first[key]["params"].items()  # the very same form

    better = accepted({"name": "Bo"} if questions is FORM else {"zip": "1"})
    last = enveloped(*CALL, inputResponses={key: better}, requestState=state)
    assert await answers_of(desk, last, questions) == [[better]]


async def test_what_was_right_is_kept_while_the_rest_is_asked_again() -> None:
    desk = Desk()
    both = [*FORM, *PATTERN]
    requests, state = await questions_of(desk, enveloped(*CALL), both)
    name, code = requests
    half = enveloped(
        *CALL,
        inputResponses={name: accepted({"name": "Bo"}), code: accepted({"zip": "?"})},
        requestState=state,
    )
    missing, state = await questions_of(desk, half, both)
    assert list(missing) == [code]
    whole = enveloped(*CALL, inputResponses={code: accepted({"zip": "1"})}, requestState=state)
    assert await answers_of(desk, whole, both) == [[accepted({"name": "Bo"}), accepted({"zip": "1"})]]


async def test_what_is_nested_too_deep_does_not_fit(desk: Desk) -> None:
    task = await asked(desk.ask_of(call(1)), FORM, desk)
    deep = b'{"jsonrpc":"2.0","id":"%b","result":{"action":"accept","content":{"name":%b}}}'
    deep %= desk.sent[0]["id"].encode(), b"[" * 950 + b"]" * 950
    for effect in desk.client.session.receive(deep):
        assert isinstance(effect, Replied)
        desk.asking.replied(effect)
    with pytest.raises(ToolError, match="too deep"):
        await task


@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_declines_has_filled_in_nothing(desk: Desk, action: str) -> None:
    task = await asked(desk.ask_of(call(1)), FORM, desk)
    answer = {"action": action, "content": {"name": 1}}
    desk.reply(0, result=answer)
    assert await task == [answer]
