"""What can go wrong with a fetch. Each error's text is for whoever asked: what, where, and what to do.

FetchError
├── UrlError              the address is none that is fetched
├── RefusedAddressError   the host is at a private address
├── ConnectError          no such host, no connection, no trust, or the connection broke
├── TooSlowError          the time for the whole fetch is over
├── RedirectError         too many redirects, or they go round in a circle
├── ProtocolError         what came is no proper HTTP, or more of it than is taken
├── StatusError           the server answered with an error
├── ContentError          what came is no text
└── NotConvertedError     it came, and can't be made readable
"""

from __future__ import annotations


class FetchError(Exception):
    """A page can't be had."""


class UrlError(FetchError):
    """The address is none that is fetched."""


class RefusedAddressError(FetchError):
    """The host is at a private address, and those aren't allowed."""


class ConnectError(FetchError):
    """There is no connection, or it broke."""


class TooSlowError(FetchError):
    """The time for the whole fetch is over."""


class RedirectError(FetchError):
    """Redirects that lead nowhere."""


class ProtocolError(FetchError):
    """What the server sent can't be read as HTTP, or is too much."""


class StatusError(FetchError):
    """The server answered with an error."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class ContentError(FetchError):
    """What the server sent is no text."""


class NotConvertedError(FetchError):
    """The page is there, but it can't be made readable."""
