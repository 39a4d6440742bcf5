from __future__ import annotations

import os
import select
import socket
from pathlib import Path

import pytest

from tests.shim.flows import (
    MEBIBYTE,
    fill,
    in_thread,
    join,
    lines_of,
    send_and_close,
    write_and_end,
)
from tests.shim.world import END, World, eventually


def test_end_of_stdin_is_told_and_the_last_answers_still_come(world: World) -> None:
    host, peer = world.connect()
    write_and_end(host, b'{"id":1}\n')
    assert peer.read_rest() == b'{"id":1}\n' + END
    answer = lines_of(MEBIBYTE, b"answer")
    sending = in_thread(lambda: send_and_close(peer, answer))
    assert host.stdout.read() == answer
    join(sending)
    assert host.wait() == 0
    assert host.stderr() == ""


@pytest.mark.parametrize(
    ("written", "read"),
    [(b"", END), (b"a\n", b"a\n" + END), (b"a\nhalf", b"a\nhalf\n" + END), (b"\n", b"\n" + END)],
)
def test_a_line_that_stdin_broke_off_is_ended_first(written: bytes, read: bytes, world: World) -> None:
    host, peer = world.connect()
    write_and_end(host, written)
    assert peer.read_rest() == read


def test_all_that_was_buffered_goes_before_the_end(world: World) -> None:
    host, peer = world.connect()
    os.set_blocking(host.stdin.fileno(), False)
    filled = fill(host.stdin.fileno())
    host.stdin.close()
    assert len(peer.read_rest()) == filled + len(END)


def test_a_host_that_closes_its_end_ends_the_shim_quietly_while_nothing_is_said(world: World) -> None:
    host, peer = world.connect()
    host.stdout.close()
    assert host.wait() == 0
    assert host.stderr() == ""
    assert peer.read_rest() == b""


def test_a_host_that_closes_its_end_ends_the_shim_quietly_while_the_daemon_talks(world: World) -> None:
    host, peer = world.connect()
    fill(peer.connection.fileno())
    host.stdout.close()
    assert host.wait() == 0
    assert host.stderr() == ""


def test_a_host_that_closes_its_end_is_not_waited_for_after_the_end_of_stdin(world: World) -> None:
    host, peer = world.connect()
    host.stdin.close()
    assert peer.read_rest() == END
    host.stdout.close()
    assert host.wait() == 0
    assert host.stderr() == ""


def test_a_disk_that_is_full_is_told(world: World) -> None:
    listener = world.listen()
    with Path("/dev/full").open("wb") as full:
        host = world.start(stdout=full)
    peer = listener.accept()
    peer.read_hello()
    peer.send(b"answer\n")
    assert host.wait() == 1
    assert host.stderr().count("\n") == 1


def test_a_daemon_that_ends_first_is_told_after_its_last_words_were_passed_on(world: World) -> None:
    host, peer = world.connect()
    words = lines_of(MEBIBYTE, b"last words")
    sending = in_thread(lambda: send_and_close(peer, words))
    assert host.stdout.read() == words
    join(sending)
    assert host.wait() == 1
    assert host.stderr().count("\n") == 1


def test_a_daemon_that_ends_in_the_middle_of_a_request_is_no_failure_of_its_own(world: World) -> None:
    host, peer = world.connect()
    filled = fill(host.stdin.fileno())
    assert filled
    peer.send(b"refused\n")
    peer.close()
    assert host.stdout.read() == b"refused\n"
    assert host.wait() == 1


def test_a_daemon_that_stops_reading_may_still_answer(world: World) -> None:
    host, peer = world.connect()
    peer.connection.shutdown(socket.SHUT_RD)
    host.write(lines_of(MEBIBYTE, b"unread"))
    peer.send(b"answer\n")
    assert host.stdout.readline() == b"answer\n"
    host.stdin.close()
    peer.close()
    assert host.wait() == 0


def test_a_host_that_sends_on_while_the_daemon_ends_never_hangs(world: World) -> None:
    host, peer = world.connect()

    def write() -> None:
        with pytest.raises(BrokenPipeError):
            host.write(lines_of(8 * MEBIBYTE, b"on"))

    writing = in_thread(write)
    eventually(lambda: bool(select.select([peer.connection], [], [], 0)[0]), "bytes arrive")
    peer.close()
    assert host.wait() == 1
    join(writing)
