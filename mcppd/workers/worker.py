"""One worker: a process that runs one generation, one request at a time (D3).

starting -> idle          the process is there and holds the generation's bytes
idle -> busy              a request was sent
busy -> idle              its answer came
any -> ended              the process is gone, or is being ended
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson

from mcppd.core.calls import CallContext
from mcppd.core.errors import McppdError, ToolError
from mcppd.core.faults import Fault
from mcppd.core.framing import BlobFraming, FramingError, encode_frame
from mcppd.core.generation import Generation
from mcppd.core.modules import Module
from mcppd.transport.link import Link
from mcppd.workers.asking import OpenQuestions, Spawn
from mcppd.workers.bounds import bounds_of
from mcppd.workers.deaths import Death, WorkerEndedError
from mcppd.workers.exchange import Answer, Clock, Exchange
from mcppd.workers.frames import encoded, fault_of, is_whole, load_frame, split
from mcppd.workers.spawning import Spawner

CHILD: Final = str(Path(__file__).with_name("child"))
"""What another interpreter runs as a worker: standard library only."""
WIRE_LIMIT: Final = 0.5
"""Seconds from the report of a death to the end of the wire, which is there already: somebody else may hold it."""
GRACE: Final = 2.0
"""Seconds a cancelled call, or a worker that is told to go, may take to end by itself."""


class State(enum.Enum):
    """What a worker is doing."""

    IDLE = "idle"
    BUSY = "busy"
    ENDED = "ended"


@dataclass(slots=True)
class Watch:
    """Who hears what a worker says besides its answers."""

    joined: Callable[[Generation], None]
    log: Callable[[Module, CallContext, str, bytes], None]  # a level and the JSON of the data
    updated: Callable[[Generation, str], None]  # the uri of a resource
    asking: Callable[[Worker], None]  # it began to wait for its client, or has stopped waiting
    spoilt: Callable[[Worker, str], None]  # what a call did that can't be put back
    spawn: Spawn


class Worker:
    """One worker process, from the daemon's side."""

    def __init__(self, module: Module, spawner: Spawner, watch: Watch) -> None:
        assert module.generation is not None
        self.generation = module.generation
        self.state = State.IDLE
        self.last_session = ""
        self.environment: Mapping[str, str] = {}  # what its last call was given
        self.is_imported = False
        self.idle_since = 0.0
        self.born_at = 0  # how many deaths its crew had counted by then
        self.number = 0
        self._spawner = spawner
        self._watch = watch
        self._link: Link[tuple[bytes, bytes]] = Link(BlobFraming())
        self._link.attach(self)
        self._death: asyncio.Future[Death] | None = None
        self._exchange: Exchange | None = None  # the last one
        self._clock = Clock(self._expired)
        self._module = module  # as it was when the last call began
        self._context: CallContext | None = None  # of the call that runs
        self._questions: OpenQuestions | None = None  # of the last call, if it asked any
        self._call = 0
        self._is_over = False  # its wire has ended
        self._is_cut = False  # and nobody had told it to go, or it said what makes no sense
        self._dead: Death | None = None

    @property
    def is_running(self) -> bool:
        """Whether its last request, if it got that far, has no answer yet."""
        return self._exchange is not None and self._exchange.is_running

    @property
    def is_asking(self) -> bool:
        """Whether its call waits for an answer of its client: then it runs nothing."""
        return self._questions is not None and self._questions.is_waiting

    async def start(self, log: str, environment: Mapping[str, str] | None) -> None:
        """Spawn the process and hand it the generation; raises SpawnError, SpawnerLostError.

        `environment` is what the module is imported with, None for the base alone.
        """
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with theirs:
            await asyncio.get_running_loop().create_connection(lambda: self._link, sock=ours)
            self._link.send(load_frame(self._module))  # it is there before anybody can read it: nobody waits
            try:
                self.number, self._death = await self._spawner.spawn(
                    theirs, log, self._command(), environment, bounds_of(self._module.settings)
                )
            except BaseException:
                self._link.abort()
                raise
        self._death.add_done_callback(self._died)

    async def prepare(self, *, run: bool, is_compiled: bool = False) -> tuple[Fault | None, str | None]:
        """Compile the generation, and with `run` import it: (fault, warning); raises WorkerEndedError."""
        answer = await self._ask({"op": "prepare", "run": run, "is_compiled": is_compiled})
        fault = fault_of(answer.header.get("fault"))
        self.is_imported = run and fault is None
        return fault, answer.header.get("warning")

    async def call(
        self,
        request: dict[str, Any],
        module: Module,
        context: CallContext,
        limit: float | None,
    ) -> Answer:
        """Run one call; `request` is the call frame, which gets its number here. Raises WorkerEndedError, TimeoutError.

        Where the call ends at a question, the reason for that is raised: whatever `context.ask` raised.
        """
        self._call = next(_CALLS)
        self._module, self._context, self._questions = module, context, None
        environment = context.environment.for_module(module.settings)
        same = environment is self.environment
        self.environment = environment
        try:
            request.update(op="call", id=self._call, env=None if same else environment)
            return await self._ask(request, limit)
        finally:
            self._context = None
            self._end_questions()

    async def wind_down(self) -> bool:
        """After a call was given up: tell the tool, give it its grace; whether the worker can go on."""
        self._say(encode_frame(orjson.dumps({"op": "cancel", "id": self._call})))
        with contextlib.suppress(TimeoutError, WorkerEndedError):
            async with asyncio.timeout(GRACE):
                assert self._exchange is not None
                await self._exchange.over()
                self._become(State.IDLE)  # busy -> idle
                return True
        await self.end()
        return False

    async def idle(self) -> None:
        """Wait until its request is answered; raises WorkerEndedError if it ends first."""
        if self.state is State.BUSY and self._exchange is not None:
            await self._exchange.over()

    async def end(self) -> Death:
        """Kill it, and wait until it and all it started are gone."""
        self.state = State.ENDED
        self._spawner.end(self.number)
        return await self.death()

    async def retire(self) -> None:
        """Let it go: the end of its wire lets it exit by itself, and after its grace it is killed."""
        self.state = State.ENDED
        self._link.close()
        try:
            async with asyncio.timeout(GRACE):
                await self.death()
        except TimeoutError:
            await self.end()

    async def death(self) -> Death:
        """How it ended, once that is known from the spawner."""
        if self._death is None:
            return Death(None)
        return await asyncio.shield(self._death)

    def when_dead(self, call: Callable[[], None]) -> None:
        """Have something called, once, when its death is known."""
        assert self._death is not None
        self._death.add_done_callback(lambda _: call())

    # what the link calls

    def receive(self, frame: tuple[bytes, bytes]) -> None:
        """Take a frame of the worker; one that makes no sense is a tool's, which has no business on the wire."""
        try:
            self._take(orjson.loads(frame[0]), frame[1])
        except (ValueError, KeyError, TypeError, AttributeError):
            self._is_cut = True
            self._spawner.end(self.number)

    def _take(self, header: Mapping[str, Any], blob: bytes) -> None:
        match header["op"]:
            case "result" if header.get("id") == self._call and is_whole(header, blob):
                self._settle(Answer(header, blob))
            case "prepared":
                self._settle(Answer(header, blob))
            case "progress" | "log" | "ask" | "withdraw" if header.get("id") == self._call and self._context:
                self._hear(self._context, header, blob)
            case "joined":
                self.generation.join(split(header["files"], blob))
                self._watch.joined(self.generation)
            case "met":
                self.generation.meet(header["missed"], header["written"])
                self._watch.joined(self.generation)
            case "spoilt":
                self._spoil(str(header["why"]))
            case "updated":
                for uri in header["uris"]:
                    self._watch.updated(self.generation, uri)
            case _:
                pass  # of a call that is over; nobody waits for it

    def _hear(self, context: CallContext, header: Mapping[str, Any], blob: bytes) -> None:
        """What the call says while somebody waits for its result."""
        match header["op"]:
            case "progress" if context.progress is not None:
                context.progress(header["progress"], header.get("total"), header.get("message"))
            case "log":
                self._watch.log(self._module, context, header["level"], blob)
            case "ask" | "withdraw":
                self._open_questions(context).take(header)

    def ended(self) -> None:
        """Its wire is at its end: it is exiting, or a tool closed the descriptor; either way it is of no use."""
        self._is_over = True
        if self.state is not State.ENDED:
            self.state, self._is_cut = State.ENDED, True  # any -> ended
            self._spawner.end(self.number)
        self._end_requests()

    def closed(self) -> None:
        """The link is gone, with what the worker had not read; what matters is the report of the death."""
        self.ended()

    # inside

    async def _ask(self, request: Mapping[str, Any], limit: float | None = None) -> Answer:
        if self.state is State.ENDED:
            raise WorkerEndedError(await self.death(), is_unread=True)
        try:
            frame = encode_frame(encoded(request))
        except FramingError as error:
            raise ToolError(f"Error: the arguments are too large: {error}") from None
        self.state = State.BUSY  # idle -> busy
        self._spawner.looking.begins(self.number)
        self._link.send(frame)
        self._exchange = Exchange()
        self._clock.start(limit)
        try:
            answer = await self._exchange.answer()
        finally:
            self._clock.stop()
        self._become(State.IDLE)  # busy -> idle
        return answer

    def _expired(self) -> None:
        if self._exchange is not None:
            self._exchange.give_up(TimeoutError())

    def _open_questions(self, context: CallContext) -> OpenQuestions:
        if self._questions is None:
            assert self._exchange is not None
            give_up = self._exchange.give_up
            self._questions = OpenQuestions(
                context.ask, self._send_reply, self._asking, give_up, self._watch.spawn
            )
        return self._questions

    def _end_questions(self) -> None:
        if self._questions is not None:
            self._questions.close()

    def _send_reply(self, number: int, reply: Mapping[str, Any]) -> None:
        head = {"op": "reply", "id": self._call, "question": number}
        try:
            frame = encode_frame(encoded({**head, **reply}))
        except McppdError as error:  # an answer that no frame can hold, or nested beyond all reason
            frame = encode_frame(encoded(head | {"error": f"the client's answer can't be used: {error}"}))
        self._say(frame)

    def _say(self, frame: bytes) -> None:
        """Send what belongs to a request that it has."""
        if self._exchange is not None:
            self._exchange.is_last = False
        self._link.send(frame)

    def _spoil(self, why: str) -> None:
        """A call has spoilt what the next ones would need; unless it keeps a state, it is on its way out."""
        self._watch.spoilt(self, why)
        if not self._module.settings.stateful:
            self.state = State.ENDED  # any -> ended
            asyncio.get_running_loop().call_later(GRACE, self._spawner.end, self.number)

    def _asking(self) -> None:
        """Its call began to wait for its client, or goes on."""
        if self.is_asking:
            self._clock.stand_still()
        else:
            self._clock.go_on()
        self._watch.asking(self)

    def _become(self, state: State) -> None:
        if self.state is not State.ENDED:
            self.state = state

    def _settle(self, answer: Answer) -> None:
        self._spawner.looking.ends(self.number)
        if self._exchange is not None:
            self._exchange.settle(answer)

    def _died(self, death: asyncio.Future[Death]) -> None:
        self.state, self._dead = State.ENDED, death.result()  # any -> ended
        self._end_requests()
        asyncio.get_running_loop().call_later(WIRE_LIMIT, lambda: self._end_requests(is_late=True))

    def _end_requests(self, *, is_late: bool = False) -> None:
        """Tell whoever waits for an answer how it ended, once both are known: its death, and the end of its wire.

        An error there means that it had not read all that was sent: then its last request never began.
        """
        if self._dead is None or not (self._is_over or is_late):
            return
        is_broken = isinstance(self._link.error, ConnectionError)
        self._link.abort()
        self._clock.close()
        if self._exchange is not None:
            death = replace(self._dead, is_cut=self._is_cut)
            self._exchange.fail(WorkerEndedError(death, is_unread=is_broken and self._exchange.is_last))

    def _command(self) -> list[str] | None:
        python = self.generation.python
        return [python, "-E", "-B", CHILD, "3"] if python else None


_CALLS = count(1)
