"""Questions of calls: sent and waited for in the legacy era, answered by a retry in the modern one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from mcppd.core.arguments import accept
from mcppd.core.effects import InputRequired, Replied, Work
from mcppd.core.errors import (
    INVALID_PARAMS,
    InputRequiredError,
    MissingCapabilityError,
    ProtocolError,
    ToolError,
)
from mcppd.core.request_state import KEY_SIZE, LIFETIME
from mcppd.serving.asking import OPEN_LIMIT, Asking, Signing
from tests.core.conversation import CAPABILITIES, NEWEST, Conversation, call, modern, notification, request

ASK = [{"kind": "elicit", "said": {"message": "Who?"}}]
TWO = [*ASK, {"kind": "roots", "said": {}}]
SAMPLE = [{"kind": "sample", "said": {"messages": "Hi"}}]
YES = {"action": "accept", "content": {"name": "Ann"}}
ROOTS: dict[str, Any] = {"roots": [{"uri": "file:///a"}]}
EVERYTHING: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}

Ask = Callable[[Sequence[Any]], Awaitable[list[Any]]]


class Checking:
    """Validation where it is asked for; there is nothing slow in these forms."""

    async def accept(
        self, schema: Any, arguments: dict[str, Any], *, plain: bool, size: int
    ) -> tuple[dict[str, Any], list[str]]:
        assert plain == ("pattern" not in str(schema))
        assert size == len(json.dumps(arguments, separators=(",", ":")))
        return accept(schema, arguments)

    async def check_value(self, schema: Any, value: bytes, *, plain: bool) -> list[str]:
        raise NotImplementedError


class Desk:
    """A client, its session, and what is asked of it."""

    def __init__(self, limit: float = 600.0) -> None:
        self.client = Conversation()
        self.sent: list[Any] = []
        self.now = 1_800_000_000.0
        self.signing = Signing(b"k" * KEY_SIZE, "1000", lambda: self.now)
        self.asking = Asking(self.client.session, self._take, self.signing, Checking(), limit)

    def _take(self, line: bytes) -> None:
        message = json.loads(line)
        if message["method"] != "notifications/cancelled":
            self.client.read(line)
        self.sent.append(message)

    def begin(self, message: Any) -> Work:
        """Send what needs work; the effect."""
        (effect,) = self.client.send(message)
        assert isinstance(effect, Work)
        return effect

    def ask_of(self, message: Any) -> Ask:
        """Send a request that may ask; what it asks with."""
        ask = self.asking.callback(self.begin(message))
        assert ask is not None
        return ask

    def reply(self, at: int, **members: Any) -> None:
        """The client's response to what was sent."""
        for effect in self.client.send({"jsonrpc": "2.0", "id": self.sent[at]["id"], **members}):
            assert isinstance(effect, Replied)
            self.asking.replied(effect)


async def asked(ask: Ask, questions: Sequence[Any], desk: Desk, count: int = 1) -> asyncio.Task[list[Any]]:
    """Begin to ask, until so many messages have been sent."""
    task = asyncio.ensure_future(ask(questions))
    while len(desk.sent) < count and not task.done():
        await asyncio.sleep(0)
    return task


# --- legacy ---


@pytest.fixture
def desk() -> Desk:
    desk = Desk()
    desk.client.shake_hands("2025-11-25", elicitation={}, sampling={})
    return desk


async def test_a_legacy_client_is_asked_and_answers(desk: Desk) -> None:
    task = await asked(desk.ask_of(call(1)), ASK, desk)
    assert desk.sent[0]["method"] == "elicitation/create"
    assert desk.sent[0]["params"]["message"] == "Who?"
    assert not task.done()
    desk.reply(0, result=YES)
    assert await task == [YES]
    assert len(desk.sent) == 1


async def test_several_questions_are_asked_at_once_and_answered_in_any_order(desk: Desk) -> None:
    task = await asked(desk.ask_of(call(1)), [*ASK, *SAMPLE], desk, 2)
    sampled = {"role": "assistant", "content": {"type": "text", "text": "Ho"}, "model": "m"}
    desk.reply(1, result=sampled)
    desk.reply(0, result=YES)
    assert await task == [YES, sampled]


async def test_two_calls_are_answered_apart(desk: Desk) -> None:
    first = await asked(desk.ask_of(call(1)), ASK, desk)
    second = await asked(desk.ask_of(call(2)), ASK, desk, 2)
    desk.reply(1, result={"action": "decline"})
    assert await second == [{"action": "decline"}]
    assert not first.done()
    desk.reply(0, result=YES)
    assert await first == [YES]


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"error": {"code": -1, "message": "User rejected"}}, "User rejected (-1)"),
        ({"result": {"action": "perhaps"}}, "can't be used"),
        ({"result": None}, "can't be used"),
    ],
)
async def test_an_answer_that_is_none_is_told(desk: Desk, members: Any, told: str) -> None:
    task = await asked(desk.ask_of(call(1)), ASK, desk)
    desk.reply(0, **members)
    with pytest.raises(ToolError) as failure:
        await task
    assert told in failure.value.text


async def test_when_one_question_fails_the_others_are_taken_back(desk: Desk) -> None:
    task = await asked(desk.ask_of(call(1)), [*ASK, *SAMPLE], desk, 2)
    desk.reply(0, error={"code": -1, "message": "no"})
    with pytest.raises(ToolError):
        await task
    assert desk.sent[2:] == [notification("notifications/cancelled", {"requestId": desk.sent[1]["id"]})]
    desk.reply(1, result=None)


async def test_a_question_has_a_limit_and_is_taken_back_then() -> None:
    desk = Desk(limit=0.0)
    desk.client.shake_hands("2025-06-18", elicitation={})
    with pytest.raises(ToolError, match="did not answer"):
        await desk.ask_of(call(1))(ASK)
    assert desk.sent[1] == notification("notifications/cancelled", {"requestId": desk.sent[0]["id"]})
    desk.reply(0, result=YES)  # late: dropped


async def test_a_cancelled_call_takes_its_question_back(desk: Desk) -> None:
    task = await asked(desk.ask_of(call(1)), ASK, desk)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert desk.sent[1] == notification("notifications/cancelled", {"requestId": desk.sent[0]["id"]})
    desk.reply(0, result=YES)


async def test_a_client_that_has_ended_is_waited_for_no_longer_and_not_asked_again(desk: Desk) -> None:
    ask = desk.ask_of(call(1))
    task = await asked(ask, [*ASK, *SAMPLE], desk, 2)
    desk.asking.end()
    with pytest.raises(ToolError, match="has ended"):
        await task
    sent = len(desk.sent)
    with pytest.raises(ToolError, match="has ended"):
        await ask(ASK)
    assert len(desk.sent) == sent


async def test_a_client_has_only_so_many_questions_at_once(desk: Desk) -> None:
    ask = desk.ask_of(call(1))
    tasks = [await asked(ask, ASK, desk, number + 1) for number in range(OPEN_LIMIT)]
    with pytest.raises(ToolError, match="already"):
        await ask(ASK)
    desk.reply(0, result=YES)
    assert await tasks[0] == [YES]
    again = await asked(ask, ASK, desk, OPEN_LIMIT + 1)  # there is room again
    desk.asking.end()
    await asyncio.wait([*tasks[1:], again])
    assert all(task.exception() for task in (*tasks[1:], again))


async def test_a_reply_to_nothing_is_dropped(desk: Desk) -> None:
    desk.asking.replied(Replied("mcppd:ask:77", YES, None))
    assert desk.sent == []


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26"])
async def test_what_the_revision_has_not_is_not_asked(revision: str) -> None:
    desk = Desk()
    desk.client.shake_hands(revision, **EVERYTHING)
    desk.sent.clear()
    with pytest.raises(ToolError, match=revision):
        await desk.ask_of(call(1))(ASK)
    assert desk.sent == []


async def test_what_the_client_does_not_declare_is_not_asked_but_told(desk: Desk) -> None:
    with pytest.raises(ToolError, match=r"roots/list .* test .* capability roots"):
        await desk.ask_of(call(1))(TWO)
    assert desk.sent == []


async def test_what_is_no_question_is_told_and_not_asked(desk: Desk) -> None:
    with pytest.raises(ToolError, match="message"):
        await desk.ask_of(call(1))([{"kind": "elicit", "said": {}}])
    assert desk.sent == []


@pytest.mark.parametrize("make", [request, modern], ids=["legacy", "modern"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}},
        ),
    ],
)
def test_requests_that_may_ask_nothing_have_nothing_to_ask_with(
    desk: Desk, make: Any, method: str, params: Any
) -> None:
    assert desk.asking.callback(desk.begin(make(1, method, params))) is None


# --- modern ---

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("tools/call", {"name": "echo", "arguments": {"a": 1}}),
    ("prompts/get", {"name": "p", "arguments": {"a": "1"}}),
    ("resources/read", {"uri": "file:///a"}),
]
CALL = REQUESTS[0]


@pytest.fixture
def stateless() -> Desk:
    return Desk()


def enveloped(method: str, params: Any, capabilities: Any = EVERYTHING, **more: Any) -> Any:
    return modern(1, method, {**params, **more}, **{CAPABILITIES: capabilities})


async def questions_of(desk: Desk, message: Any, questions: Sequence[Any]) -> tuple[dict[str, Any], str]:
    """What a modern request ends with: its questions and its state, as they are sent."""
    effect = desk.begin(message)
    ask = desk.asking.callback(effect)
    assert ask is not None
    with pytest.raises(InputRequiredError) as end:
        await ask(questions)
    answer = desk.client.finish(effect.ticket, InputRequired(end.value.requests, end.value.state))
    assert answer["result"]["resultType"] == "input_required"
    return answer["result"]["inputRequests"], answer["result"]["requestState"]


async def answers_of(desk: Desk, message: Any, *rounds: Sequence[Any]) -> list[list[Any]]:
    """The answers that a modern request already has to these questions, one after the other."""
    effect = desk.begin(message)
    ask = desk.asking.callback(effect)
    assert ask is not None
    try:
        return [await ask(questions) for questions in rounds]
    finally:
        desk.client.finish(effect.ticket, ProtocolError(INVALID_PARAMS, "over"))


@pytest.mark.parametrize(("method", "params"), REQUESTS)
async def test_a_modern_request_ends_at_a_question_and_goes_on_with_its_answer(
    stateless: Desk, method: str, params: Any
) -> None:
    requests, state = await questions_of(stateless, enveloped(method, params), ASK)
    ((key, inner),) = requests.items()
    assert inner["method"] == "elicitation/create"
    again = enveloped(method, params, inputResponses={key: YES}, requestState=state)
    assert await answers_of(stateless, again, ASK) == [[YES]]
    assert stateless.sent == []  # nothing is ever sent to a modern client unasked


async def test_questions_at_once_are_sent_at_once_and_the_missing_ones_again(stateless: Desk) -> None:
    requests, state = await questions_of(stateless, enveloped(*CALL), TWO)
    elicit, roots = requests
    assert [inner["method"] for inner in requests.values()] == ["elicitation/create", "roots/list"]
    half = enveloped(*CALL, inputResponses={roots: ROOTS, "unknown": 1}, requestState=state)
    missing, state = await questions_of(stateless, half, TWO)
    assert missing == {elicit: requests[elicit]}
    whole = enveloped(*CALL, inputResponses={elicit: YES}, requestState=state)
    assert await answers_of(stateless, whole, TWO) == [[YES, ROOTS]]


async def test_rounds_keep_the_answers_of_those_before(stateless: Desk) -> None:
    first, state = await questions_of(stateless, enveloped(*CALL), ASK)
    again = enveloped(*CALL, inputResponses={next(iter(first)): YES}, requestState=state)
    effect = stateless.begin(again)
    ask = stateless.asking.callback(effect)
    assert ask is not None
    assert await ask(ASK) == [YES]
    with pytest.raises(InputRequiredError) as end:
        await ask(ASK)  # the same question, asked a second time
    (second,) = end.value.requests
    assert second not in first
    stateless.client.finish(effect.ticket, InputRequired(end.value.requests, end.value.state))
    no = {"action": "decline"}
    last = enveloped(*CALL, inputResponses={second: no, next(iter(first)): no}, requestState=end.value.state)
    assert await answers_of(stateless, last, ASK, ASK) == [[YES], [no]]  # what is recorded isn't changed


async def test_a_question_that_became_another_is_asked_again(stateless: Desk) -> None:
    requests, state = await questions_of(stateless, enveloped(*CALL), ASK)
    again = enveloped(*CALL, inputResponses={next(iter(requests)): YES}, requestState=state)
    other, _ = await questions_of(stateless, again, SAMPLE)
    assert other.keys().isdisjoint(requests)


async def test_answers_without_a_state_are_answers_too(stateless: Desk) -> None:
    requests, _ = await questions_of(stateless, enveloped(*CALL), ASK)
    again = enveloped(*CALL, inputResponses={next(iter(requests)): YES})
    assert await answers_of(stateless, again, ASK) == [[YES]]


async def test_an_answer_that_is_none_is_refused_by_its_key(stateless: Desk) -> None:
    requests, state = await questions_of(stateless, enveloped(*CALL), ASK)
    (key,) = requests
    again = enveloped(*CALL, inputResponses={key: {"action": "perhaps"}}, requestState=state)
    with pytest.raises(ProtocolError, match=key) as failure:
        await answers_of(stateless, again, ASK)
    assert failure.value.code == INVALID_PARAMS


@pytest.mark.parametrize(
    ("declared", "questions", "required"),
    [
        ({}, TWO, {"elicitation": {}, "roots": {}}),
        ({"roots": {}}, TWO, {"elicitation": {}}),
        ({"elicitation": {}}, SAMPLE, {"sampling": {}}),
    ],
)
async def test_what_a_modern_client_does_not_declare_is_an_error_that_names_it(
    stateless: Desk, declared: Any, questions: Any, required: Any
) -> None:
    effect = stateless.begin(enveloped(*CALL, capabilities=declared))
    ask = stateless.asking.callback(effect)
    assert ask is not None
    with pytest.raises(MissingCapabilityError) as failure:
        await ask(questions)
    error = stateless.client.finish(effect.ticket, failure.value)["error"]
    assert (error["code"], error["data"]) == (-32021, {"requiredCapabilities": required})


@pytest.mark.parametrize(
    "change", ["tampered", "other tool", "other arguments", "other method", "late", "nonsense"]
)
async def test_a_state_that_is_not_ours_is_refused_before_anything_runs(stateless: Desk, change: str) -> None:
    requests, state = await questions_of(stateless, enveloped(*CALL), ASK)
    method, params = CALL
    match change:
        case "tampered":
            state += "-TAMPERED"
        case "nonsense":
            state = "\ud83d"
        case "other tool":
            params = {**params, "name": "other"}
        case "other arguments":
            params = {**params, "arguments": {"a": 2}}
        case "other method":
            method, params = "prompts/get", {"name": "echo", "arguments": {"a": "1"}}
        case "late":
            stateless.now += LIFETIME + 1
    again = enveloped(method, params, inputResponses=dict.fromkeys(requests, YES), requestState=state)
    with pytest.raises(ProtocolError) as failure:
        stateless.asking.callback(stateless.begin(again))
    assert failure.value.code == INVALID_PARAMS


async def test_a_state_outlives_the_connection_and_the_daemon(stateless: Desk) -> None:
    requests, state = await questions_of(stateless, enveloped(*CALL), ASK)
    again = enveloped(*CALL, inputResponses=dict.fromkeys(requests, YES), requestState=state)
    assert await answers_of(Desk(), again, ASK) == [[YES]]


async def test_arguments_too_deep_for_a_digest_are_refused(stateless: Desk) -> None:
    deep = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","requestState":"x","_meta":%b,'
    deep %= json.dumps(enveloped(*CALL)["params"]["_meta"]).encode()
    deep += b'"arguments":{"a":' + b"[" * 900 + b"]" * 900 + b"}}}"
    (effect,) = stateless.client.session.receive(deep)
    assert isinstance(effect, Work)
    with pytest.raises(ProtocolError) as failure:
        stateless.asking.callback(effect)
    assert failure.value.code == INVALID_PARAMS


async def test_sampling_is_asked_of_a_modern_client_as_its_revision_has_it(stateless: Desk) -> None:
    requests, _ = await questions_of(stateless, enveloped(*CALL), [*SAMPLE, *TWO])
    assert [inner["method"] for inner in requests.values()] == [
        *("sampling/createMessage", "elicitation/create", "roots/list"),
    ]
    assert len({key.split("-")[1] for key in requests}) == 3  # their places in the order of asking
    assert stateless.client.session.revision != NEWEST
