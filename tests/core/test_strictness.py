"""JSON-RPC strictness: every line that is due an answer gets its one, every other none, and nothing ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.core.effects import CallTool, Send
from mcppd.core.eras import LEGACY
from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.framing import LineFraming, Overlong
from tests.core.conversation import OK, Conversation
from tests.strictness import BATCHES, CASES, PING, Case

PIECE = 4096


def answers_to(client: Conversation, sent: bytes) -> list[Any]:
    """What a client is answered that sends bytes in pieces, each call with its result when all has been read."""
    framing, answers, calls = LineFraming(), [], []
    data = sent + b"\n"
    for start in range(0, len(data), PIECE):
        for frame in framing.feed(data[start : start + PIECE]):
            assert not isinstance(frame, Overlong)
            for effect in client.send(frame):
                if isinstance(effect, Send):
                    answers.append(client.read(effect.data))
                elif isinstance(effect, CallTool):
                    calls.append(effect)
    for call in calls:
        hostile = (
            call.retry is not None and call.retry.state is not None
        )  # serving sees that no such state is ours
        answers.append(client.finish(call.ticket, ProtocolError(INVALID_PARAMS, "state") if hostile else OK))
    return [shown(answer) for answer in answers if answer is not None]


def shown(answer: Any) -> Any:
    """An answer as the table has it."""
    if isinstance(answer, list):
        return [shown(each) for each in answer]
    assert ("error" in answer) is not ("result" in answer)
    return answer["id"], answer.get("error", {}).get("code")


@pytest.mark.parametrize("revision", LEGACY)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_line_gets_the_answer_that_is_due(revision: str, case: Case) -> None:
    client = Conversation()
    client.shake_hands(revision)
    expected = case.answers
    if revision == BATCHES and case.in_batches is not None:
        expected = case.in_batches
    assert answers_to(client, case.sent) == list(expected)
    assert answers_to(client, PING) == [(7, None)]
    assert client.session.in_flight == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_before_any_handshake_the_answers_are_those_of_the_newest_legacy_revision(case: Case) -> None:
    client = Conversation()
    assert answers_to(client, case.sent) == list(case.answers)
    assert answers_to(client, PING) == [(7, None)]


def test_the_table_names_each_case_once() -> None:
    assert len({case.name for case in CASES}) == len(CASES)


def test_errors_say_what_to_do() -> None:
    client = Conversation()
    for case in CASES:
        for effect in client.session.receive(case.sent.split(b"\n")[0]):
            if isinstance(effect, Send) and '"error"' in (text := effect.data.decode()):
                assert len(json.loads(text)["error"]["message"]) > len("Invalid request: ")
