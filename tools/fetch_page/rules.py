"""What a fetch may do: how long, how far and how much. Tests make the limits small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .addresses import Network, Resolve, look_up

MAX_SECONDS: Final = 20.0
"""For the whole fetch, from the look-up of the name to the last byte: below the 30 s that a call has by default."""

MAX_REDIRECTS: Final = 10
"""Real pages need up to four; others stop at 20 or more."""

MAX_HEAD: Final = 64 * 1024
"""Bytes of a status line and headers: servers send at most 32 KiB, and mostly refuse to take more than that."""

MAX_BODY: Final = 1024 * 1024
"""Bytes of a body after decompression: the longest text that can be asked for is 800 kB in any encoding."""

MAX_WIRE: Final = 4 * MAX_BODY
"""Bytes of a body as they come: small chunks are mostly framing, and compressed nothing has no end."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The limits of one fetch, and who is asked for addresses."""

    allowed: tuple[Network, ...] = ()  # may be connected to although they are no public addresses
    seconds: float = MAX_SECONDS
    redirects: int = MAX_REDIRECTS
    head: int = MAX_HEAD
    body: int = MAX_BODY
    wire: int = MAX_WIRE
    resolve: Resolve = look_up
