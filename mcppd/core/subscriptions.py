"""What one client is told unasked: changed lists and updated resources, in each era's own way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from mcppd.core.effects import ServerInfo
from mcppd.core.eras_modern import Listens, read_wishes
from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.jsonrpc import Id, encode_notification, encode_value
from mcppd.core.kinds import Kind
from mcppd.core.known_lists import KnownLists

LIMIT: Final = 1000
"""Resources and listens that one connection may be subscribed to: far more than a client shows a person."""

_CHANGES: Final[tuple[tuple[frozenset[Kind], str, str], ...]] = (
    (frozenset(("tools",)), "toolsListChanged", "notifications/tools/list_changed"),
    (frozenset(("prompts",)), "promptsListChanged", "notifications/prompts/list_changed"),
    (
        frozenset(("resources", "resourceTemplates")),
        "resourcesListChanged",
        "notifications/resources/list_changed",
    ),
)
"""What kinds a list_changed notification is about, and what a listen calls it."""


class Subscriptions:
    """What one connection asked to be told of."""

    __slots__ = ("_listens", "_uris", "known")

    def __init__(self, server: ServerInfo) -> None:
        self.known = KnownLists()
        self._uris: set[str] = set()  # subscribed to by legacy requests
        self._listens = Listens(server)

    def is_listen(self, ident: Id) -> bool:
        """Whether a listen with this id is open."""
        return ident in self._listens

    def forget(self) -> None:
        """A new handshake: what was subscribed to in the session before is over; listens belong to none."""
        self._uris.clear()

    def subscribe(self, uri: str) -> None:
        """Tell of a resource from now on, whether there is one or not. Raises ProtocolError."""
        if uri not in self._uris:
            self._admit(1)
            self._uris.add(uri)

    def unsubscribe(self, uri: str) -> None:
        """Tell of a resource no more; nothing happens if it wasn't."""
        self._uris.discard(uri)

    def listen(self, ident: Id, params: Mapping[str, Any]) -> bytes:
        """Open a listen: its acknowledgement. Raises ProtocolError."""
        wishes = read_wishes(params)
        self._admit(wishes.size)
        return self._listens.open(ident, wishes)

    def close(self, ident: Id) -> bool:
        """Close a listen; whether it was open."""
        return self._listens.close(ident)

    def list_changed(self, kinds: Collection[Kind], *, unsolicited: bool) -> list[bytes]:
        """The notifications that say that lists of these kinds have changed; the legacy ones if they may be sent."""
        messages: list[bytes] = []
        for covered, wish, method in _CHANGES:
            if not covered.isdisjoint(kinds):
                told = [encode_notification(method)] if unsolicited else []
                told += self._listens.list_changed(wish, method)
                if told:
                    self.known.told(covered)
                messages += told
        return messages

    def catch_up(self, listen: Id | None = None) -> list[bytes]:
        """What is to be told of lists that are others than the last daemon's: to one listen, else the legacy way."""
        messages: list[bytes] = []
        for covered, wish, method in _CHANGES:
            if not covered.isdisjoint(self.known.outdated):
                told = (
                    [encode_notification(method)]
                    if listen is None
                    else self._listens.list_changed(wish, method, only=listen)
                )
                if told:
                    self.known.told(covered)
                messages += told
        return messages

    def resource_updated(self, uri: str, *, unsolicited: bool) -> list[bytes]:
        """The notifications that say that a resource has changed; the legacy one if it may be sent."""
        messages: list[bytes] = []
        if unsolicited and uri in self._uris:
            params = b'{"uri":%b}' % encode_value(uri)
            messages.append(encode_notification("notifications/resources/updated", params))
        return messages + self._listens.resource_updated(uri)

    def end(self) -> list[bytes]:
        """The messages that end every open listen."""
        return self._listens.end()

    def _admit(self, more: int) -> None:
        if len(self._uris) + self._listens.size + more > LIMIT:
            text = f"Invalid params: a connection may have {LIMIT} subscriptions; end some first"
            raise ProtocolError(INVALID_PARAMS, text)
