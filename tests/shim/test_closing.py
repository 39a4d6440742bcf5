from __future__ import annotations

import os
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
from tests.shim.world import END, LIMIT, World, eventually


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


def test_a_host_that_says_that_it_ends_has_ended(world: World) -> None:
    host, peer = world.connect()
    said = b'{"jsonrpc":"2.0","method":"exit"}\n'
    host.write(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}\n' + said)
    assert peer.read_rest() == b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}\n' + said + END
    send_and_close(peer, b'{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert host.stdout.read() == b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
    assert host.wait() == 0


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


def test_the_last_words_of_a_daemon_are_passed_on_and_the_next_one_is_found(world: World) -> None:
    listener = world.listen()
    host = world.start()
    peer = listener.accept()
    peer.read_hello()
    words = lines_of(MEBIBYTE, b"last words")
    sending = in_thread(lambda: send_and_close(peer, words))
    assert host.stdout.read(len(words)) == words
    join(sending)
    following = listener.accept()
    following.read_hello()
    following.send(b"first words\n")
    assert host.stdout.readline() == b"first words\n"
    assert host.stderr() == ""


def test_half_a_line_of_a_daemon_that_ended_is_passed_on_to_nobody(world: World) -> None:
    listener = world.listen()
    host = world.start()
    peer = listener.accept()
    send_and_close(peer, b'whole\n{"jsonrpc":"2.0","id":1,"resu')
    listener.accept().send(b"next\n")
    assert host.stdout.readline() == b"whole\n"
    assert host.stdout.readline() == b"next\n"


def test_lines_that_a_daemon_ended_upon_reach_the_next_one_whole(world: World) -> None:
    listener = world.listen()
    host = world.start()
    peer = listener.accept()
    peer.read_hello()
    line = b"%s\n" % (b"x" * 65535)
    writing = in_thread(lambda: write_and_end(host, line * 200))
    peer.connection.recv(100)  # and no more
    peer.close()
    following = listener.accept()
    following.read_hello()
    following.connection.settimeout(LIMIT)
    rest = following.read_rest()
    join(writing)
    assert rest.endswith(line + END)
    assert rest.removesuffix(END).replace(line, b"") == b""


def test_a_daemon_that_stops_reading_may_still_answer(world: World) -> None:
    host, peer = world.connect()
    peer.connection.shutdown(socket.SHUT_RD)
    host.write(lines_of(MEBIBYTE, b"unread"))
    peer.send(b"answer\n")
    assert host.stdout.readline() == b"answer\n"


def test_a_host_that_ends_while_there_is_no_daemon_and_nothing_asked_is_not_waited_for(world: World) -> None:
    host = world.start(form=world.plant())
    eventually(world.log.exists, "it has tried to start a daemon")
    host.stdin.close()
    assert host.wait() == 0
    assert host.stdout.read() == b""
    assert host.stderr() == ""
