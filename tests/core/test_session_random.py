"""Whatever a client sends and whatever races with it: nothing raises, and every answer comes, once."""

from __future__ import annotations

import contextlib
import itertools
import json
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcppd.core.effects import (
    CallTool,
    Cancel,
    Complete,
    Effect,
    Encoded,
    GetPrompt,
    List,
    Page,
    ReadResource,
    Replied,
    Send,
    Ticket,
    Work,
)
from mcppd.core.eras import allows_batches
from mcppd.core.eras_results import Answer
from mcppd.core.errors import INVALID_PARAMS, ProtocolError, ToolError
from mcppd.core.jsonrpc import Invalid, Notification, Request, decode
from tests.core.conversation import (
    CAPABILITIES,
    CLIENT,
    NEWEST,
    OK,
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
        "notifications": st.sampled_from(
            [{"toolsListChanged": True}, {"resourceSubscriptions": ["a:b"]}, {}, 1]
        ),
        "uri": st.sampled_from(["a:b", None]),
        "level": st.sampled_from(["debug", "emergency", None]),
        "ref": st.sampled_from([{"type": "ref/prompt", "name": "p"}, None]),
        "argument": st.sampled_from([{"name": "a", "value": ""}, 1]),
        "inputResponses": st.sampled_from([{}, 1]),
        "requestState": st.sampled_from(["", 1]),
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
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "logging/setLevel",
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
    lambda about, number, outcome: {"jsonrpc": "2.0", "id": f"mcppd:{about}:{number}", **outcome},
    st.sampled_from(["roots", "ask", "ask"]),
    st.integers(0, 5),
    st.sampled_from([{"result": {"roots": []}}, {"result": None}, {"error": {"code": -1, "message": "no"}}]),
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
    st.tuples(st.just("log"), st.integers(0, 9)),
    st.tuples(st.just("ask"), st.integers(0, 9)),
    st.tuples(st.just("drop"), st.integers(0, 5)),
    st.tuples(st.just("change"), st.none()),
    st.tuples(st.just("update"), st.none()),
    st.tuples(st.just("end"), st.none()),
)


class Ledger:
    """Counts what is due and what was answered, from outside of the session."""

    def __init__(self) -> None:
        self.client = Conversation()
        self.due: Counter[Any] = Counter()
        self.answered: Counter[Any] = Counter()
        self.works: dict[Ticket, Work] = {}
        self.questions: set[str] = set()
        self.steps = itertools.count(1)
        self.listens: set[Any] = set()

    @property
    def tickets(self) -> list[Ticket]:
        """Every ticket there was."""
        return list(self.works)

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
            case CallTool() | GetPrompt() | ReadResource() | Complete() | List():
                self.works[effect.ticket] = effect
            case Cancel(ticket):
                self.due[ticket.id] -= 1
            case Replied(question):
                self.questions.remove(question)  # asked, and not answered before
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
        message = self.client.finish(ticket, answer or fitting(self.works[ticket]))
        self.read(None if message is None else json.dumps(message).encode())

    def play(self, turn: str, value: Any) -> None:
        """What the client or serving does."""
        match turn:
            case "send":
                self.send(json.dumps(value).encode())
            case "bytes":
                self.send(value.replace(b"\n", b""))
            case "drop":
                self.drop(f"mcppd:ask:{value}")
            case "change":
                self.change()
            case "update":
                told = self.client.told(self.client.session.resource_updated("a:b"))
                assert all(each["params"]["uri"] == "a:b" for each in told)
            case "end":
                for line in self.client.session.end_listens():
                    self.read(line)
                self.listens.clear()
            case _ if self.works:
                self.serve(turn, self.tickets[value % len(self.works)])

    def serve(self, turn: str, ticket: Ticket) -> None:
        """Something is done for a ticket, also if it is long over."""
        session = self.client.session
        match turn:
            case "finish":
                self.finish(ticket)
            case "fail":
                self.finish(ticket, ProtocolError(INVALID_PARAMS, "no"))
            case "progress":
                line = session.speech.progress(ticket, next(self.steps), None, "m")
                assert (
                    line is None or self.client.read(line)["params"]["progressToken"] == ticket.progress_token
                )
            case "log":
                line = session.speech.log(ticket, "error", "echo", b"1")
                assert line is None or self.client.read(line)["method"] == "notifications/message"
            case "ask" if not ticket.modern:
                with contextlib.suppress(ToolError):
                    question, line = session.ask(ticket, "roots/list", {})
                    assert json.loads(line)["id"] == question
                    self.questions.add(question)

    def drop(self, question: str) -> None:
        """A question is taken back, if it is open."""
        line = self.client.session.drop_question(question)
        assert (line is not None) is (question in self.questions)
        self.questions.discard(question)

    def change(self) -> None:
        """The list of tools changes."""
        session = self.client.session
        told = self.client.told(session.list_changed(["tools"]))
        subscribed = [each["params"]["_meta"][SUBSCRIPTION] for each in told if "params" in each]
        assert set(subscribed) <= self.listens
        assert len(told) - len(subscribed) == session.initialized


def fitting(work: Work) -> Answer:
    """An answer as serving would give it."""
    match work:
        case CallTool():
            return OK
        case GetPrompt():
            return Encoded("prompt", b'{"messages":[{"role":"user","content":{"type":"text","text":"x"}}]}')
        case ReadResource(_, uri):
            return Encoded("contents", json.dumps([{"uri": uri, "text": "x"}]).encode())
        case Complete():
            return Encoded("completion", b'{"values":[]}')
        case List(_, kind):
            return Page(kind, b"[]")


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(turns, max_size=25))
def test_every_request_is_answered_once_whatever_is_sent_and_whatever_races(
    played: list[tuple[str, Any]],
) -> None:
    ledger = Ledger()
    session = ledger.client.session
    for turn, value in played:
        ledger.play(turn, value)
    assert session.in_flight <= len(ledger.works)
    for ticket in ledger.tickets:
        ledger.finish(ticket)
        ledger.finish(ticket)
    for line in session.end_listens():
        ledger.read(line)
    assert session.in_flight == 0
    assert +ledger.answered == +ledger.due
