"""Who has the file at a socket's path, and who is accepted there."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
from pathlib import Path

import pytest

from mcppd.core.framing import LineFraming, Overlong
from mcppd.transport import unix
from mcppd.transport.link import Link
from mcppd.transport.listener import Listener
from mcppd.transport.lock import AlreadyRunningError, hold_lock, is_lock, release_lock
from tests.harness import until


def states(listener: Listener) -> tuple[bool, bool, bool]:
    return listener.is_passed, listener.is_lost, listener.is_replaced


def test_a_file_that_is_gone_or_anothers_is_noticed_and_left(tmp_path: Path) -> None:
    path = tmp_path / "s"
    mine = Listener(str(path), None)
    assert states(mine) == (False, False, False)
    other = Listener(str(path), None)
    assert states(mine) == (False, False, True)
    mine.remove()
    assert path.exists()
    other.remove()
    assert states(mine) == (False, True, False)
    for listener in (mine, other):
        listener.socket.close()


def test_a_passed_socket_is_never_lost(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with unix.bind(str(path)) as passed:
        listener = Listener(str(path), passed)
        path.unlink()
        assert states(listener) == (True, False, False)


def test_a_released_lock_can_be_had_though_a_child_still_has_its_descriptor(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    lock = hold_lock(path)
    copy = os.dup(lock)  # as a child has it that was forked and has not run its program yet
    with pytest.raises(AlreadyRunningError):
        hold_lock(path)
    release_lock(lock)
    next_one = hold_lock(path)
    assert is_lock(next_one, path)
    os.unlink(path)
    assert not is_lock(next_one, path)
    os.close(next_one)
    os.close(copy)


class Deaf:
    """Takes everything, and closes when its peer does."""

    def __init__(self, link: Link[bytes | Overlong]) -> None:
        self.link = link

    def receive(self, frame: bytes | Overlong) -> None:
        pass

    def ended(self) -> None:
        self.link.close()

    def closed(self) -> None:
        pass


@pytest.mark.slow
async def test_who_finds_no_descriptor_left_waits_and_is_accepted_later(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    links: list[Link[bytes | Overlong]] = []

    def accept() -> Link[bytes | Overlong]:
        link: Link[bytes | Overlong] = Link(LineFraming())
        link.attach(Deaf(link))
        links.append(link)
        return link

    async with asyncio.TaskGroup() as tasks:
        accepting = unix.Accepting(unix.bind(path), accept, tasks.create_task)
        clients = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        before = resource.getrlimit(resource.RLIMIT_NOFILE)
        taken = [os.dup(0) for _ in range(8)]  # so that the numbers in between are in use
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, before[1]))
        try:
            for client in clients:
                client.connect(path)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(until(lambda: links), 0.3)
            waited = accepting.has_waiting
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            for number in taken:
                os.close(number)
        await until(lambda: len(links) == 4)
        assert (waited, accepting.has_waiting) == (True, False)
        accepting.close()
        for client in clients:
            client.close()
        await until(lambda: all(link.is_closed for link in links))
