"""The requests of one client that are being served: each gets one answer, or none where it is cancelled."""

from __future__ import annotations

from mcppd.core.draining import resend
from mcppd.core.effects import Cancel, Effect, Send, Ticket
from mcppd.core.eras_results import Answer, ResultEncoder
from mcppd.core.jsonrpc import Id


class Tickets:
    """The tickets of one session by the ids of their requests."""

    __slots__ = ("_encoder", "_open")

    def __init__(self, encoder: ResultEncoder) -> None:
        self._encoder = encoder
        self._open: dict[Id, Ticket] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, ident: Id) -> bool:
        return ident in self._open

    def open(self, ticket: Ticket) -> Ticket:
        """A request is being served from now on; no other with its id is open."""
        self._open[ticket.id] = ticket
        return ticket

    def is_open(self, ticket: Ticket) -> bool:
        """Whether it waits for its answer."""
        return self._open.get(ticket.id) is ticket

    def finish(self, ticket: Ticket, answer: Answer) -> list[bytes]:
        """The line that answers a ticket, in parts; none if it is cancelled or answered, or its batch lacks one."""
        if not self.is_open(ticket):
            return []
        batch = ticket.batch
        encoded = self._encoder.answer(ticket.id, answer, ticket.revision, b"\n" if batch is None else b"")
        del self._open[ticket.id]
        if batch is None:
            return encoded
        whole = batch.add(b"".join(encoded))
        return [] if whole is None else [whole, b"\n"]

    def cancel(self, ident: Id) -> list[Effect]:
        """What follows where the client cancels; ids of nothing (any more) come from races and are ignored."""
        ticket = self._open.pop(ident, None)
        if ticket is None:
            return []
        ticket.cancelled = True
        whole = ticket.batch.drop() if ticket.batch else None
        return [Cancel(ticket)] if whole is None else [Cancel(ticket), Send(whole + b"\n")]

    def give_back(self, ticket: Ticket) -> bytes | None:
        """The line that gives a request back which was not begun; None if that can't be any more."""
        if ticket.batch is not None or not self.is_open(ticket):
            return None
        del self._open[ticket.id]
        ticket.cancelled = True
        return resend(ticket.id) + b"\n"
