"""Draining: what becomes of calls that come when none may begin any more, since the daemon ends or is followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcppd.core.jsonrpc import Id, Message, Request, encode_id, encode_notification
from mcppd.core.results import ToolResult

CALL: Final = "tools/call"

HANDOVER: Final = encode_notification("mcppd/handover") + b"\n"
STOP: Final = encode_notification("mcppd/stop") + b"\n"
"""Words to a shim (D21), beside `resend`."""


@dataclass(frozen=True, slots=True)
class Draining:
    """How a session treats calls from now on."""

    refusal: ToolResult
    """What a call gets from a client without a shim."""
    gives_back: bool
    """There is a shim, which asks the next daemon."""

    def unbegun(self, message: Message | tuple[Message, ...]) -> Id | None:
        """The id by which a message is given back; None if it is to be served. A batch goes back as a whole."""
        if not self.gives_back:
            return None
        requests = [
            each
            for each in (message if isinstance(message, tuple) else (message,))
            if isinstance(each, Request)
        ]
        return requests[0].id if any(each.method == CALL for each in requests) else None


def resend(ident: Id) -> bytes:
    """The word that a request was not begun and will not be answered here (D21)."""
    return encode_notification("mcppd/resend", b'{"id":%b}' % encode_id(ident))
