"""One agent's connection: frames in, effects carried out, answers out."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from typing import Any, Final

from mcppd.core.calls import Spent
from mcppd.core.draining import HANDOVER, STOP, Draining
from mcppd.core.effects import (
    CallTool,
    Cancel,
    ClientInfo,
    Close,
    Complete,
    Effect,
    End,
    GetPrompt,
    Hello,
    List,
    ReadResource,
    Replied,
    Roots,
    Send,
    Ticket,
    Work,
)
from mcppd.core.eras_results import Answer
from mcppd.core.errors import INTERNAL_ERROR, INVALID_REQUEST, ProtocolError
from mcppd.core.framing import Overlong
from mcppd.core.jsonrpc import encode_error
from mcppd.core.kinds import Kind
from mcppd.core.results import ToolResult
from mcppd.core.session import Session
from mcppd.core.values import value
from mcppd.core.workspace import Hints
from mcppd.serving.answers import Caller
from mcppd.serving.asking import Asking
from mcppd.serving.callbacks import callbacks_of
from mcppd.serving.room import Room
from mcppd.transport.link import Link

logger = logging.getLogger("mcppd.serving")

IN_FLIGHT_LIMIT: Final = 1000
"""Requests of one connection that may be open; beyond it nothing is read from it until some are answered."""


@value
class Running:
    """A request that is being served."""

    task: asyncio.Task[None]
    spent: Spent


class Connection:
    """One connected client, straight on the socket or behind a shim."""

    def __init__(self, link: Link[bytes | Overlong], session: Session, caller: Caller, room: Room) -> None:
        self.session = session
        self.caller = caller
        self.client: ClientInfo | None = None  # as it said last: modern ones say it with each request
        self.calls = 0
        self.since = time.monotonic()
        self._link = link
        self._room = room
        self._asking = Asking(session, link.send, room.signing, room.answers.checks)
        self._running: dict[Ticket, Running] = {}
        self._is_shim = False
        self._known_lists: Any = None  # what the shim's hello said of them
        self._owes_lists = False
        self._is_refused = False
        self._is_ending = False  # the client will ask nothing more
        self._has_ended = False  # nor can it
        self._is_moving = False
        self._is_paused = False
        caller.roots_known.set()  # until a client says that it has roots
        if room.refusal is not None:
            self.session.drain(Draining(room.refusal, gives_back=False))

    @property
    def unrepeatable(self) -> set[asyncio.Task[None]]:
        """What is served and nobody would ask for again: calls, and all that a client without a shim waits for."""
        return {
            each.task
            for ticket, each in self._running.items()
            if not self._is_shim or ticket.method == "tools/call"
        }

    @property
    def in_flight(self) -> int:
        """How many requests are being served."""
        return len(self._running)

    def notify_list_changed(self, kinds: Collection[Kind]) -> bool:
        """Say that lists changed to a client that wants to know; whether it does."""
        return self._say(self.session.list_changed(kinds))

    def notify_resource_updated(self, uri: str) -> bool:
        """Say that a resource changed to a client that subscribed to it; whether it did."""
        return self._say(self.session.resource_updated(uri))

    def tell_lists(self) -> None:
        """Tell the shim which lists its client has now, after any notification of them."""
        if self._is_shim and self._room.lists is not None:
            word = self.session.lists.word(self._room.lists)
            self._say([] if word is None else [word])

    def compare_lists(self) -> None:
        """Notify the client of the lists that it has from another daemon and that are others here."""
        if self._is_shim and self._room.lists is not None:
            self._say(self.session.compare_lists(self._known_lists, self._room.lists))
            self._owes_lists = self.session.lists.owes
            self.tell_lists()

    def drain(self, refusal: ToolResult) -> None:
        """Begin no call from now on; those that haven't begun go back to the shim."""
        self.session.drain(Draining(refusal, gives_back=self._is_shim))
        for ticket, running in list(self._running.items()):
            if self._is_shim and ticket.method == "tools/call" and not running.spent.has_begun:
                line = self.session.give_back(ticket)
                if line is not None:
                    self._running.pop(ticket).task.cancel()
                    self._link.send(line)

    def say_stopped(self) -> None:
        """Tell the shim that a person stopped the daemon."""
        if self._is_shim:
            self._link.send(STOP)

    def hand_over(self) -> None:
        """Send the shim to whoever has the socket now; others are told goodbye, when they have said who they are."""
        if not self._is_shim:
            if self.session.has_begun:
                self.say_goodbye()
            return
        self._is_moving = True
        self._link.pause(paused=False)
        self._link.send(HANDOVER)
        if self._has_ended:
            self._link.close()

    def notify_log(self, level: str, logger: str, text: str) -> bool:
        """Log something that belongs to no request, for a client that asked for such messages; whether it did."""
        return self._say(self.session.speech.log_news(level, logger, text))

    def say_goodbye(self) -> None:
        """End the listens, but for those that go on at the next daemon, and close: the daemon is stopping."""
        if not self._is_shim:
            self._link.send(b"".join(self.session.end_listens()))
        self._link.close()

    # what the link calls

    def receive(self, frame: bytes | Overlong) -> None:
        """Take the next line."""
        if self._is_refused:
            return
        was_asked = self.session.wants_roots
        effects = self.session.overlong() if isinstance(frame, Overlong) else self.session.receive(frame)
        if self.session.wants_roots and not was_asked:
            self.caller.roots_known.clear()  # first calls wait for the answer
        size = 0 if isinstance(frame, Overlong) else len(frame)
        for effect in effects:
            self._carry_out(effect, size)
        self._meet(self.session.client)
        if self._owes_lists:
            self._owes_lists = self.session.lists.owes
            self.tell_lists()
        if self._room.is_moving and not self._is_moving:
            self.hand_over()
        if not (self._is_paused or self._is_moving) and self.in_flight > IN_FLIGHT_LIMIT:
            self._is_paused = True
            self._link.pause(paused=True)

    def ended(self) -> None:
        """The client has ended its writing side: after `mcppd/end` it waits for answers, else it is gone (D10)."""
        self._has_ended = True
        if self._is_ending and not self._is_moving and (self._running or self.session.has_given_back):
            self._link.watch_hangup(self._link.abort)
        else:
            self._link.close()

    def closed(self) -> None:
        """The client is gone: nobody waits for what is running."""
        for running in self._running.values():
            running.task.cancel()
        self._room.left(self)

    # inside

    def _carry_out(self, effect: Effect, size: int) -> None:
        match effect:
            case Send(data):
                self._link.send(data)
            case CallTool() | GetPrompt() | ReadResource() | Complete() | List():
                self._run(effect, size)
            case Replied():
                self._asking.replied(effect)
            case Cancel(ticket):
                if (running := self._running.pop(ticket, None)) is not None:
                    running.task.cancel()
            case Hello(params):
                self._greet(params)
            case End():
                self._is_ending = True
                self._asking.end()
                self._close_when_done()
            case Close():
                self._link.close()
            case Roots(uris):
                self.caller.roots = uris
                self.caller.roots_known.set()

    def _meet(self, client: ClientInfo | None) -> None:
        if client is not None and client is not self.client:
            is_first, self.client = self.client is None, client
            if is_first:
                self._room.introduced(self)

    def _say(self, lines: list[bytes]) -> bool:
        if lines:
            self._link.send(b"".join(lines))
        return bool(lines)

    def _run(self, effect: Work, size: int) -> None:
        self.calls += isinstance(effect, CallTool)
        self._meet(effect.ticket.client)
        spent = Spent()
        self._running[effect.ticket] = Running(self._room.spawn(self._serve(effect, size, spent)), spent)

    async def _serve(self, effect: Work, size: int, spent: Spent) -> None:
        """One request, in its own task: its answer is encoded and written once."""
        ticket = effect.ticket
        answer: Answer
        try:
            callbacks = callbacks_of(effect, self.session, self._link.send, self._asking.callback(effect))
            answer = await self._room.answers.answer(self.caller, effect, size, callbacks, spent)
        except ProtocolError as error:  # of what the client sent with it, before anybody has looked at it
            answer = error
        finally:
            self._running.pop(ticket, None)
        try:
            line = self.session.finish_in_parts(ticket, answer)
        except Exception:
            logger.exception("an answer could not be encoded")
            line = self.session.finish_in_parts(
                ticket, ProtocolError(INTERNAL_ERROR, "Internal error: see the daemon's log")
            )
        self._link.send(*line)
        if self._is_paused and self.in_flight <= IN_FLIGHT_LIMIT:
            self._is_paused = False
            self._link.pause(paused=False)
        self._close_when_done()

    def _close_when_done(self) -> None:
        if self._is_ending and not self._running and not self.session.has_given_back:
            self._link.close()

    def _greet(self, hello: dict[str, Any]) -> None:
        """Take in what the shim says of its agent."""
        registry = hello.get("registry")
        if isinstance(registry, str) and not self._room.serves(registry):
            self._refuse(
                f"this daemon serves the registry {self._room.registry}, not {registry}: give --socket or "
                "--config of the daemon you mean, or stop this one with `mcppd stop`"
            )
            return
        self._is_shim = True
        if self._room.refusal is not None:
            self.session.drain(Draining(self._room.refusal, gives_back=True))
        if self._room.is_stopped:
            self.say_stopped()
        self._known_lists = hello.get("lists")
        self.compare_lists()
        agent = hello.get("env")
        environment = (
            {str(name): str(value) for name, value in agent.items()} if isinstance(agent, dict) else {}
        )
        self.caller.environment = self._room.environment(environment)
        self.caller.meta_tools = hello.get("meta_tools") is True
        self.caller.hints = Hints(
            _path(hello.get("workspace")), _path(hello.get("cwd")), environment.get("HOME")
        )

    def _refuse(self, why: str) -> None:
        self._is_refused = True
        logger.warning("refused a shim: %s", why)
        self._link.send(encode_error(None, INVALID_REQUEST, f"mcppd: {why}") + b"\n")
        self._link.close()


def _path(value: object) -> str | None:
    return value if isinstance(value, str) and value.startswith("/") else None
