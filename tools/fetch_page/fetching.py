"""One fetch: request after request until a page is there, each to an address that was checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any, Final

from .connecting import Connection, Deadline, connected
from .contents import check_type, decode, decoder_for, is_html
from .errors import ConnectError, FetchError, ProtocolError, RedirectError, StatusError
from .rules import Rules
from .urls import Url, follow

MAX_TEXT: Final = 200_000
"""Characters of a page that are kept: the most that can be asked for. The same as in tool.yaml."""

MAX_HTML: Final = 1024 * 1024
"""The same of HTML, which may be made readable: its text is a small part of it, and seldom the first."""

MAX_EXCERPT: Final = 500
"""Characters of a page of error that are told: the reason stands at its beginning."""

MAX_ERROR_BODY: Final = 16 * 1024
"""Bytes of a page of error that are read for that."""

MAX_TYPE: Final = 200
"""Characters of a Content-Type: the longest in use has about a hundred."""

MAX_INTERIM: Final = 10
"""Answers that only announce the answer (such as 103 Early Hints)."""

READ_SIZE: Final = 16 * 1024

REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))

HEADERS: Final = {
    "User-Agent": "mcppd-fetch_page/1",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "close",
}


@dataclass(frozen=True, slots=True)
class Page:
    """What was fetched, as text."""

    url: str  # where it came from in the end
    content_type: str  # as the server named it, empty if it didn't
    text: str
    whole: bool  # the text is all of it, and not its first part
    storable: bool = True  # the server has nothing against its being kept


def fetch(url: Url, rules: Rules) -> Page:
    """GET a page, through redirects. Raises FetchError."""
    deadline = Deadline(rules.seconds)
    visited: set[Url] = set()
    while len(visited) <= rules.redirects:
        if url in visited:
            raise RedirectError(f"the redirects go round in a circle: {url} leads to itself")
        visited.add(url)
        match request(url, rules, deadline):
            case Page() as page:
                return page
            case Url() as url:
                pass  # the next hop, which is checked as the first one was
    raise RedirectError(f"more than {rules.redirects} redirects, the last one to {url}")


def request(url: Url, rules: Rules, deadline: Deadline) -> Page | Url:
    """Ask for one URL: the page, or where it is instead. Raises FetchError."""
    with connected(url, rules, deadline) as connection, understood(url):
        response = exchange(url, connection, rules)
        location = header(response, "Location")
        if response.status in REDIRECTS and location:
            return follow(url, location)
        connection.allow(rules.wire)
        if not 200 <= response.status < 300:  # noqa: PLR2004 - RFC 9110, 15.3
            raise refusal(url, response, rules)
        return page_of(url, response, rules.body)


@contextmanager
def understood(url: Url) -> Iterator[None]:
    """What is no proper HTTP becomes a ProtocolError."""
    try:
        yield
    except (HTTPException, ValueError) as error:
        if isinstance(error, OSError):  # the connection's; http.client and ssl call some of those both
            raise
        why = f"{type(error).__name__} {error}"[:MAX_EXCERPT]
        raise ProtocolError(f"what {url.authority} sent is no proper HTTP: {clean(why)}") from None


def exchange(url: Url, connection: Connection, rules: Rules) -> HTTPResponse:
    """Send the request, and read the answer up to its body."""
    connection.allow(rules.head)
    as_socket: Any = connection
    client = HTTPConnection(url.host, url.port)
    client.sock = as_socket
    client.request("GET", url.target, headers={"Host": url.authority, **HEADERS})
    for _ in range(MAX_INTERIM):
        response = HTTPResponse(as_socket, method="GET")
        response.begin()
        if response.status >= 200:  # noqa: PLR2004 - RFC 9110, 15.2
            return response
    raise ProtocolError(f"{url.authority} only announces an answer, again and again")


def header(response: HTTPResponse, name: str) -> str:
    """A header's text; bytes beyond ASCII are UTF-8, if they are anything."""
    value = response.headers.get(name) or ""
    return str(value).encode("latin-1", "replace").decode("utf-8", "replace").strip()


def page_of(url: Url, response: HTTPResponse, limit: int) -> Page:
    """The page in a response: its text, or as much of it as may ever be asked for."""
    content_type = clean(header(response, "Content-Type"))[:MAX_TYPE]
    check_type(content_type)
    body, whole = read_body(url, response, limit)
    text = decode(body, content_type, whole=whole)
    storable = "no-store" not in header(response, "Cache-Control").lower()
    most = MAX_HTML if is_html(content_type) else MAX_TEXT
    return Page(str(url), content_type, text[:most], whole and len(text) <= most, storable)


def read_body(url: Url, response: HTTPResponse, limit: int) -> tuple[bytes, bool]:
    """A body without its compression, up to a limit; and whether that is all of it."""
    framing = header(response, "Transfer-Encoding").lower()
    if framing not in ("", "chunked", "identity"):
        raise ProtocolError(
            f"{url.authority} sends the page in a way that wasn't asked for: {framing[:100]!r}"
        )
    decoder = decoder_for(header(response, "Content-Encoding"))
    body = bytearray()
    while data := response.read1(READ_SIZE):
        body += decoder.feed(data, limit - len(body))
        if len(body) > limit:
            return bytes(body[:limit]), False
    if response.length or not decoder.ended:
        raise ConnectError(f"{url.authority} ended the connection before all of the page had come; try again")
    return bytes(body), True


def refusal(url: Url, response: HTTPResponse, rules: Rules) -> StatusError:
    """The error for an answer that isn't a page, with the reason that it gives."""
    try:
        page = page_of(url, response, min(rules.body, MAX_ERROR_BODY))
        excerpt = clean(page.text)[:MAX_EXCERPT]
    except (FetchError, HTTPException, OSError, ValueError):
        excerpt = ""  # the status says enough
    reason = clean(response.reason)[:100]
    said = f"{url} answered HTTP {response.status} {reason}".rstrip()
    return StatusError(response.status, f"{said}: {excerpt}" if excerpt else said)


def clean(text: str) -> str:
    """The text in one line, without what can't be seen or turns round what can."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())
