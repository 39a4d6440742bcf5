"""The questions of a call to its client: what an author's code calls, and how it waits for the answers.

A question may be asked in any thread. Where an event loop runs, what is returned has to be awaited; elsewhere the
calling thread waits. Whoever reads an answer from the wire wakes whoever asked.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final, Protocol

from .values import UnsendableError, a_type, plain
from .wire import MAX_FRAME, FrameTooLongError, Wire

KINDS: Final = ("elicit", "sample", "roots")

Pick = Callable[[list[Any]], Any]
"""What of the answers to its questions a function returns."""


class ClientError(RuntimeError):
    """The client can't be asked, or did not answer; the text says why."""

    __module__ = "mcppd"  # what an author reads


class StoppedError(BaseException):
    """The call is given up, nobody waits for what it would still do: let everything unwind."""

    __module__ = "mcppd"


class Caller(Protocol):
    """The call that asks."""

    loop: Any  # the event loop that runs the call and hears of its cancellation, if there is one

    def poll(self) -> None:
        """Take in what has come for the call."""


@dataclass(eq=False)
class Question:
    """What was asked at once, until it is answered."""

    number: int
    wake: Callable[[], object]
    is_cancelled_otherwise: bool  # whoever waits for it is cancelled with the call, by the event loop
    reply: Mapping[str, Any] | BaseException | None = None

    def settle(self, reply: Mapping[str, Any] | BaseException) -> None:
        """Take the answer, or why there is none."""
        if self.reply is None:
            self.reply = reply
            self.wake()

    def answers(self) -> list[Any]:
        """The answers in order. Raises ClientError, StoppedError."""
        match self.reply:
            case BaseException() as error:
                raise error
            case {"result": list(answers)}:
                return answers
            case {"error": text}:
                raise ClientError(text)
        raise ClientError("its answer can't be read")


class Questions:
    """The questions that one call has asked."""

    def __init__(self, wire: Wire, call: int, caller: Caller) -> None:
        self._wire = wire
        self._call = call
        self._caller = caller
        self._open: dict[int, Question] = {}
        self._asked = 0
        self._end: Callable[[], BaseException] | None = None  # why nobody can be asked any more
        self._listening: dict[Any, int] = {}  # loops of the author's, and how many questions each waits for

    # what an author's code calls

    def elicit(self, message: Any, schema: Any = None, **params: Any) -> Any:
        """Ask the user: {"action": "accept" | "decline" | "cancel", "content": …}."""
        return self._ask([("elicit", elicit(message, schema, **params))], _first)

    def sample(self, messages: Any, max_tokens: Any = 1000, **params: Any) -> Any:
        """Ask the client's model: MCP's CreateMessageResult."""
        return self._ask([("sample", sample(messages, max_tokens, **params))], _first)

    def roots(self) -> Any:
        """Ask for the client's roots: [{"uri", "name"}]."""
        return self._ask([("roots", {})], _first)

    def ask_all(self, questions: Any) -> Any:
        """Ask several things at once, each a pair of a kind and its arguments: the answers in order."""
        return self._ask([_asked(each, at) for at, each in enumerate(questions)], list)

    # what the call does

    def settle(self, reply: Mapping[str, Any]) -> None:
        """Take an answer off the wire. With the wire's `speaking` held."""
        question = self._open.get(reply.get("question", 0))
        if question is not None:
            question.settle(reply)

    def stop(self) -> None:
        """The call is given up: whoever waits is told, and whoever asks later. With the wire's `speaking` held."""
        self._end = _is_given_up
        for question in self._open.values():
            if not question.is_cancelled_otherwise:
                question.settle(self._end())

    def finish(self) -> None:
        """The call is over: what its threads still ask, nobody is there for. With the wire's `speaking` held."""
        self._end = _is_over
        for question in self._open.values():
            question.settle(self._end())

    # asking

    def _ask(self, asked: Sequence[tuple[str, Mapping[str, Any]]], pick: Pick) -> Any:
        loop = _running_loop()
        if loop is not None:
            return self._answered(loop, asked, pick)
        if not asked:
            return []
        with _waker() as (descriptor, wake), self._put(asked, wake) as question:
            self._wait(question, descriptor)
            return pick(_unwrapped(asked, question))

    async def _answered(self, loop: Any, asked: Sequence[tuple[str, Mapping[str, Any]]], pick: Pick) -> Any:
        if not asked:
            return []
        future = loop.create_future()

        def wake() -> None:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(lambda: future.done() or future.set_result(None))

        is_own = loop is self._caller.loop
        with self._heard(loop, is_own=is_own), self._put(asked, wake, is_own=is_own) as question:
            await future
            return pick(_unwrapped(asked, question))

    @contextlib.contextmanager
    def _put(
        self,
        asked: Sequence[tuple[str, Mapping[str, Any]]],
        wake: Callable[[], object],
        *,
        is_own: bool = False,
    ) -> Iterator[Question]:
        """Send questions; one that is left without its answer is withdrawn."""
        question = self._send(asked, wake, is_own=is_own)
        try:
            yield question
        finally:
            with self._wire.speaking:
                self._open.pop(question.number, None)
                if question.reply is None and self._end is None:
                    self._wire.send({"op": "withdraw", "id": self._call, "question": question.number})

    def _send(
        self, asked: Sequence[tuple[str, Mapping[str, Any]]], wake: Callable[[], object], *, is_own: bool
    ) -> Question:
        if self._wire.is_copy:
            raise ClientError("this is a forked copy of the tool's process: only the process itself can ask")
        with self._wire.speaking:
            if self._end is not None:
                raise self._end()
            self._asked += 1
            question = Question(self._asked, wake, is_own)
            said = [{"kind": kind, "said": said} for kind, said in asked]
            try:
                self._wire.send(
                    {"op": "ask", "id": self._call, "question": question.number, "questions": said}
                )
            except FrameTooLongError:
                raise ValueError(f"a question of more than {MAX_FRAME} bytes can't be asked") from None
            self._open[question.number] = question
        return question

    def _wait(self, question: Question, waker: int) -> None:
        """Wait in this thread; signal handlers of the author's run meanwhile, and may raise."""
        poll = select.poll()
        poll.register(self._wire.fileno(), select.POLLIN)
        poll.register(waker, select.POLLIN)
        while question.reply is None:
            poll.poll()
            self._caller.poll()

    @contextlib.contextmanager
    def _heard(self, loop: Any, *, is_own: bool) -> Iterator[None]:
        """Let an event loop read the wire while somebody in it waits; the call's own does so anyway."""
        if is_own:
            yield
            return
        self._listening[loop] = self._listening.get(loop, 0) + 1
        loop.add_reader(self._wire.fileno(), self._caller.poll)
        try:
            yield
        finally:
            self._listening[loop] -= 1
            if not self._listening[loop]:
                del self._listening[loop]
                loop.remove_reader(self._wire.fileno())


def _is_over() -> ClientError:
    return ClientError("the call is over: its client can't be asked any more")


def _is_given_up() -> StoppedError:
    return StoppedError("the call is given up")


_first: Final[Pick] = itemgetter(0)


def elicit(message: Any, schema: Any = None, **params: Any) -> dict[str, Any]:
    """What is said to ask the user. Raises TypeError."""
    form = getattr(schema, "model_json_schema", None)  # a class of pydantic's
    said = {"message": message, "schema": form() if callable(form) else schema} | params
    return {name: _plain("elicit", name, value) for name, value in said.items() if value is not None}


def sample(messages: Any, max_tokens: Any = 1000, **params: Any) -> dict[str, Any]:
    """What is said to ask the client's model. Raises TypeError."""
    said = {"messages": messages, "max_tokens": max_tokens} | params
    return {name: _plain("sample", name, value) for name, value in said.items() if value is not None}


def _asked(question: Any, at: int) -> tuple[str, Mapping[str, Any]]:
    """One of the questions that `ask_all` was given. Raises TypeError, ValueError."""
    match question:
        case ("elicit", Mapping() as arguments):
            return "elicit", elicit(**arguments)
        case ("sample", Mapping() as arguments):
            return "sample", sample(**arguments)
        case ("roots", Mapping()):
            return "roots", {}
        case (str(kind), Mapping()):
            raise ValueError(
                f"ask_all: question {at} is of the kind {kind[:40]!r}; there are {', '.join(KINDS)}"
            )
    raise TypeError(
        f'ask_all: question {at} is {a_type(question)}; expected a pair such as ("elicit", {{"message": …}})'
    )


def _plain(function: str, name: str, value: Any) -> Any:
    try:
        return plain(value)
    except UnsendableError as error:
        raise TypeError(f"{function}: {error.at(name)}") from None


def _unwrapped(asked: Sequence[tuple[str, Mapping[str, Any]]], question: Question) -> list[Any]:
    """The answers, of roots only the list. Raises ClientError, StoppedError."""
    return [
        answer["roots"] if kind == "roots" and isinstance(answer, dict) and "roots" in answer else answer
        for (kind, _), answer in zip(asked, question.answers(), strict=True)
    ]


def _running_loop() -> Any:
    """The event loop that runs in this thread, if there is one; nothing is imported to find out."""
    asyncio = sys.modules.get("asyncio.events")
    return None if asyncio is None else asyncio._get_running_loop()  # noqa: SLF001 - the other one raises


@contextlib.contextmanager
def _waker() -> Iterator[tuple[int, Callable[[], object]]]:
    """A descriptor that becomes readable when it is woken, from any thread."""
    descriptor = os.eventfd(0, os.EFD_CLOEXEC)
    try:
        yield descriptor, lambda: os.eventfd_write(descriptor, 1)
    finally:
        os.close(descriptor)
