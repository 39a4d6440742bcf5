"""Links: frames in order and in turns, so that no peer keeps the loop for itself."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest

from mcppd.core.framing import LineFraming, Overlong
from mcppd.transport.link import TURN, Link
from mcppd.transport.unix import adopt
from tests.harness import until

MANY = 20 * TURN


class Owner:
    """Takes down what a link brings, in the order of all links."""

    def __init__(self, log: list[bytes | str], limit: int | None = None) -> None:
        self.log = log
        self.limit = limit  # of frames, after which it reads no more
        self.count = 0
        self.link: Link[bytes | Overlong] = Link(LineFraming())
        self.link.attach(self)

    def receive(self, frame: bytes) -> None:
        self.log.append(frame)
        self.count += 1
        if self.count == self.limit:
            self.link.pause(paused=True)

    def ended(self) -> None:
        self.log.append("ended")
        self.link.close()

    def closed(self) -> None:
        self.log.append("closed")


class Cutter(Owner):
    """Cuts the link where another would read no more."""

    def receive(self, frame: bytes) -> None:
        super().receive(frame)
        if self.count == self.limit:
            self.link.abort()


@pytest.fixture(params=["asyncio", "uvloop"])
def runner(request: pytest.FixtureRequest) -> asyncio.Runner:
    if request.param == "asyncio":
        return asyncio.Runner()
    uvloop = pytest.importorskip("uvloop", reason="optional: it is not everywhere")
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def linked(owner: Owner) -> socket.socket:
    """The other end of a link."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    await adopt(ours, lambda: owner.link)
    theirs.setblocking(False)
    return theirs


def run(runner: asyncio.Runner, case: Callable[[], object]) -> None:
    with runner:
        runner.run(case())  # type: ignore[arg-type]


def test_a_peer_that_sends_much_does_not_keep_others_waiting(runner: asyncio.Runner) -> None:
    async def case() -> None:
        log: list[bytes | str] = []
        loud, quiet = Owner(log), Owner(log)
        far, near = await linked(loud), await linked(quiet)
        far.send(b"x\n" * MANY)
        near.send(b"y\n")
        far.close()
        await until(lambda: log.count("closed") == 1)
        assert log.count(b"x") == MANY
        assert log.index(b"y") < MANY / 2
        assert log[-2:] == ["ended", "closed"]
        near.close()
        await until(lambda: log.count("closed") == 2)

    run(runner, case)


def test_an_owner_that_pauses_gets_nothing_more_and_then_the_rest_in_order(runner: asyncio.Runner) -> None:
    async def case() -> None:
        log: list[bytes | str] = []
        owner = Owner(log, limit=3)
        far = await linked(owner)
        lines = [b"%d" % number for number in range(MANY)]
        far.send(b"\n".join(lines) + b"\n")
        far.close()
        await until(lambda: owner.count == 3)
        await asyncio.sleep(0)
        assert log == lines[:3]
        owner.link.pause(paused=False)
        await until(lambda: "closed" in log)
        assert log == [*lines, "ended", "closed"]

    run(runner, case)


def test_what_has_come_is_nothing_to_an_owner_who_has_cut_the_link(runner: asyncio.Runner) -> None:
    async def case() -> None:
        log: list[bytes | str] = []
        owner = Cutter(log, limit=3)
        far = await linked(owner)
        far.send(b"x\n" * MANY)
        await until(lambda: "closed" in log)
        assert log == [b"x", b"x", b"x", "closed"]
        far.close()

    run(runner, case)
