"""What calls ask of the client of one connection.

A legacy client is sent a request and the call waits for its response. A modern one is sent no requests: the call ends
at the question, and when the client sends it again with the answer, it runs again from its start.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from mcppd.core.calls import Ask
from mcppd.core.effects import CallTool, GetPrompt, ReadResource, Replied, Ticket, Work
from mcppd.core.eras_questions import adapt_params, missing_capability
from mcppd.core.errors import (
    INVALID_PARAMS,
    InputRequiredError,
    MissingCapabilityError,
    ProtocolError,
    ToolError,
)
from mcppd.core.questions import Question, digest_of, fault_of_answer, read_question
from mcppd.core.request_state import Binding, seal, unseal
from mcppd.core.session import Session
from mcppd.serving.filled import fitted
from mcppd.serving.seams import Checks

ANSWER_LIMIT: Final = 600.0
"""Seconds that a legacy client has for an answer: a person may have gone for a coffee, not home."""

OPEN_LIMIT: Final = 100
"""Questions of one legacy connection that may be open: far more than a person answers, and each keeps a worker
waiting; so few besides that its answers are read even where as many requests are open as may be."""

_KEY_DIGITS: Final = 12
"""Hex digits of a question's digest in its place: enough to know it by, beside its place in the order."""

_GONE: Final = "the client has ended: it can't be asked any more"

Asker: TypeAlias = CallTool | GetPrompt | ReadResource
"""A request that may ask something."""


@dataclass(frozen=True, slots=True)
class Signing:
    """What states of requests are signed with, and for whom."""

    key: bytes = field(repr=False)
    principal: str
    now: Callable[[], float] = time.time  # states outlive the daemon, whose monotonic clock doesn't


class Asking:
    """Puts questions to the client of one connection."""

    def __init__(
        self,
        session: Session,
        send: Callable[[bytes], None],
        signing: Signing,
        checks: Checks,
        limit: float = ANSWER_LIMIT,
    ) -> None:
        self._session = session
        self._send = send
        self._signing = signing
        self._checks = checks
        self._limit = limit
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._is_over = False

    def callback(self, effect: Work) -> Ask | None:
        """What a request asks with; None of one that may ask nothing (MCP, MRTR, Supported Requests).

        Raises ProtocolError where the state that a modern client sends with it isn't what we gave.
        """
        if not isinstance(effect, CallTool | GetPrompt | ReadResource):
            return None
        if effect.ticket.modern:
            return _Retried(effect, self._signing, self._checks).ask
        return lambda said: self._ask(effect.ticket, said)

    def replied(self, reply: Replied) -> None:
        """The client has answered; nothing happens where nobody waits any more."""
        future = self._waiting.get(reply.question)
        if future is None or future.done():
            return
        if reply.error is None:
            future.set_result(reply.result)
        else:
            future.set_exception(ToolError(f"the client answered with an error: {reply.error}"))

    def end(self) -> None:
        """The client will say nothing more: nobody waits for its answers, nor asks it anything."""
        self._is_over = True
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(ToolError(_GONE))

    async def _ask(self, ticket: Ticket, said: Sequence[Mapping[str, Any]]) -> list[Any]:
        """Ask a legacy client, all at once; the answers in order. Raises ToolError."""
        questions = _read(said)
        for question in questions:
            missing = missing_capability(question, ticket.capabilities, ticket.revision)
            if missing is not None:
                raise ToolError(_undeclared(ticket, question, missing))
        if self._is_over:
            raise ToolError(_GONE)
        if len(self._waiting) + len(questions) > OPEN_LIMIT:
            raise ToolError(f"the client has {len(self._waiting)} questions to answer already; ask later")
        asked: list[str] = []
        try:
            async with asyncio.timeout(self._limit):
                answers = await asyncio.gather(
                    *(self._put(ticket, question, asked) for question in questions)
                )
        except TimeoutError:
            raise ToolError(f"the client did not answer within {self._limit / 60:g} minutes") from None
        finally:
            for ident in asked:
                self._waiting.pop(ident, None)
                line = self._session.drop_question(ident)
                if line is not None:
                    self._send(line)
        return [await self._taken(*each) for each in zip(questions, answers, strict=True)]

    async def _taken(self, question: Question, answer: Any) -> Any:
        """The answer as the author's code gets it. Raises ToolError where it is none."""
        if (fault := fault_of_answer(question, answer)) is not None:
            raise ToolError(f"the client's answer can't be used: {fault}")
        taken, faults = await fitted(self._checks, question, answer)
        if faults:
            raise ToolError("the client's answer does not fit the form:\n" + "\n".join(faults))
        return taken

    def _put(self, ticket: Ticket, question: Question, asked: list[str]) -> asyncio.Future[Any]:
        """Send one question; the future of its answer."""
        params = adapt_params(question, ticket.revision, secrets.token_hex(8))
        number, line = self._session.ask(ticket, question.method, params)
        asked.append(number)
        future = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._send(line)
        return future


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question of a run, by its place in the order of asking and by what it is."""

    question: Question
    place: str

    @property
    def key(self) -> str:
        """What it is called in inputRequests: its author's word for it, if there is one."""
        return self.question.key or self.place


class _Retried:
    """The questions of one run of a modern call: those that have an answer get it, at others it ends."""

    def __init__(self, effect: Asker, signing: Signing, checks: Checks) -> None:
        self._effect = effect
        self._ticket = effect.ticket
        self._signing = signing
        self._checks = checks
        self._responses: dict[str, Any] = {}  # by key; each answers one question
        self._recorded: Mapping[str, Any] = {}  # by place: what has been used stays what it was
        self._used: dict[str, Any] = {}
        self._turn = asyncio.Lock()  # of threads that ask at once: a state holds all that is answered
        self._count = 0
        if (retry := effect.retry) is not None:
            self._responses.update(retry.responses)
            if retry.state is not None:
                self._recorded = unseal(retry.state, self._binding(), signing.key, signing.now())

    async def ask(self, said: Sequence[Mapping[str, Any]]) -> list[Any]:
        """The answers in order. Raises InputRequiredError, MissingCapabilityError, ProtocolError, ToolError."""
        async with self._turn:
            return await self._ask(said)

    async def _ask(self, said: Sequence[Mapping[str, Any]]) -> list[Any]:
        asked = [self._placed(question) for question in _read(said)]
        if len({each.key for each in asked}) < len(asked):
            raise ToolError("questions that are asked at once need different keys")
        due = {each.key: each.question for each in asked if not self._is_answered(each)}
        self._require(due.values())
        answers: list[Any] = []
        for each in asked:
            if each.key not in due and (again := await self._use(each, answers)) is not None:
                due[each.key] = again
        if due:
            state = seal(self._binding(), self._used, self._signing.key, self._signing.now())
            raise InputRequiredError({key: self._request(each) for key, each in due.items()}, state)
        return answers

    def _binding(self) -> Binding:
        """The request as a state is bound to it; worked out only where there are questions."""
        effect = self._effect
        name, arguments = (
            (effect.uri, {}) if isinstance(effect, ReadResource) else (effect.name, effect.arguments)
        )
        try:
            digest = digest_of(arguments)
        except RecursionError:
            raise ProtocolError(INVALID_PARAMS, "Invalid params: arguments are nested too deep") from None
        return Binding(self._ticket.method, name, digest, self._signing.principal)

    def _placed(self, question: Question) -> _Asked:
        self._count += 1
        return _Asked(question, f"{question.kind}-{self._count}-{question.digest[:_KEY_DIGITS]}")

    def _is_answered(self, asked: _Asked) -> bool:
        return asked.place in self._recorded or asked.key in self._responses

    def _require(self, questions: Iterable[Question]) -> None:
        required: dict[str, dict[str, Any]] = {}
        for question in questions:
            missing = missing_capability(question, self._ticket.capabilities, self._ticket.revision)
            for name, parts in (missing or {}).items():
                required.setdefault(name, {}).update(parts)
        if required:
            text = f"Missing required client capability: {', '.join(required)}"
            raise MissingCapabilityError(text, required)

    async def _use(self, asked: _Asked, answers: list[Any]) -> Question | None:
        """Take the answer to a question; the question again where a form is filled in wrongly.

        An answer that has not the shape of one is an error, information that is missing from it is asked for again
        (MCP, MRTR, Error Handling).
        """
        place, key = asked.place, asked.key
        if place in self._recorded:
            answer = self._recorded[place]  # was taken already, by us
        else:
            answer, faults = await self._checked(asked.question, self._responses.pop(key), key)
            if faults:
                return asked.question.again(faults)
        self._used[place] = answer
        answers.append(answer)
        return None

    async def _checked(self, question: Question, answer: Any, key: str) -> tuple[Any, list[str]]:
        fault = fault_of_answer(question, answer)
        if fault is not None:
            raise ProtocolError(INVALID_PARAMS, f"Invalid params: inputResponses.{key}: {fault}")
        return await fitted(self._checks, question, answer)

    def _request(self, question: Question) -> dict[str, Any]:
        params = adapt_params(question, self._ticket.revision, "")
        return {"method": question.method, "params": params} if params else {"method": question.method}


def _read(said: Sequence[Mapping[str, Any]]) -> list[Question]:
    return [read_question(each["kind"], each["said"]) for each in said]


def _undeclared(ticket: Ticket, question: Question, missing: Mapping[str, Any]) -> str:
    client = ticket.client.name if ticket.client else "this client"
    wanted = ", ".join(".".join((name, *parts)) for name, parts in missing.items())
    return (
        f"{question.method} can't be asked: {client} (revision {ticket.revision}) does not declare the "
        f"capability {wanted}"
    )
