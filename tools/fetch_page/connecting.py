"""A connection to the very address that was checked, with one limit of time over all that happens on it."""

from __future__ import annotations

import io
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from .addresses import SocketAddress, may_connect
from .errors import ConnectError, FetchError, ProtocolError, RefusedAddressError, TooSlowError
from .rules import Rules
from .urls import Url

MAX_ADDRESSES: Final = 6
"""Addresses of one host that are tried: whoever owns a name must not have us knock at a thousand doors."""

Found = TypeVar("Found")


class Deadline:
    """When a fetch has to be over, whatever it is doing then."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left. Raises TooSlowError if there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise self.missed()
        return left

    def missed(self) -> TooSlowError:
        """The error for what took too long."""
        return TooSlowError(f"it took longer than {self._seconds:g} s, and was given up; try again later")


class Stream(io.RawIOBase):
    """What comes from the server: as long as there is time, and as much of it as is allowed."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        super().__init__()
        self._connection = connection
        self._deadline = deadline
        self._limit = self._allowed = 0

    def allow(self, limit: int) -> None:
        """Let so many bytes through from now on."""
        self._limit = self._allowed = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """What a buffered reader calls; nothing at the end."""
        if self._allowed <= 0:
            raise ProtocolError(f"the server sent more than the {self._limit} bytes that are taken")
        self._connection.settimeout(self._deadline.left())
        count = self._connection.recv_into(memoryview(buffer)[: self._allowed])
        self._allowed -= count
        return count


class Reader(io.BufferedReader):
    """The buffer that all answers on a connection are read from."""

    def close(self) -> None:
        """Stay open: an answer that is through closes what it was read from, and another may follow."""

    def flush(self) -> None:
        """Do nothing, as there is nothing to write; an answer that is forgotten may call it later than all else."""


class Connection:
    """A socket as http.client uses one; all its readers read from one buffer."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._stream = Stream(connection, deadline)
        self._reader = Reader(self._stream)

    def allow(self, limit: int) -> None:
        """Let so many bytes more be received; none are to begin with."""
        self._stream.allow(limit)

    def sendall(self, data: bytes) -> None:
        """Send a request."""
        self._connection.settimeout(self._deadline.left())
        self._connection.sendall(data)

    def makefile(self, mode: str) -> io.BufferedIOBase:
        """What a response is read from."""
        return self._reader

    def close(self) -> None:
        """Leave the socket open: it belongs to whoever opened it."""


@contextmanager
def connected(url: Url, rules: Rules, deadline: Deadline) -> Iterator[Connection]:
    """A connection to a URL's host, closed at the end; what breaks it meanwhile is a FetchError."""
    try:
        with dial(allowed_addresses(url, rules, deadline), deadline) as plain:
            if url.scheme == "http":
                yield Connection(plain, deadline)
                return
            with secured(plain, url, deadline) as secure:
                yield Connection(secure, deadline)
    except OSError as error:
        raise in_words(error, url, deadline) from None


def in_words(error: OSError, url: Url, deadline: Deadline) -> FetchError:
    """What the system says about a connection, for whoever asked for the page."""
    match error:
        case TimeoutError(errno=None):  # the limit of a socket; with a number it is the peer's silence
            return deadline.missed()
        case ssl.SSLCertVerificationError():
            why = error.verify_message
            return ConnectError(f"{url.host} can't prove that it is the host of that name: {why}")
        case _:
            why = error.strerror or str(error)
            return ConnectError(f"no connection to {url.authority}, or it broke: {why}")


def allowed_addresses(url: Url, rules: Rules, deadline: Deadline) -> list[SocketAddress]:
    """Where a host may be connected to; the only look-up of its name. Raises RefusedAddressError."""
    found = in_time(lambda: rules.resolve(url.host, url.port), deadline)
    allowed = [address for address in found if may_connect(address[0], rules.allowed)]
    if found and not allowed:
        at = "" if url.host == found[0][0] else f", which is at {found[0][0]},"
        raise RefusedAddressError(
            f"{url.host}{at} is not on the public internet, and private addresses are refused. A person can "
            "allow them with `env: {FETCH_PAGE_ALLOW_PRIVATE: '1'}` at this module's entry in tools.yaml"
        )
    return allowed[:MAX_ADDRESSES]


def in_time(action: Callable[[], Found], deadline: Deadline) -> Found:
    """Do what can't be given a limit of time, and don't wait for it any longer than there is time."""
    future: Future[Found] = Future()

    def run() -> None:
        try:
            future.set_result(action())
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return future.result(deadline.left())


def dial(addresses: Sequence[SocketAddress], deadline: Deadline) -> socket.socket:
    """Connect to the first address that answers; each has its share of the time that is left."""
    failed: OSError | FetchError = ConnectError("the host has no address")
    for tried, address in enumerate(addresses):
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        connection = socket.socket(family, socket.SOCK_STREAM)
        try:
            connection.settimeout(deadline.left() / (len(addresses) - tried))
            connection.connect(address)
        except OSError as error:
            connection.close()
            failed = error
        else:
            return connection
    raise failed


def secured(plain: socket.socket, url: Url, deadline: Deadline) -> ssl.SSLSocket:
    """TLS with whoever can prove to be the host that the URL names, whatever address it is at."""
    context = ssl.create_default_context()
    plain.settimeout(deadline.left())
    return context.wrap_socket(plain, server_hostname=url.host)
