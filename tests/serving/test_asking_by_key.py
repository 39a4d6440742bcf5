"""Questions that their author has given a key of their own, by which a modern client knows them."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.effects import InputRequired
from mcppd.core.errors import InputRequiredError, ToolError
from tests.serving.test_asking import CALL, YES, Desk, answers_of, enveloped, questions_of

NO = {"action": "decline"}


def named(key: Any, message: str = "Who?") -> list[Any]:
    return [{"kind": "elicit", "said": {"message": message, "key": key}}]


async def test_a_client_knows_a_question_by_its_author_s_key() -> None:
    desk = Desk()
    requests, state = await questions_of(desk, enveloped(*CALL), named("user_name"))
    assert list(requests) == ["user_name"]
    assert "key" not in requests["user_name"]["params"]
    again = enveloped(*CALL, inputResponses={"user_name": YES, "else": NO}, requestState=state)
    assert await answers_of(desk, again, named("user_name")) == [[YES]]


async def test_a_key_that_comes_again_is_another_question() -> None:
    desk = Desk()
    _, state = await questions_of(desk, enveloped(*CALL), named("name"))
    again = enveloped(*CALL, inputResponses={"name": YES}, requestState=state)
    effect = desk.begin(again)
    ask = desk.asking.callback(effect)
    assert ask is not None
    assert await ask(named("name")) == [YES]
    with pytest.raises(InputRequiredError) as end:
        await ask(named("name", "And then?"))
    desk.client.finish(effect.ticket, InputRequired(end.value.requests, end.value.state))
    last = enveloped(*CALL, inputResponses={"name": NO}, requestState=end.value.state)
    assert await answers_of(desk, last, named("name"), named("name", "And then?")) == [[YES], [NO]]


async def test_what_is_recorded_under_a_key_is_no_answer_to_a_question_that_became_another() -> None:
    desk = Desk()
    questions = [*named("first"), *named("second")]
    _, state = await questions_of(desk, enveloped(*CALL), questions)
    half = enveloped(*CALL, inputResponses={"first": YES}, requestState=state)
    requests, state = await questions_of(desk, half, questions)
    assert list(requests) == ["second"]
    rest = enveloped(*CALL, inputResponses={"second": YES}, requestState=state)
    requests, _ = await questions_of(desk, rest, [*named("first", "Delete everything?"), *named("second")])
    assert list(requests) == ["first"]


@pytest.mark.parametrize("key", ["", 1, ["a"]])
async def test_a_key_that_is_none_is_told(key: Any) -> None:
    desk = Desk()
    with pytest.raises(ToolError, match="key"):
        await desk.ask_of(enveloped(*CALL))(named(key))


async def test_two_questions_at_once_need_two_keys() -> None:
    desk = Desk()
    with pytest.raises(ToolError, match="different keys"):
        await desk.ask_of(enveloped(*CALL))([*named("a"), *named("a", "And you?")])
