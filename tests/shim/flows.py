"""Streams that fill every buffer between a host and a daemon, and what it costs when they stand still."""

from __future__ import annotations

import hashlib
import os
import select
import threading
from collections.abc import Callable

from tests.shim.world import LIMIT, Host, Peer, cpu_seconds, eventually

MEBIBYTE = 1 << 20
# Nothing that is idle may take more: two ticks of the clock that the kernel counts with.
IDLE_CPU_SECONDS = 0.02


def lines_of(total: int, seed: bytes) -> bytes:
    """Lines that tell where something is missing, doubled or swapped."""
    line = hashlib.sha256(seed).hexdigest().encode()
    count = total // (len(line) + 10) + 1
    return b"".join([b"%08d %s\n" % (number, line) for number in range(count)])[: total - 1] + b"\n"


def in_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def join(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive()


def send_and_close(peer: Peer, data: bytes) -> None:
    peer.send(data)
    peer.close()


def write_and_end(host: Host, data: bytes) -> None:
    host.write(data)
    host.stdin.close()


def fill(descriptor: int, data: bytes = b"x" * 65535 + b"\n") -> int:
    """Write lines until nothing is taken any more: then every buffer on the way is full."""
    os.set_blocking(descriptor, False)
    filled = 0
    while select.select([], [descriptor], [], 0.5)[1]:
        try:
            filled += os.write(descriptor, data)
        except BlockingIOError:
            continue
    return filled


def assert_idle(host: Host, *silent: int) -> None:
    """Nothing happens for a while, and that costs nothing."""
    before = cpu_seconds(host.pid)
    assert select.select(silent, [], [], 0.7)[0] == []
    assert host.process.poll() is None
    assert cpu_seconds(host.pid) - before <= IDLE_CPU_SECONDS


def wait_until_nothing_moves(host: Host) -> None:
    def is_still() -> bool:
        before = cpu_seconds(host.pid)
        select.select([], [], [], 0.2)
        return cpu_seconds(host.pid) == before

    eventually(is_still, "every buffer is full")
