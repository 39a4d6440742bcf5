"""The queue: session by session, bounded, and nobody keeps the others out."""

from __future__ import annotations

import pytest

from mcppd.core.errors import ToolError
from mcppd.workers.waiting import QUEUE_LIMIT, Queue, Waiter


def joined(queue: Queue, session: str) -> Waiter:
    waiter = queue.join(session)
    assert waiter is not None
    return waiter


async def test_sessions_take_turns() -> None:
    queue = Queue(None)
    waiting = {joined(queue, session): session for session in "aaaabbc"}
    served = []
    while (waiter := queue.next()) is not None:
        served.append(waiting[waiter])
    assert "".join(served) == "abcabaa"
    assert len(queue) == 0


async def test_a_call_that_left_is_passed_over() -> None:
    queue = Queue(None)
    first, second, third = joined(queue, "a"), joined(queue, "a"), joined(queue, "b")
    queue.leave("a", first)
    third.cancel()
    assert queue.next() is second
    assert queue.next() is None


async def test_a_full_queue_takes_no_more_of_the_session_that_filled_it() -> None:
    queue = Queue(None)
    for _ in range(QUEUE_LIMIT):
        joined(queue, "greedy")
    assert queue.join("greedy") is None
    assert len(queue) == QUEUE_LIMIT


async def test_in_a_full_queue_there_is_still_a_place_for_others() -> None:
    queue = Queue(4)
    greedy = [joined(queue, "greedy") for _ in range(4)]
    modest = [joined(queue, "modest") for _ in range(2)]
    assert queue.join("modest") is None
    assert len(queue) == 4
    assert [waiter.done() for waiter in greedy] == [False, False, True, True]
    for waiter in greedy[2:]:
        with pytest.raises(ToolError, match="`queue`"):
            waiter.result()
    assert queue.next() is greedy[0]
    assert queue.next() is modest[0]


async def test_no_call_waits_where_none_may() -> None:
    assert Queue(0).join("a") is None


async def test_everybody_can_be_refused() -> None:
    queue = Queue(None)
    waiting = [joined(queue, session) for session in "aab"]
    queue.refuse(lambda: ToolError("no"))
    for waiter in waiting:
        with pytest.raises(ToolError, match="no"):
            waiter.result()
    assert len(queue) == 0
