from __future__ import annotations

import fcntl
import os
import select
import socket
import subprocess

import pytest

from tests.shim.flows import (
    MEBIBYTE,
    assert_idle,
    fill,
    in_thread,
    join,
    lines_of,
    wait_until_nothing_moves,
    write_and_end,
)
from tests.shim.world import END, LIMIT, MODULE, PLAIN, Peer, World


@pytest.mark.parametrize("form", [PLAIN, MODULE], ids=["plain file", "module"])
def test_bytes_go_both_ways_unchanged(form: tuple[str, ...], world: World) -> None:
    host, peer = world.connect(form=form)
    host.write(b'{"id":1}\n')
    assert peer.read_line() == b'{"id":1}\n'
    peer.send(b'{"result":1}\n\xff\x00half')
    assert host.stdout.readline() == b'{"result":1}\n'
    peer.send(b" and half\n")
    assert host.stdout.readline() == b"\xff\x00half and half\n"


def test_nothing_that_lies_beside_the_package_stands_in_for_a_module_of_python(world: World) -> None:
    form = world.plant()
    for name in ("__future__", "select", "_socket", "errno", "posixpath"):
        (world.tree / f"{name}.py").write_text("raise SystemExit(99)")
    listener = world.listen()
    world.start("--workspace", "..", form=form)
    listener.accept().read_hello()


def test_the_first_bytes_are_the_hello_even_if_stdin_is_full_already(world: World) -> None:
    listener = world.listen()
    reader, writer = os.pipe()
    os.write(writer, b'{"id":1}\n')
    os.close(writer)
    world.start(stdin=reader)
    os.close(reader)
    peer = listener.accept()
    peer.read_hello()
    assert peer.read_rest() == b'{"id":1}\n' + END


@pytest.mark.parametrize(
    "length", [65535, 65536, 65537, MEBIBYTE + 1, 17 * MEBIBYTE], ids=lambda length: f"{length} bytes"
)
def test_a_long_line_comes_intact_both_ways(length: int, world: World) -> None:
    host, peer = world.connect()
    line = lines_of(length, b"long").replace(b"\n", b" ")[:-1] + b"\n"
    threads = in_thread(peer.echo), in_thread(lambda: write_and_end(host, line))
    assert host.stdout.read() == line
    join(*threads)
    assert host.wait() == 0


@pytest.mark.slow
def test_twenty_mebibytes_each_way_at_once_arrive_though_both_are_read_late(world: World) -> None:
    host, peer = world.connect()
    up, down = lines_of(20 * MEBIBYTE, b"up"), lines_of(20 * MEBIBYTE, b"down")
    got: list[bytes] = []

    def serve() -> None:
        peer.send(down)  # and reads nothing meanwhile
        got.append(peer.read_rest())
        peer.close()

    served, written = in_thread(serve), in_thread(lambda: write_and_end(host, up))
    wait_until_nothing_moves(host)
    assert_idle(host)
    assert host.stdout.read() == down
    join(served, written)
    assert got == [up + END]
    assert host.wait() == 0


@pytest.mark.slow
def test_an_echo_whose_every_buffer_is_full_gets_going_again(world: World) -> None:
    host, peer = world.connect()
    echoing = in_thread(peer.echo)
    filled = fill(host.stdin.fileno())
    assert_idle(host)
    os.set_blocking(host.stdin.fileno(), True)
    written = in_thread(host.stdin.close)
    assert len(host.stdout.read()) == filled
    join(echoing, written)
    assert host.wait() == 0


@pytest.mark.parametrize("kind", ["pipe", "socket"])
def test_a_host_that_reads_nothing_can_still_send(kind: str, world: World) -> None:
    listener = world.listen()
    reader, writer = (end.detach() for end in socket.socketpair()) if kind == "socket" else os.pipe()
    host = world.start(stdout=writer)
    os.close(writer)
    peer = listener.accept()
    peer.read_hello()
    peer.send(b"not a whole page\n")
    assert select.select([reader], [], [], LIMIT)[0]
    fill(peer.connection.fileno())
    peer.connection.settimeout(LIMIT)
    host.write(b"cancel\n")
    assert peer.read_line() == b"cancel\n"
    os.close(reader)


@pytest.mark.slow
def test_what_is_under_way_is_bounded(world: World) -> None:
    host, peer = world.connect()
    assert fill(host.stdin.fileno()) < 4 * MEBIBYTE  # the shim's buffer, and those of the pipe and the socket
    assert fill(peer.connection.fileno()) < 4 * MEBIBYTE


def test_an_idle_shim_costs_nothing(world: World) -> None:
    host, peer = world.connect()
    assert_idle(host, peer.connection.fileno())


def test_a_shim_that_waits_for_the_last_answer_costs_nothing(world: World) -> None:
    host, peer = world.connect()
    host.stdin.close()
    assert peer.read_rest() == END
    assert_idle(host, host.stdout.fileno())


@pytest.mark.slow
def test_a_shim_whose_host_reads_nothing_costs_nothing_when_the_daemon_has_ended(world: World) -> None:
    listener = world.listen()
    host = world.start()
    peer = listener.accept()
    peer.read_hello()
    filled = fill(peer.connection.fileno())
    peer.close()
    assert_idle(host)
    host.stdin.close()
    assert len(host.stdout.read()) == filled
    assert host.wait() == 0


def test_the_descriptors_of_the_host_stay_as_they_were(world: World) -> None:
    listener = world.listen()
    pipes = [os.pipe(), os.pipe()]
    ours, theirs = (pipes[0][1], pipes[1][0]), (pipes[0][0], pipes[1][1])
    flags = [fcntl.fcntl(descriptor, fcntl.F_GETFL) for descriptor in theirs]
    world.start(stdin=theirs[0], stdout=theirs[1])
    peer = listener.accept()
    peer.read_hello()
    os.write(ours[0], b"a\n")
    assert peer.read_line() == b"a\n"
    peer.send(b"b\n")
    assert os.read(ours[1], 10) == b"b\n"
    assert [fcntl.fcntl(descriptor, fcntl.F_GETFL) for descriptor in theirs] == flags
    for descriptor in (*ours, *theirs):
        os.close(descriptor)


def test_sockets_serve_as_stdin_and_stdout(world: World) -> None:
    """What Node gives its children."""
    listener = world.listen()
    (ours_in, theirs_in), (ours_out, theirs_out) = socket.socketpair(), socket.socketpair()
    with ours_in, ours_out:
        with theirs_in, theirs_out:
            host = world.start(stdin=theirs_in.fileno(), stdout=theirs_out.fileno())
        peer = listener.accept()
        peer.read_hello()
        lines = lines_of(3 * MEBIBYTE, b"node")
        echoing = in_thread(peer.echo)

        def write() -> None:
            ours_in.sendall(lines)
            ours_in.shutdown(socket.SHUT_WR)

        writing = in_thread(write)
        assert Peer(ours_out).read_rest() == lines
        join(echoing, writing)
        assert host.wait() == 0


@pytest.mark.parametrize("way", ["closed", "shut for reading"])
def test_a_socket_that_the_host_reads_no_more_ends_the_shim(way: str, world: World) -> None:
    listener = world.listen()
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            host = world.start(stdout=theirs.fileno())
        peer = listener.accept()
        peer.read_hello()
        if way == "closed":
            ours.close()
        else:
            ours.shutdown(socket.SHUT_RD)
            peer.send(b"answer\n")
        assert host.wait() == 0
    assert host.stderr() == ""


def test_stdin_may_be_a_file(world: World) -> None:
    listener = world.listen()
    requests = world.base / "requests"
    requests.write_bytes(lines_of(MEBIBYTE, b"file"))
    with requests.open("rb") as file:
        host = world.start(stdin=file)
    peer = listener.accept()
    peer.read_hello()
    echoing = in_thread(peer.echo)
    assert host.stdout.read() == requests.read_bytes()
    join(echoing)
    assert host.wait() == 0


def test_stdout_may_be_a_file(world: World) -> None:
    listener = world.listen()
    answers = world.base / "answers"
    with answers.open("wb") as file:
        host = world.start(stdout=file)
    peer = listener.accept()
    peer.read_hello()
    echoing = in_thread(peer.echo)
    write_and_end(host, lines_of(MEBIBYTE, b"file"))
    join(echoing)
    assert host.wait() == 0
    assert answers.read_bytes() == lines_of(MEBIBYTE, b"file")


def test_both_may_be_dev_null(world: World) -> None:
    listener = world.listen()
    host = world.start(stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    peer = listener.accept()
    peer.read_hello()
    assert peer.read_rest() == END
    peer.send(lines_of(MEBIBYTE, b"null"))
    peer.close()
    assert host.wait() == 0


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_descriptor_is_never_taken_by_the_connection(closed: str, world: World) -> None:
    listener = world.listen()
    host = world.start(form=("/bin/sh", "-c", f'exec "$@" {closed}', "sh", *PLAIN))
    peer = listener.accept()
    peer.read_hello()
    if "<" in closed:
        assert peer.read_rest() == END
    else:
        host.write(b"a\n")
        assert peer.read_line() == b"a\n"
        host.stdin.close()
        assert peer.read_rest() == END
    peer.send(b"b\n")
    peer.close()
    assert host.wait() == 0
    assert host.stdout.read() == (b"" if ">&- " in f"{closed} ".replace("2>&- ", "") else b"b\n")
