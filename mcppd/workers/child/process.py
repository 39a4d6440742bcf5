"""The worker process: takes requests off the wire one at a time and answers each, whatever a tool does."""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TextIO

from .asking import StoppedError
from .contents import contents_outcome, listing_outcome
from .context import Call
from .cutting import Room, cut
from .failures import Fault, fault_of, log_exception, text_of
from .hearing import Hearing
from .hiding import Secrets
from .importing import Place, install
from .module import ToolModule
from .orphans import Orphans
from .preparing import FUNCTIONS, missing
from .prompts import completion_outcome, prompt_outcome
from .results import Outcome, bounded, failed, info_outcome, outcome_of
from .signals import hold_signals, release_signals
from .snapshot import Snapshot
from .surroundings import DirectoryError, Raised, Surroundings, become_plain, flush
from .updates import Updates
from .wire import MAX_FRAME, Frame, Wire
from .writing import Writes

LOST_LIMIT: Final = 5.0
"""Seconds that a worker whose wire a tool has closed waits to be ended for that."""


class Request:
    """One call as the daemon sends it; made from the head of its frame, which may say more."""

    __slots__ = (
        *("id", "kind", "given", "context", "env", "cwd", "structured", "progress"),
        *("log", "mime_type", "output", "chars"),
    )

    def __init__(self, head: Mapping[str, Any]) -> None:
        told = head.get
        self.id: int = head["id"]
        self.kind: str = head["kind"]  # the function that is called: execute, get_info, get_prompt, …
        self.given: Sequence[Any] = told("given", ())  # its arguments, but for the context
        self.context: Mapping[str, Any] = told("context", {})
        self.env: Mapping[str, str] | None = told("env")  # None: as for the call before
        self.cwd: str | None = told("cwd")
        self.structured: bool = told("structured", False)
        self.progress: bool = told("progress", False)
        self.log: str | None = told("log")  # the least severe level of log messages that anybody wants
        self.mime_type: str | None = told("mime_type")  # what the manifest says of the resource that is read
        self.output: int | None = told("output")  # bytes that the texts of the result may have
        self.chars: int | None = told("chars")  # characters that are let through all the same


class Worker:
    """One generation of one module, from its first byte to the end of the wire."""

    def __init__(
        self, wire: Wire, surroundings: Surroundings, module: ToolModule, secrets: Secrets, writes: Writes
    ) -> None:
        self._wire = wire
        self._surroundings = surroundings
        self._module = module
        self._secrets = secrets
        self._updates = Updates(wire)
        self._orphans = Orphans()
        self._writes = writes
        self._told: str | None = None  # what a call did that can't be put back

    def serve(self, *, stays: bool) -> None:
        """Answer requests until the wire ends, or a call has spoilt what the next would need; `stays`: never mind that.

        A request that has come meanwhile stays unread, by which the daemon knows that it never began.
        """
        while (self._told is None or stays) and (frame := self._wire.receive()) is not None:
            self._answer(frame.head)

    def _answer(self, head: Mapping[str, Any]) -> None:
        match head:
            case {"op": "call"}:
                self._call(Request(head))
            case {"op": "prepare"}:
                self._prepare(run=head["run"], is_compiled=head.get("is_compiled", False))
            case {"op": "unreadable", "id": int(number), "why": why}:
                outcome = failed(f"Error: the call can't be read by its worker: {why}")
                Call(self._wire, self._updates, number).finish(outcome.head(), outcome.blob)
            case _:
                pass  # a cancellation or a reply whose call has its result already

    def _prepare(self, *, run: bool, is_compiled: bool) -> None:
        fault = None if is_compiled else self._module.compile()
        if run and fault is None:
            came = self._surroundings.run(self._load)
            fault = fault_of(came.error, self._module.snapshot) if isinstance(came, Raised) else came
            hold_signals()  # what an exception says of itself is an author's code too
        self._end_run()
        warning = self._module.warning
        self._wire.answer({"op": "prepared", "fault": fault.head() if fault else None, "warning": warning})
        self._tidy()

    def _call(self, request: Request) -> None:
        call = Call(
            self._wire, self._updates, request.id, wants_progress=request.progress, log_level=request.log
        )
        is_global = request.context.get("module_scope") == "global"  # no agent's project is needed
        came = self._surroundings.run(
            lambda: self._run(request, call), request.env, request.cwd, otherwise="/" if is_global else None
        )
        outcome, fault = (self._failure(came.error, call), None) if isinstance(came, Raised) else came
        self._end_run()
        head = outcome.head()
        try:
            call.finish(head | {"fault": fault.head()} if fault else head, outcome.blob)
        except MemoryError as error:  # there was just enough for the result itself
            outcome = self._failure(error, call)
            call.finish(outcome.head(), outcome.blob)
        self._tidy()

    def _load(self) -> Fault | None:
        """Import the module, if that hasn't been done; what is wrong with it, if it can't be used."""
        if self._module.is_loaded:
            return None
        with self._writes.telling(self._tell_written):
            fault = self._module.load()
        self._surroundings.remember()
        return fault

    def _failure(self, error: BaseException, call: Call) -> Outcome:
        """The border: whatever a call raised costs its caller an error, and nothing else."""
        if isinstance(error, DirectoryError):
            return failed(f"Error: {error}. Name another workspace, or make the directory.")
        if call.was_given_up and _is_unwinding(error):
            return failed("Error: the call was given up")
        log_exception(error, self._secrets.hide)
        text = text_of(error, self._module.snapshot)
        hold_signals()  # what an exception says of itself is an author's code too
        return failed(text)

    def _run(self, request: Request, call: Call) -> tuple[Outcome, Fault | None]:
        is_first = not self._module.is_loaded
        fault = self._load()
        if fault is not None:
            return failed(fault.text()), fault
        if is_first and self._module.warning:
            call.log("warning", self._module.warning)
        context = call.context(request.context)
        if not self._module.has(request.kind):
            return _without(request.kind), None
        said = self._module.call(request.kind, request.given, context, call)
        return _fitting(request, _outcome(request, said)), None

    def _end_run(self) -> None:
        """After an author's code ran: what it printed goes to the log, what it imported to the daemon."""
        flush()
        if self._wire.is_copy:
            os._exit(0)  # a fork that a tool made came back here instead of ending
        self._wire.check()
        snapshot, writes = self._module.snapshot, self._writes
        if snapshot.has_news or writes.has_news:
            self._tell_news(snapshot, writes)

    def _tell_news(self, snapshot: Snapshot, writes: Writes) -> None:
        for files in _batches(snapshot.take_joined()):
            listed = [[path, len(content)] for path, content in files]
            self._wire.answer({"op": "joined", "files": listed}, b"".join(content for _, content in files))
        met = {"missed": snapshot.take_missed(), "written": writes.take()}
        if any(met.values()):
            self._wire.answer({"op": "met", **met})

    def _tell_written(self) -> None:
        """While an author's code runs, in whichever of its threads."""
        self._wire.send({"op": "met", "missed": [], "written": self._writes.take()})

    def _tidy(self) -> None:
        """What nobody has to wait for, once the answer is out."""
        spoilt = self._surroundings.restore()
        self._orphans.reap(time.monotonic())
        if spoilt is not None and spoilt != self._told:
            self._told = spoilt
            self._wire.answer({"op": "spoilt", "why": spoilt})


def _outcome(request: Request, said: object) -> Outcome:
    """What a function returned, as the daemon wants it."""
    match request.kind:
        case "execute":
            return outcome_of(said, structured=request.structured)
        case "get_prompt":
            return prompt_outcome(said)
        case "read_resource":
            return contents_outcome(said, request.given[0], request.mime_type)
        case "complete":
            return completion_outcome(said)
        case "list_resources":
            return listing_outcome(said)
    return Outcome(b"[]") if said is None else info_outcome(said)


def _fitting(request: Request, outcome: Outcome) -> Outcome:
    """The outcome with texts that are no longer than they may be."""
    if request.output is None or len(outcome.blob) <= request.output:  # as JSON no text is shorter
        return outcome
    return bounded(cut(outcome, Room(request.output, request.chars)))


def _without(function: str) -> Outcome:
    """The outcome of a call whose function the module doesn't have."""
    if function in FUNCTIONS:
        return failed(f"Error: {missing(function)}")
    return Outcome(b'{"values":[]}' if function == "complete" else b"[]")


def _is_unwinding(error: BaseException) -> bool:
    """Whether an exception is what ended a call that was given up, alone or in groups."""
    parts = getattr(error, "exceptions", None)  # an exception group has them
    if parts:
        return all(map(_is_unwinding, parts))
    return isinstance(error, StoppedError) or type(error).__name__ == "CancelledError"


def main(descriptor: int, streams: tuple[TextIO, TextIO, TextIO] | None = None) -> NoReturn:
    """Be a worker until the wire ends, then end the process; never returns."""
    status = 1
    try:
        hold_signals()
        wire = Wire(descriptor)
        become_plain(streams)
        hearing = Hearing()
        surroundings, writes = Surroundings(hearing), Writes(hearing)
        frame = wire.receive()
        if frame is not None:
            secrets = Secrets(frame.head["secrets"], surroundings.variables.wanted)
            worker = Worker(wire, surroundings, _load(frame, secrets), secrets, writes)
            worker.serve(stays=bool(frame.head.get("stays")))
        if wire.is_lost:
            time.sleep(LOST_LIMIT)  # the daemon sees the end of the wire, and tells what it means
        status = 0
    except BaseException as error:  # noqa: BLE001 - whatever it is, the process ends here and not in the spawner's code
        log_exception(error)
    _leave(status)


def _load(frame: Frame, secrets: Secrets) -> ToolModule:
    """Take in the generation."""
    head = frame.head
    place = Place(head["import_name"], head["entry"], head["directory"], head["search"])
    snapshot = Snapshot(place.directory, dict(_cut(head["files"], frame.blob)))
    install(snapshot, place)
    return ToolModule(place, snapshot, head["needs"], secrets)


def _cut(files: Sequence[tuple[str, int]], blob: bytes) -> Iterator[tuple[str, bytes]]:
    start = 0
    for path, size in files:
        yield path, blob[start : start + size]
        start += size


def _batches(files: Mapping[str, bytes]) -> Iterator[list[tuple[str, bytes]]]:
    """The files in as many frames as they need; one that fits into none stays unknown to the daemon."""
    batch: list[tuple[str, bytes]] = []
    room = MAX_FRAME
    for path, content in files.items():
        if len(content) > MAX_FRAME:
            continue
        if len(content) > room:
            yield batch
            batch, room = [], MAX_FRAME
        batch.append((path, content))
        room -= len(content)
    if batch:
        yield batch


def _leave(status: int) -> NoReturn:
    """End the process as an interpreter would, but without waiting for threads of an author's."""
    try:
        release_signals()
        atexit._run_exitfuncs()  # noqa: SLF001 - a fork must not run into the end of the program it came from
        flush()
    except BaseException as error:  # noqa: BLE001 - an author's exit handler
        log_exception(error)
    finally:
        os._exit(status)
