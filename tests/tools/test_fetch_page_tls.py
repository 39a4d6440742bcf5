"""The bundled module `fetch_page` over TLS: whoever answers has to be the host that the URL names."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest

from tests.tools.fetch_page_peer import Visit, get, redirect, response, serving
from tools.fetch_page.errors import ConnectError, ProtocolError, TooSlowError

KEY = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgNP7xcuy9Ixa9gmKm
ZTs2DU0bvk4YXNIl5d6rhqBjGCOhRANCAAQvghh8DwyDJb4EfoBRiLeWAllBzMiM
+dKimrHgqq7hEGlwNiKjjn8in9wYdD7Q2fyPZOR/J9Bt/sxZtFNXVmUz
-----END PRIVATE KEY-----
"""
CERTIFICATE = """\
-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlwYWdlLnRl
c3QwIBcNMjAwMTAxMDAwMDAwWhgPMjEyMDAxMDEwMDAwMDBaMBQxEjAQBgNVBAMM
CXBhZ2UudGVzdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABC+CGHwPDIMlvgR+
gFGIt5YCWUHMyIz50qKaseCqruEQaXA2IqOOfyKf3Bh0PtDZ/I9k5H8n0G3+zFm0
U1dWZTOjZjBkMBQGA1UdEQQNMAuCCXBhZ2UudGVzdDAMBgNVHRMBAf8EAjAAMB0G
A1UdDgQWBBS0yPwIsscrZ4AGXQqby2Qw+L9cvDAfBgNVHSMEGDAWgBS0yPwIsscr
Z4AGXQqby2Qw+L9cvDAKBggqhkjOPQQDAgNIADBFAiAI27MeaapZZYy5oGROh6Dy
Vxx/4UQ7D0/Mds+FKoHd9gIhAO1h/6JAP7MEB06C2qhbTS6MoFr3+ARJcUIH98AL
pFv5
-----END CERTIFICATE-----
"""
"""For page.test until 2120, signed by itself; the key was made for these tests and is good for nothing else."""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "page.test.pem"
    path.write_text(CERTIFICATE)
    return path


@pytest.fixture
def server(tmp_path: Path) -> ssl.SSLContext:
    """What page.test proves itself with."""
    path = tmp_path / "server.pem"
    path.write_text(KEY + CERTIFICATE)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    return context


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The certificate is one of those that this machine trusts."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))


def get_at(port: int, url: str, **limits: Any) -> str:
    """The text at a URL, whose host the DNS says is at a port of this machine."""
    return get(url, resolve=lambda host, _: [("127.0.0.1", port)], **limits).text


@pytest.mark.usefixtures("trusted")
def test_the_name_is_asked_for_and_checked_at_the_address_that_was_looked_up(server: ssl.SSLContext) -> None:
    names: list[str] = []
    server.sni_callback = lambda connection, name, context: names.append(name)
    with serving(response(b"secret"), server) as peer:
        assert get_at(peer.port, "https://page.test/x") == "secret"
        assert get_at(peer.port, "https://page.test./x") == "secret"
        assert names == ["page.test", "page.test"]
        assert b"\r\nHost: page.test\r\n" in peer.visits[0].request


@pytest.mark.usefixtures("trusted")
@pytest.mark.parametrize("host", ["other.test", "127.0.0.1", "page.test.other.test"])
def test_a_certificate_of_another_name_is_refused(server: ssl.SSLContext, host: str) -> None:
    with serving(response(), server) as peer:
        with pytest.raises(ConnectError):
            get_at(peer.port, f"https://{host}/")
        assert peer.visits == []  # nothing was asked for


def test_a_certificate_that_nobody_vouches_for_is_refused(server: ssl.SSLContext) -> None:
    with serving(response(), server) as peer:
        with pytest.raises(ConnectError):
            get_at(peer.port, "https://page.test/")
        assert peer.visits == []


def test_a_server_that_speaks_no_tls_is_an_error() -> None:
    with serving(response()) as peer, pytest.raises(ConnectError):
        get_at(peer.port, "https://page.test/")


def test_a_server_that_speaks_tls_alone_is_an_error_without_it(server: ssl.SSLContext) -> None:
    with serving(response(), server) as peer, pytest.raises((ConnectError, ProtocolError)):
        get_at(peer.port, "http://page.test/")


@pytest.mark.usefixtures("trusted")
def test_redirects_lead_from_one_to_the_other(server: ssl.SSLContext) -> None:
    with serving(response(b"there"), server) as secure, serving(redirect("https://page.test/y")) as plain:
        ports = {"start.test": plain.port, "page.test": secure.port}
        page = get("http://start.test/", resolve=lambda host, port: [("127.0.0.1", ports[host])])
    assert (page.url, page.text) == ("https://page.test/y", "there")


def test_a_handshake_that_drips_is_held_against_the_time_of_the_fetch() -> None:
    with (
        serving(lambda visit: visit.drip(b"\x16\x03\x03\x40\x00" + bytes(1000))) as peer,
        pytest.raises(TooSlowError),
    ):
        get_at(peer.port, "https://page.test/", seconds=0.3)


@pytest.mark.usefixtures("trusted")
def test_a_body_that_drips_through_tls_is_held_against_it_too(server: ssl.SSLContext) -> None:
    def answer(visit: Visit) -> None:
        visit.send(b"HTTP/1.1 200 OK\r\n\r\n")
        visit.drip(b"x" * 1000)

    with serving(answer, server) as peer, pytest.raises(TooSlowError):
        get_at(peer.port, "https://page.test/", seconds=0.3)
