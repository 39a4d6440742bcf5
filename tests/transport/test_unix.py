"""Sockets that are private from the first instant, and one daemon for each lock."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mcppd.core.errors import McppdError
from mcppd.core.framing import LineFraming, Overlong
from mcppd.transport import unix
from mcppd.transport.link import Link
from mcppd.transport.lock import AlreadyRunningError, hold_lock


@pytest.fixture
def permissive() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("permissive")
def test_a_socket_is_private_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with unix.bind(str(path)):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    unix.bind(path).close()
    with unix.bind(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def test_what_is_no_socket_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "s"
    path.write_text("precious")
    with pytest.raises(McppdError):
        unix.bind(str(path))
    assert path.read_text() == "precious"


def test_one_holder_of_a_lock_and_the_next_when_it_is_gone(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    code = f"import fcntl; f = open({path!r}, 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(AlreadyRunningError):
            hold_lock(path)
        holder.kill()
    os.close(hold_lock(path))


@pytest.mark.skipif(os.getuid() != 0, reason="optional: only root can be another user for a moment")
async def test_another_user_is_closed_at_once(tmp_path: Path) -> None:
    for parent in (tmp_path, *list(tmp_path.parents)[:2]):
        parent.chmod(0o755)
    path = tmp_path / "s"
    listener = unix.bind(str(path))
    path.chmod(0o666)

    def accept() -> Link[bytes | Overlong]:
        raise AssertionError("a stranger was let in")

    server = unix.Accepting(listener, accept, asyncio.create_task)
    code = (
        "import os, socket; os.setresuid(65534, 65534, 65534); s = socket.socket(socket.AF_UNIX)\n"
        f"s.connect({str(path)!r})\n"
        "try:\n    print(s.recv(1))\nexcept ConnectionResetError:\n    print(b'')"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    server.close()
    assert out.strip() == b"b''"


class Recorder:
    """Keeps what a link hands over."""

    def __init__(self) -> None:
        self.frames: list[bytes | Overlong] = []
        self.was_ended = asyncio.Event()
        self.was_closed = asyncio.Event()

    def receive(self, frame: bytes | Overlong) -> None:
        self.frames.append(frame)

    def ended(self) -> None:
        self.was_ended.set()

    def closed(self) -> None:
        self.was_closed.set()


async def linked(unsent_limit: int = 2**20) -> tuple[Link[bytes | Overlong], Recorder, socket.socket]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.settimeout(10)
    link: Link[bytes | Overlong] = Link(LineFraming(), unsent_limit)
    recorder = Recorder()
    link.attach(recorder)
    await asyncio.get_running_loop().create_connection(lambda: link, sock=ours)
    return link, recorder, theirs


async def test_a_peer_that_never_reads_is_cut_off() -> None:
    link, recorder, theirs = await linked()
    for _ in range(40):
        link.send(b"x" * 65536)
    await asyncio.wait_for(recorder.was_closed.wait(), 10)
    link.send(b"into the void")
    theirs.close()


async def test_after_the_peers_end_the_link_still_sends_and_sees_it_hang_up() -> None:
    link, recorder, theirs = await linked()
    theirs.sendall(b"one\ntwo\n")
    theirs.shutdown(socket.SHUT_WR)
    await asyncio.wait_for(recorder.was_ended.wait(), 10)
    assert recorder.frames == [b"one", b"two"]
    gone = asyncio.Event()
    link.watch_hangup(gone.set)
    link.send(b"answer\n")
    assert await asyncio.to_thread(theirs.recv, 100) == b"answer\n"
    assert not gone.is_set()
    theirs.close()
    await asyncio.wait_for(gone.wait(), 10)
    link.abort()
    await asyncio.wait_for(recorder.was_closed.wait(), 10)
