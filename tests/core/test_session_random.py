"""Whatever a client sends and whatever races with it: nothing raises, and every answer comes, once."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcppd.core.eras import allows_batches
from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.jsonrpc import Invalid, Notification, Request, decode
from mcppd.core.session import Answer, CallTool, Cancel, Effect, ListTools, Send, Ticket
from tests.core.conversation import (
    CAPABILITIES,
    CLIENT,
    NEWEST,
    OK,
    PAGE,
    SUBSCRIPTION,
    VERSION,
    Conversation,
)

ids = st.sampled_from([1, 2, "1", "a", 10**30])
metas = st.fixed_dictionaries(
    {},
    optional={
        VERSION: st.sampled_from([NEWEST, NEWEST, NEWEST, "2030-01-01", 1]),
        CAPABILITIES: st.sampled_from([{}, {}, {}, None]),
        CLIENT: st.sampled_from([{"name": "c", "version": "1"}, {}]),
        "progressToken": st.sampled_from([1, "t", None, []]),
    },
)
modern_meta = st.just({VERSION: NEWEST, CAPABILITIES: {}, "progressToken": "t"})
params = st.fixed_dictionaries(
    {},
    optional={
        "_meta": metas | modern_meta | modern_meta,
        "name": st.sampled_from(["echo", "echo", None]),
        "arguments": st.sampled_from([{}, None, []]),
        "cursor": st.sampled_from(["", 1]),
        "notifications": st.sampled_from([{"toolsListChanged": True}, {}, 1]),
        "protocolVersion": st.sampled_from(["2025-03-26", "2025-03-26", "2025-11-25", NEWEST, None]),
        "capabilities": st.sampled_from([{}, {"roots": {}}]),
        "requestId": ids,
    },
)
methods = st.sampled_from(
    [
        "initialize",
        "ping",
        "shutdown",
        "exit",
        "tools/list",
        "tools/call",
        "server/discover",
        "subscriptions/listen",
        "nonsense",
        "mcppd/hello",
        "mcppd/end",
        "notifications/initialized",
        "notifications/roots/list_changed",
    ]
)
requests = st.fixed_dictionaries(
    {
        "jsonrpc": st.just("2.0"),
        "id": ids,
        "method": methods,
        "params": params | st.sampled_from([[], None, 1]),
    }
)
calls = st.builds(
    lambda ident, meta: {
        "jsonrpc": "2.0", "id": ident, "method": "tools/call", "params": {"name": "echo", "_meta": meta}
    },
    ids,
    st.just({}) | modern_meta,
)  # fmt: skip
notifications = st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "method": methods, "params": params})
cancels = st.builds(
    lambda ident: {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": ident}}, ids
)
responses = st.builds(
    lambda number: {"jsonrpc": "2.0", "id": f"mcppd:roots:{number}", "result": {"roots": []}},
    st.integers(0, 3),
)
noise = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.sampled_from(["2.0", 1]),
        "id": ids | st.none(),
        "method": methods,
        "x": st.text(),
    },
)
messages = requests | calls | notifications | cancels | responses | noise | st.integers()
handshake = st.just(
    {"jsonrpc": "2.0", "id": "hs", "method": "initialize", "params": {"protocolVersion": "2025-03-26"}}
)
sent = messages | handshake | st.lists(messages, max_size=5)
turns = st.one_of(
    st.tuples(st.just("send"), sent),
    st.tuples(st.just("bytes"), st.binary(max_size=20)),
    st.tuples(st.just("finish"), st.integers(0, 9)),
    st.tuples(st.just("fail"), st.integers(0, 9)),
    st.tuples(st.just("progress"), st.integers(0, 9)),
    st.tuples(st.just("change"), st.none()),
    st.tuples(st.just("end"), st.none()),
)


class Ledger:
    """Counts what is due and what was answered, from outside of the session."""

    def __init__(self) -> None:
        self.client = Conversation()
        self.due: Counter[Any] = Counter()
        self.answered: Counter[Any] = Counter()
        self.tickets: list[Ticket] = []
        self.listens: set[Any] = set()

    def send(self, line: bytes) -> None:
        """Send a line, and note what it asks for and what it gets."""
        message = decode(line)
        if isinstance(message, tuple) and not (message and allows_batches(self.client.session.revision)):
            self.due[None] += 1
        else:
            for each in message if isinstance(message, tuple) else [message]:
                if isinstance(each, Request | Invalid):
                    self.due[each.id] += 1
                elif isinstance(each, Notification) and each.method == "notifications/cancelled":
                    self._cancelled(each)
        for effect in self.client.send(line):
            self.note(effect)

    def _cancelled(self, message: Notification) -> None:
        ident = message.params.get("requestId")
        if ident in self.listens:
            self.listens.remove(ident)
            self.due[ident] -= 1

    def note(self, effect: Effect) -> None:
        match effect:
            case Send(data):
                self.read(data)
            case CallTool(ticket) | ListTools(ticket):
                self.tickets.append(ticket)
            case Cancel(ticket):
                self.due[ticket.id] -= 1
            case _:
                pass

    def read(self, line: bytes | None) -> None:
        message = [] if line is None else json.loads(line)
        for each in message if isinstance(message, list) else [message]:
            if each.get("method") == "notifications/subscriptions/acknowledged":
                self.listens.add(each["params"]["_meta"][SUBSCRIPTION])
            elif "method" not in each:
                self.answered[each["id"]] += 1
                assert self.answered[each["id"]] <= self.due[each["id"]]

    def finish(self, ticket: Ticket, answer: Answer | None = None) -> None:
        """Answer a ticket with what fits it, or with something else."""
        message = self.client.finish(ticket, answer or (PAGE if ticket.method == "tools/list" else OK))
        self.read(None if message is None else json.dumps(message).encode())


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(turns, max_size=25))
def test_every_request_is_answered_once_whatever_is_sent_and_whatever_races(
    played: list[tuple[str, Any]],
) -> None:
    ledger = Ledger()
    session = ledger.client.session
    for turn, value in played:
        match turn:
            case "send":
                ledger.send(json.dumps(value).encode())
            case "bytes":
                ledger.send(value.replace(b"\n", b""))
            case "finish" if ledger.tickets:
                ledger.finish(ledger.tickets[value % len(ledger.tickets)])
            case "fail" if ledger.tickets:
                ledger.finish(
                    ledger.tickets[value % len(ledger.tickets)], ProtocolError(INVALID_PARAMS, "no")
                )
            case "progress" if ledger.tickets:
                ticket = ledger.tickets[value % len(ledger.tickets)]
                line = session.progress(ticket, value, None, "m")
                assert (
                    line is None
                    or ledger.client.read(line)["params"]["progressToken"] == ticket.progress_token
                )
            case "change":
                tagged = [ledger.client.read(line) for line in session.tools_changed()]
                subscribed = [each["params"]["_meta"][SUBSCRIPTION] for each in tagged if "params" in each]
                assert set(subscribed) <= ledger.listens
                assert len(tagged) - len(subscribed) == session.initialized
            case "end":
                for line in session.end_listens():
                    ledger.read(line)
                ledger.listens.clear()
    assert session.in_flight <= len(ledger.tickets)
    for ticket in ledger.tickets:
        ledger.finish(ticket)
        ledger.finish(ticket)
    for line in session.end_listens():
        ledger.read(line)
    assert session.in_flight == 0
    assert +ledger.answered == +ledger.due
