"""The bundled module `fetch_page` against servers that are slow, endless, or lie."""

from __future__ import annotations

import gzip
import itertools
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.fetch_page_peer import Visit, get, redirect, response, serving
from tools.fetch_page.contents import decoder_for
from tools.fetch_page.errors import (
    ConnectError,
    ContentError,
    FetchError,
    ProtocolError,
    RedirectError,
    StatusError,
    TooSlowError,
)
from tools.fetch_page.fetching import MAX_TEXT
from tools.fetch_page.rules import MAX_BODY, MAX_WIRE

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

SECONDS = 0.2
"""The time for a whole fetch, where it is that which runs out."""


def endless(start: bytes, more: bytes) -> Callable[[Visit], None]:
    """Send on and on, as fast as it is taken."""

    def answer(visit: Visit) -> None:
        visit.send(start)
        while True:
            visit.send(more)

    return answer


def saying_only(data: bytes) -> Callable[[Visit], None]:
    """Send that and no more, and keep the connection."""

    def answer(visit: Visit) -> None:
        visit.send(data)
        visit.hang()

    return answer


def test_an_endless_body_is_cut_where_nobody_may_ask_for_more() -> None:
    with serving(endless(HEAD + b"\r\n", b"x" * 65536)) as peer:
        page = get(peer.url)
    assert (len(page.text), page.whole) == (MAX_TEXT, False)


def test_an_endless_body_in_chunks_is_cut_too() -> None:
    with serving(
        endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + b"x" * 4096 + b"\r\n")
    ) as peer:
        page = get(peer.url)
    assert (len(page.text), page.whole) == (MAX_TEXT, False)


@pytest.mark.parametrize(
    ("start", "more"),
    [
        (b"", b"x" * 65536),
        (b"HTTP/1.1 200 OK\r\n", b"X-Header: y\r\n" * 5000),
        (b"HTTP/1.1 200 OK\r\nX-Header: ", b"y" * 65536),
        (b"HTTP/1.1 200 OK\r\nX-Header: y\r\n", b" folded\r\n" * 5000),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 1000),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"e" * 65536),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"Trailer: x\r\n" * 5000),
    ],
)
def test_what_goes_on_for_ever_before_a_body_is_given_up(start: bytes, more: bytes) -> None:
    with serving(endless(start, more)) as peer, pytest.raises(ProtocolError):
        get(peer.url, wire=200_000)


def test_a_head_of_just_the_limit_is_taken_and_a_longer_one_is_not() -> None:
    data = response(b"")
    filler = b"X: " + b"y" * 1000 + b"\r\n"
    data = data[:-2] + filler * 10 + b"\r\n"
    with serving(data) as peer:
        assert get(peer.url, head=len(data)).text == ""
        with pytest.raises(ProtocolError):
            get(peer.url, head=len(data) - 1)


def test_more_than_a_hundred_headers_are_too_many() -> None:
    with (
        serving(response(b"x", *(f"X-{number}: y" for number in range(200)))) as peer,
        pytest.raises(ProtocolError),
    ):
        get(peer.url)


@pytest.mark.parametrize(
    "data",
    [
        HEAD + b"X-Slow: " + b"y" * 1000,
        HEAD + b"\r\n" + b"x" * 1000,
        HEAD + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 1000,
        HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"", mtime=0) * 1000,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 1000,
    ],
)
def test_a_slow_drip_is_held_against_the_time_of_the_whole_fetch(data: bytes) -> None:
    started = time.monotonic()
    with serving(lambda visit: visit.drip(data)) as peer, pytest.raises(TooSlowError):
        get(peer.url, seconds=SECONDS)
    assert SECONDS <= time.monotonic() - started < 10 * SECONDS


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200", HEAD, HEAD + b"Content-Length: 9\r\n\r\nhalf"])
def test_silence_is_held_against_the_time_of_the_whole_fetch(data: bytes) -> None:
    started = time.monotonic()
    with serving(saying_only(data)) as peer, pytest.raises(TooSlowError):
        get(peer.url, seconds=SECONDS)
    assert time.monotonic() - started < 10 * SECONDS


@pytest.mark.slow
def test_redirects_share_the_time_of_one_fetch() -> None:
    numbers = itertools.count()

    def answer(visit: Visit) -> None:
        visit.pause(0.05)
        visit.send(redirect(f"/{next(numbers)}"))

    with serving(answer) as peer:
        with pytest.raises(TooSlowError):
            get(peer.url, seconds=3 * SECONDS, redirects=100)
        assert len(peer.visits) > 1


def test_redirects_in_a_circle_end_at_the_first_page_seen_twice() -> None:
    with serving(lambda visit: visit.send(redirect({"/a": "/b", "/b": "c", "/c": "a"}[visit.path]))) as peer:
        with pytest.raises(RedirectError):
            get(f"{peer.url}/a")
        assert peer.paths == ["/a", "/b", "/c"]


def test_a_page_that_redirects_to_itself_is_an_error() -> None:
    with serving(lambda visit: visit.send(redirect(visit.path + "#again"))) as peer:
        with pytest.raises(RedirectError):
            get(f"{peer.url}/a")
        assert peer.paths == ["/a"]


def test_redirects_are_followed_up_to_the_limit_and_no_further() -> None:
    def answer(visit: Visit) -> None:
        number = int(visit.path[1:])
        visit.send(redirect(f"/{number - 1}") if number else response(b"there"))

    with serving(answer) as peer:
        assert get(f"{peer.url}/10").text == "there"
        with pytest.raises(RedirectError):
            get(f"{peer.url}/11")


@pytest.mark.parametrize(
    "data",
    [
        b"garbage\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 99999 OK\r\n\r\n",
        b"HTTP/1.1 -20 OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"ICY 200 OK\r\n\r\n",
        b"<html>no head at all</html>",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzzz\r\nhello",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\nhello",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
        HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ],
)
def test_what_is_no_proper_http_is_an_error(data: bytes) -> None:
    with serving(data) as peer, pytest.raises(ProtocolError):
        get(peer.url)


@pytest.mark.parametrize("data", [b"", HEAD + b"Content-Length: 1000\r\n\r\nhalf"])
def test_a_connection_that_ends_early_is_an_error_and_no_short_page(data: bytes) -> None:
    with serving(data) as peer, pytest.raises(ConnectError):
        get(peer.url)


@pytest.mark.parametrize(
    "data", [b"", b"HTTP/1.1 2", HEAD + b"\r\nhalf", HEAD + b"Content-Length: 9\r\n\r\nhalf"]
)
def test_a_connection_that_is_reset_is_an_error(data: bytes) -> None:
    def answer(visit: Visit) -> None:
        visit.send(data)
        visit.reset()

    with serving(answer) as peer, pytest.raises((ConnectError, ProtocolError)):
        get(peer.url)


def test_a_length_that_is_too_small_or_no_number_does_no_harm() -> None:
    with serving(HEAD + b"Content-Length: 2\r\n\r\nhello") as peer:
        assert get(peer.url).text == "he"
    for length in (b"-1", b"many", b"9" * 5000):
        with serving(HEAD + b"Content-Length: " + length + b"\r\n\r\nhello") as peer:
            try:
                assert get(peer.url).text == "hello"
            except (ConnectError, ProtocolError):
                assert length.startswith(b"9")


@contextmanager
def little_memory() -> Iterator[None]:
    """Nothing in this takes more than a few times what a page may have."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < 8 * MAX_BODY
    finally:
        tracemalloc.stop()


def test_a_length_of_terabytes_takes_no_memory() -> None:
    with (
        serving(endless(HEAD + b"Content-Length: 9999999999999\r\n\r\n", b"x" * 65536)) as peer,
        little_memory(),
    ):
        assert not get(peer.url).whole


def bomb(encoding: str) -> bytes:
    """Fifty MiB of nothing, compressed to a thousandth."""
    packer = zlib.compressobj(wbits={"gzip": 31, "deflate": 15}[encoding])
    return b"".join([*(packer.compress(bytes(1024 * 1024)) for _ in range(50)), packer.flush()])


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_bomb_grows_no_further_than_the_limit(encoding: str) -> None:
    data = bomb(encoding)
    with serving(response(data, f"Content-Encoding: {encoding}")) as peer, little_memory():
        page = get(peer.url)
    assert (len(page.text), page.whole) == (MAX_TEXT, False)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_single_piece_of_a_bomb_is_not_unpacked_whole(encoding: str) -> None:
    assert len(decoder_for(encoding).feed(bomb(encoding), 1000)) == 1001
    first = gzip.compress(bytes(1001))
    assert len(decoder_for("gzip").feed(first + bomb("gzip"), 1000)) == 1001


def test_compressed_nothing_without_end_is_given_up() -> None:
    empty = gzip.compress(b"", mtime=0) * 3000
    with (
        serving(endless(HEAD + b"Content-Encoding: gzip\r\n\r\n", empty)) as peer,
        pytest.raises(ProtocolError),
    ):
        get(peer.url, wire=300_000)


@pytest.mark.parametrize(
    ("encoding", "data"),
    [
        ("gzip", b"no gzip at all"),
        ("gzip", gzip.compress(b"hello" * 100, mtime=0)[:10] + b"\xff" * 50),
        ("gzip", gzip.compress(b"hello", mtime=0)[:-8] + b"12345678"),
        ("deflate", b"\xff\xff\xff"),
        ("br", b"x"),
        ("zstd", b"x"),
        ("gzip, gzip", gzip.compress(gzip.compress(b"x", mtime=0), mtime=0)),
    ],
)
def test_a_compression_that_is_broken_or_was_not_asked_for_is_an_error(encoding: str, data: bytes) -> None:
    with serving(response(data, f"Content-Encoding: {encoding}")) as peer, pytest.raises(ContentError):
        get(peer.url)


def test_a_compressed_page_that_ends_early_is_an_error_and_no_short_page() -> None:
    data = gzip.compress(bytes(range(256)) * 10)
    with serving(response(data[:-9], "Content-Encoding: gzip")) as peer, pytest.raises(ConnectError):
        get(peer.url)


@pytest.mark.parametrize("size", [0, 1, 5])
def test_what_is_cut_at_the_limit_of_bytes_is_said_to_be_cut(size: int) -> None:
    with serving(response(b"x" * size)) as peer:
        page = get(peer.url, body=4)
    assert (page.text, page.whole) == ("x" * min(size, 4), size <= 4)


def test_a_page_of_error_that_never_ends_still_tells_its_status() -> None:
    head = b"HTTP/1.1 503 Busy\r\nContent-Type: text/plain\r\n\r\n"
    with serving(endless(head, b"x" * 65536)) as peer, pytest.raises(StatusError) as caught:
        get(peer.url)
    assert caught.value.status == 503
    assert len(str(caught.value)) < 1000
    with serving(saying_only(head)) as peer, pytest.raises(StatusError):
        get(peer.url, seconds=SECONDS)
    with (
        serving(saying_only(head + b"the reason " + b"x" * 20_000)) as peer,
        pytest.raises(StatusError) as caught,
    ):
        get(peer.url, seconds=5)
    assert "the reason" in str(caught.value)  # the rest was not waited for


def test_the_limits_leave_room_for_the_longest_text_in_any_encoding() -> None:
    assert MAX_BODY > MAX_TEXT * 4
    assert MAX_WIRE > MAX_BODY
    with serving(
        response(("\U0001f600" * (MAX_TEXT + 1)).encode(), content_type="text/plain; charset=utf-8")
    ) as peer:
        page = get(peer.url)
    assert (len(page.text), page.whole) == (MAX_TEXT, False)


HEADERS = st.sampled_from(
    [
        *(
            b"Content-Length: 5",
            b"Content-Length: -5",
            b"Transfer-Encoding: chunked",
            b"Content-Encoding: gzip",
        ),
        *(
            b"Content-Encoding: deflate",
            b"Content-Type: text/html",
            b"Content-Type: text/plain; charset=utf-16",
        ),
        *(
            b"Location: /",
            b"Location: http://[",
            b": ",
            b"no colon",
            b" folded",
            b"X: \xff\x00",
            b"Connection: x",
        ),
    ]
)


class Parrot:
    """An answer that is told as late as when it is asked for."""

    def __init__(self) -> None:
        self.says = b""
        self.url = ""

    def __call__(self, visit: Visit) -> None:
        visit.send(self.says)


@pytest.fixture(scope="module")
def parrot() -> Iterator[Parrot]:
    answer = Parrot()
    with serving(answer) as peer:
        answer.url = peer.url
        yield answer


@given(
    status=st.sampled_from([b"HTTP/1.1 200 OK", b"HTTP/1.0 302 \xe9", b"HTTP/1.1 404", b"HTTP/1.1 101 x"])
    | st.binary(),
    headers=st.lists(HEADERS | st.binary(max_size=20), max_size=4),
    body=st.binary(max_size=50) | st.sampled_from([gzip.compress(b"hello"), b"5\r\nhello\r\n0\r\n\r\n"]),
)
@settings(deadline=None)
def test_whatever_comes_there_is_a_page_or_an_error_that_is_told(
    parrot: Parrot, status: bytes, headers: list[bytes], body: bytes
) -> None:
    parrot.says = b"\r\n".join([status, *headers, b"", body])
    try:
        told = get(parrot.url).text
    except FetchError as error:
        told = str(error)
    told.encode()  # there is nothing in it that can't be sent on
