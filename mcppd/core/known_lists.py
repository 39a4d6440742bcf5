"""The lists that a client has, as its shim and we tell each other their hashes (D21, `mcppd/lists`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mcppd.core.jsonrpc import encode_notification, encode_value
from mcppd.core.kinds import KINDS, Kind


class KnownLists:
    """What one client has of the lists, and what it has still to be told.

    A hash is told only when its list is the client's business no more: after the notification, so that one that is lost
    with the connection is made good by the next daemon.
    """

    __slots__ = ("_owed", "_said", "outdated")

    def __init__(self) -> None:
        self.outdated: set[Kind] = set()
        """What the client had from another daemon in another form, and hasn't listed since."""
        self._owed: dict[Kind, str] = {}  # of those that nobody was told of: the hash that the client has
        self._said: bytes | None = None

    @property
    def owes(self) -> bool:
        """Whether the client still has to be told of a list."""
        return bool(self._owed)

    def compare(self, known: Any, served: Mapping[Kind, str]) -> None:
        """Take in what a hello says of them: hashes by kind, of which any may be missing."""
        had = known if isinstance(known, dict) else {}
        different = [kind for kind in KINDS if isinstance(had.get(kind), str) and had[kind] != served[kind]]
        self._owed = {kind: had[kind] for kind in different}
        self.outdated = set(different)

    def told(self, kinds: Collection[Kind]) -> None:
        """The client was notified."""
        for kind in kinds:
            self._owed.pop(kind, None)

    def listed(self, kind: Kind) -> None:
        """The client lists it anew, from the beginning."""
        self.outdated.discard(kind)
        self.told((kind,))

    def word(self, served: Mapping[Kind, str]) -> bytes | None:
        """The line of the word that says what the client has now; None if the last said the same."""
        hashes = {kind: self._owed.get(kind, served[kind]) for kind in KINDS}
        line = encode_notification("mcppd/lists", b'{"hashes":%b}' % encode_value(hashes)) + b"\n"
        is_news = line != self._said
        self._said = line
        return line if is_news else None
