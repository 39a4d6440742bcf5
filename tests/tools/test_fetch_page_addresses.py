"""The bundled module `fetch_page`: which URLs and which network addresses are let through."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Sequence
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.fetch_page_peer import Visit, get, redirect, response, serving
from tools.fetch_page.addresses import EVERYWHERE, SocketAddress, is_public, look_up, may_connect
from tools.fetch_page.connecting import Deadline, allowed_addresses
from tools.fetch_page.errors import ConnectError, RefusedAddressError, TooSlowError, UrlError
from tools.fetch_page.rules import Rules
from tools.fetch_page.urls import follow, parse_url

PRIVATE = [
    *("127.0.0.1", "127.255.255.255", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"),
    *("169.254.169.254", "0.0.0.0", "0.1.2.3", "100.64.0.1", "192.0.0.8", "192.0.0.170", "192.0.2.1"),
    *("198.18.0.1", "198.51.100.1", "203.0.113.1", "192.88.99.1", "224.0.0.1", "239.1.2.3", "240.0.0.1"),
    *("255.255.255.255", "::", "::1", "fc00::1", "fd12:3456::1", "fe80::1", "fe80::1%eth0", "fec0::1"),
    *("ff02::1", "ff0e::1", "2001:db8::1", "3fff::1", "100::1", "5f00::1", "4000::1", "2001::1", "2001:2::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "::127.0.0.1"),
    *("64:ff9b::127.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b::169.254.169.254", "64:ff9b:1::8.8.8.8"),
    *("2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::", "2002:c0a8:101::", "::ffff:0:127.0.0.1"),
    "2001:0:7f00:1::",
]

PUBLIC = [
    *("8.8.8.8", "1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "192.0.1.1", "223.255.255.255"),
    *("2606:4700:4700::1111", "2a00:1450:4001::1", "2003::1"),
    *("::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"),
]


@pytest.mark.parametrize("address", PRIVATE)
def test_an_address_that_is_not_of_the_public_internet_is_refused(address: str) -> None:
    assert not is_public(address)
    assert not may_connect(address, ())
    assert may_connect(address, EVERYWHERE)


@pytest.mark.parametrize("address", PUBLIC)
def test_an_address_of_the_public_internet_is_let_through(address: str) -> None:
    assert is_public(address)
    assert may_connect(address, ())


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "localhost",
            "localhost.",
            "LOCALHOST",
            "127.1",
            "0x7f.1",
            "2130706433",
            "017700000001",
        ),
        *("[::1]", "[::ffff:127.0.0.1]", "[0:0:0:0:0:0:0:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "0"),
        *("１２７.0.0.1", "127。0。0。1", "ⓛocalhost", "10.0.0.1", "169.254.169.254", "[fd00::1]"),
    ],
)
def test_no_spelling_of_a_private_host_is_let_through(host: str) -> None:
    url = parse_url(f"http://{host}/")
    with pytest.raises(RefusedAddressError):
        allowed_addresses(url, Rules(), Deadline(10))


def answers(*addresses: str) -> Rules:
    """Rules under which every name is at the given addresses."""
    found: list[SocketAddress] = [(address, 80) for address in addresses]
    return Rules(resolve=lambda host, port: found)


@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "::ffff:192.168.0.1", "64:ff9b::a00:1"])
def test_a_name_that_the_dns_sends_to_a_private_address_is_refused(address: str) -> None:
    with pytest.raises(RefusedAddressError):
        allowed_addresses(parse_url("http://harmless.test/"), answers(address), Deadline(10))


def test_of_several_addresses_only_the_public_ones_are_used() -> None:
    rules = answers("127.0.0.1", "8.8.8.8", "10.0.0.1", "2606:4700::1")
    found = allowed_addresses(parse_url("http://harmless.test/"), rules, Deadline(10))
    assert [address[0] for address in found] == ["8.8.8.8", "2606:4700::1"]


def test_of_a_thousand_addresses_only_a_few_are_tried() -> None:
    rules = answers(*(f"8.8.{number // 250}.{number % 250}" for number in range(1000)))
    assert len(allowed_addresses(parse_url("http://harmless.test/"), rules, Deadline(10))) < 10


class Names:
    """A resolver whose answers come one after the other."""

    def __init__(self, *answers: Sequence[SocketAddress]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    def __call__(self, host: str, port: int) -> Sequence[SocketAddress]:
        self.asked.append(host)
        return self._answers.pop(0)


def test_the_address_that_was_checked_is_the_one_that_is_connected_to() -> None:
    with serving(response(b"checked")) as peer:
        names = Names([("127.0.0.1", peer.port)], [("10.0.0.1", 80)])  # the second: a name that is rebound
        page = get("http://rebound.test/", allowed=(ip_network("127.0.0.1"),), resolve=names)
        assert (page.text, names.asked) == ("checked", ["rebound.test"])
        assert b"\r\nHost: rebound.test\r\n" in peer.visits[0].request


def test_each_hop_is_looked_up_and_checked_anew() -> None:
    with serving(redirect("/next")) as peer:
        names = Names([("127.0.0.1", peer.port)], [("127.0.0.2", peer.port)])
        with pytest.raises(RefusedAddressError):
            get("http://rebound.test/", allowed=(ip_network("127.0.0.1"),), resolve=names)
        assert peer.paths == ["/"]


@pytest.mark.parametrize("target", ["http://127.0.0.2:{port}/x", "//127.0.0.2:{port}/x", "http://[::1]/"])
def test_a_redirect_to_a_private_address_is_refused(target: str) -> None:
    def answer(visit: Visit) -> None:
        visit.send(redirect(target.format(port=peer.port)))

    with serving(answer) as peer:
        with pytest.raises(RefusedAddressError):
            get(f"{peer.url}/start", allowed=(ip_network("127.0.0.1"),))
        assert peer.paths == ["/start"]


@pytest.mark.parametrize(
    "target",
    [
        *("file:///etc/passwd", "ftp://127.0.0.1/", "gopher://x/", "javascript:1", "data:text/plain,x"),
        *("http://u:p@127.0.0.1/", "http://127.0.0.1:0/", "http://[::1", "http://a\x01b/", "https:///x"),
    ],
)
def test_a_redirect_to_what_is_no_page_is_refused(target: str) -> None:
    with serving(redirect(target)) as peer, pytest.raises(UrlError):
        get(peer.url)


def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    with serving(response()) as peer:
        names = Names([("127.0.0.2", peer.port), ("::1", peer.port), ("127.0.0.1", peer.port)])
        assert get("http://several.test/", resolve=names).text == "hello"


def test_a_host_that_nobody_listens_at_is_an_error() -> None:
    with serving(response()) as peer:
        url = peer.url
    with pytest.raises(ConnectError):
        get(url)


def test_a_host_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ConnectError):
        look_up("nowhere.invalid", 80)
    with pytest.raises(ConnectError):
        get("http://nowhere.test/", resolve=Names([]))


def test_a_look_up_that_hangs_costs_no_more_than_the_time_of_the_fetch() -> None:
    over = threading.Event()

    def hang(host: str, port: int) -> list[SocketAddress]:
        over.wait(10)
        return []

    started = time.monotonic()
    with pytest.raises(TooSlowError):
        get("http://slow.test/", resolve=hang, seconds=0.1)
    over.set()
    assert time.monotonic() - started < 3


def test_a_host_that_never_accepts_has_its_share_of_the_time_and_no_more() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        waiting = []
        for _ in range(
            3
        ):  # the queue of a listener that never accepts: those after it are left without an answer
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(full.getsockname())
        with serving(response()) as peer:
            names = Names([full.getsockname(), ("127.0.0.1", peer.port)])
            assert get("http://several.test/", resolve=names, seconds=0.6).text == "hello"
        with pytest.raises(TooSlowError):
            get("http://full.test/", resolve=Names([full.getsockname()]), seconds=0.2)
        for connection in waiting:
            connection.close()


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.com", "http://example.com/"),
        ("  HTTP://EXAMPLE.com:80/A?b=1#c ", "http://example.com/A?b=1"),
        ("https://example.com:443/", "https://example.com/"),
        ("https://example.com:8443?q", "https://example.com:8443/?q"),
        ("http://example.com./", "http://example.com/"),
        ("http://bücher.example/ü b?ü=%20", "http://xn--bcher-kva.example/%C3%BC%20b?%C3%BC=%20"),
        ("http://[2001:DB8:0::1]:8080/", "http://[2001:db8::1]:8080/"),
        ("http://my_host/a;b=1/%41'(*)", "http://my_host/a;b=1/%41'(*)"),
        ("http://example.com/a\\b<c>", "http://example.com/a%5Cb%3Cc%3E"),
    ],
)
def test_a_url_has_one_form_in_which_it_is_fetched(text: str, url: str) -> None:
    assert str(parse_url(text)) == url


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "example.com",
            "//example.com",
            "file:///etc/passwd",
            "ftp://example.com/",
            "ws://example.com/",
        ),
        *("http://", "http:///x", "http:example.com", "http://user@example.com/", "http://u:p@example.com/"),
        *("http://example.com:0/", "http://example.com:65536/", "http://example.com:x/", "http://[::1/"),
        *(
            "http://exa mple.com/",
            "http://a..b/",
            "http://-\\x/",
            "http://example.com\\@evil.test/",
            "http://%31/",
        ),
        *("http://exa\nmple.com/", "http://example.com/\r\nX: y", "http://example.com/\0", "http://\ud800/"),
        *(
            "http://example.com/\ud800",
            "http://[fe80::1%25eth0]/",
            "http://" + "a" * 64 + ".test/",
            "http://.",
        ),
        *("http://example.com/" + "a" * 8000, "http://" + "a." * 200 + "test/", "http://[v1.x]/"),
    ],
)
def test_what_is_no_url_of_a_page_is_refused(text: str) -> None:
    with pytest.raises(UrlError):
        parse_url(text)


@given(text=st.text(max_size=40) | st.text(alphabet="htp:/[]@?#%.a1é\\ ", max_size=20))
def test_whatever_is_taken_for_a_url_is_taken_for_the_same_again(text: str) -> None:
    for candidate in (text, f"http://{text}"):
        try:
            url = parse_url(candidate)
        except UrlError:
            continue
        assert str(url).isascii()
        assert not set(str(url)) & set(" \r\n\t\0")
        assert parse_url(str(url)) == url


@given(location=st.text(max_size=40) | st.text(alphabet="htp:/[]@?#%.a1é\\ ", max_size=20))
def test_a_redirect_leads_to_a_url_or_to_an_error(location: str) -> None:
    with contextlib.suppress(UrlError):
        assert follow(parse_url("http://example.com/a/b?c"), location).scheme in ("http", "https")
