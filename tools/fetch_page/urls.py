"""Addresses of pages as text: which are taken, and in which one form each is fetched and remembered."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from .errors import UrlError

PORTS: Final = {"http": 80, "https": 443}
"""The schemes that are fetched, with the port of each; never a file, whoever names it."""

MAX_URL: Final = 8000
"""Characters: what HTTP asks every server to take (RFC 9110, 4.1). The same as in tool.yaml."""

MAX_HOST: Final = 253
"""Characters of a host's name in the DNS."""

SHOWN: Final = 200
"""Characters of a faulty address that an error repeats."""

CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
"""Parsers drop some of these silently, so that two of them may see two hosts in one address."""

HOST: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")

SAFE: Final = "%/?:@!$&'()*+,;=[]|"
"""Characters of a path and query that are sent as they are; others are percent-encoded."""


@dataclass(frozen=True, slots=True)
class Url:
    """A page's address, in the form in which it is requested: no fragment, all ASCII."""

    scheme: str
    host: str
    port: int
    target: str  # path and query

    @property
    def authority(self) -> str:
        """The host as the Host header has it, with the port unless it goes without saying."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"


def parse_url(text: str) -> Url:
    """Read an address. Raises UrlError."""
    text = checked(text)
    try:
        parts = urlsplit(text)
        port = parts.port
        target = quote(parts.path or "/", SAFE) + (f"?{quote(parts.query, SAFE)}" if parts.query else "")
    except ValueError as error:
        raise UrlError(f"{text[:SHOWN]!r} is no URL: {error}") from None
    if parts.scheme not in PORTS:
        raise UrlError(f"{text[:SHOWN]!r} can't be fetched: a URL begins with http:// or https://")
    if "@" in parts.netloc:
        raise UrlError(
            "a URL with a user name or password in it is not fetched, since it would be sent and logged; "
            "leave out what stands before the @"
        )
    if port == 0:
        raise UrlError(f"{text[:SHOWN]!r} can't be fetched: there is no port 0")
    host = host_of(parts.hostname or "")
    if "[" in parts.netloc and ":" not in host:
        raise UrlError(f"{text[:SHOWN]!r} can't be fetched: what stands in brackets is no IPv6 address")
    return Url(parts.scheme, host, port or PORTS[parts.scheme], target)


def follow(url: Url, location: str) -> Url:
    """Where a redirect leads, which may be told relative to where it comes from. Raises UrlError."""
    location = checked(location)
    try:
        return parse_url(urljoin(str(url), location))
    except (UrlError, ValueError) as error:
        raise UrlError(f"{url} redirects to an address that is not fetched: {error}") from None


def checked(text: str) -> str:
    """The text without blanks around it, if it can be parsed at all."""
    text = text.strip()
    if len(text) > MAX_URL:
        raise UrlError(f"the URL is longer than {MAX_URL} characters: {text[:SHOWN]!r} …")
    if CONTROL.search(text):
        raise UrlError(f"{text[:SHOWN]!r} is no URL: there are control characters in it")
    return text


def host_of(name: str) -> str:
    """The host in ASCII: an address without brackets, or a name as the DNS and certificates have it."""
    try:
        return str(ip_address(name if "%" not in name else ""))  # zones are names of this machine's own
    except ValueError:
        pass  # it is a name
    try:
        host = name.encode("idna").decode("ascii").lower().removesuffix(".") if len(name) <= MAX_HOST else ""
    except UnicodeError:
        host = ""
    if len(host) > MAX_HOST or not HOST.fullmatch(host):
        raise UrlError(f"{name[:SHOWN]!r} is not the name of a host")
    return host
