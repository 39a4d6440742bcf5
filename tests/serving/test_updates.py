"""Updates of resources: the first at once, none lost, never many in a row."""

from __future__ import annotations

import asyncio

from mcppd.serving.updates import Updates
from tests.harness import until


class Told:
    """Who is told, and how often at each moment."""

    def __init__(self, subscribers: int = 1) -> None:
        self.uris: list[str] = []
        self.subscribers = subscribers
        self.updates = Updates(self._tell)

    def _tell(self, uri: str) -> int:
        self.uris.append(uri)
        return self.subscribers


async def test_the_first_update_is_told_at_once_and_a_burst_ends_with_one_more() -> None:
    told = Told()
    for _ in range(1000):
        told.updates.updated("note://a")
    assert told.uris == ["note://a"]
    await until(lambda: len(told.uris) == 2)
    assert told.uris == ["note://a", "note://a"]


async def test_an_update_after_the_last_one_that_was_told_is_never_lost() -> None:
    value = 0
    read: list[int] = []

    def tell(_: str) -> int:
        read.append(value)  # as a client does that is told
        return 1

    updates = Updates(tell)
    while value < 200:
        value += 1
        updates.updated("note://a")
        await asyncio.sleep(0)
    await until(lambda: read[-1] == 200)


async def test_resources_do_not_wait_for_one_another() -> None:
    told = Told()
    for uri in ("note://a", "note://b", "note://a"):
        told.updates.updated(uri)
    assert told.uris == ["note://a", "note://b"]


async def test_what_nobody_subscribed_to_is_not_kept() -> None:
    told = Told(subscribers=0)
    for number in range(100):
        told.updates.updated(f"note://{number}")
    assert told.updates._paused == {}
