"""The table of strictness on the wire: one connection gets all of it, and every answer that is due."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, until
from tests.strictness import BATCHES, CASES, Case

ECHO = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': arguments}\n"


def due(case: Case, revision: str) -> Iterator[Any]:
    """The answers to a case, those of a batch one by one."""
    answers = case.in_batches if revision == BATCHES and case.in_batches is not None else case.answers
    for answer in answers:
        yield from answer if isinstance(answer, list) else [answer]


@pytest.mark.parametrize("revision", ["2025-03-26", "2025-11-25"])
async def test_every_line_on_one_connection_gets_the_answer_that_is_due(
    daemon: Daemon, connect: Connect, revision: str
) -> None:
    daemon.module("echo", ECHO, "echo", scope="global")
    client = await connect(revision=revision)
    client.revision = None  # the table has requests of both eras

    def answers() -> list[Any]:
        """What no request of the harness waits for; that the new module was announced is none of it."""
        return [each["message"] for each in client.notifications if each["method"] == "unasked"]

    for case in CASES:
        client.notifications.clear()
        expected = list(due(case, revision))
        client.send(case.sent + b"\n")
        assert await client.result("ping") == {}
        await until(lambda expected=expected: len(answers()) >= len(expected))  # type: ignore[misc]
        assert [(each["id"], each.get("error", {}).get("code")) for each in answers()] == expected, case.name
    assert await client.text("echo", {"still": "here"}) == '{"still":"here"}'
    assert len(answers()) == len(expected)
