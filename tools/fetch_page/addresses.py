"""Which network addresses a host has, and which of them may be connected to.

A public address is one that anybody on the internet means by it. All others (this machine, its
network, its provider's) may show a page that only this machine is shown, so they are refused.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from .errors import ConnectError

SocketAddress = tuple[str, int] | tuple[str, int, int, int]
"""What `connect` of a socket takes: an address and a port, in IPv6 with flow and zone."""

Resolve = Callable[[str, int], Sequence[SocketAddress]]
"""Finds the addresses of a host; raises ConnectError if there are none."""

Network = IPv4Network | IPv6Network

EVERYWHERE: Final = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))

GLOBAL_UNICAST: Final = IPv6Network("2000::/3")
"""All of IPv6 that is given out to anybody: what lies elsewhere is no public address."""

NAT64: Final = IPv6Network("64:ff9b::/96")
"""IPv4 addresses as hosts that have IPv6 alone see them (RFC 6052)."""

SPECIAL: Final = tuple(
    map(
        ip_network,
        (
            "192.0.0.0/24",  # protocol assignments, some of which older Pythons take for public
            "192.88.99.0/24",  # relays of 6to4: the nearest one, whoever that is
            "2001::/23",  # protocol assignments, with Teredo, which leads to an IPv4 address
            "3fff::/20",  # documentation; newer than Python 3.11
        ),
    )
)
"""What the standard library of some version calls public, and is not."""


def look_up(host: str, port: int) -> list[SocketAddress]:
    """Ask the system for a host's addresses; it takes as long as the system lets it."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or error
        raise ConnectError(f"the host {host} can't be found: {why}; check its name") from None
    families = (socket.AF_INET, socket.AF_INET6)
    return [address for family, _, _, _, address in found if family in families]  # type: ignore[misc]


def may_connect(text: str, allowed: Iterable[Network]) -> bool:
    """Whether an address may be connected to: a public one, or one of those that are allowed."""
    return any(ip_address(text) in network for network in allowed) or is_public(text)


def is_public(text: str) -> bool:
    """Whether an address is one on the public internet, also if it only stands for another."""
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        inner = embedded(address)
        if inner is None:
            return address in GLOBAL_UNICAST and is_ordinary(address)
        address = inner
    return is_ordinary(address)


def embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address where what is sent to an IPv6 address comes out."""
    if address in NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour


def is_ordinary(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is in no block that is set apart."""
    return (
        address.is_global  # it leaves out shared addresses too, which are neither private nor public
        and not address.is_multicast
        and not address.is_reserved
        and not any(address in network for network in SPECIAL)
    )
