"""What an author's code raised, as data and as text for whoever called: the person's own frames only."""

from __future__ import annotations

import resource
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Final

from .snapshot import Snapshot, is_ours
from .values import clean, type_name

MAX_FRAMES: Final = 20
"""Frames shown of one exception: a recursion has a thousand, and nobody reads more."""
MAX_RELATED: Final = 8
"""Exceptions shown that an exception came from or is made of."""
MAX_TEXT: Final = 20_000
"""Characters of an exception's own message; some libraries put whole documents there."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a module can't be used, and where in the person's files."""

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    source: str | None = None
    traceback: str | None = None

    def head(self) -> dict[str, Any]:
        """The fault as the wire carries it."""
        return {
            name: clean(value) if isinstance(value, str) else value for name, value in asdict(self).items()
        }

    def text(self) -> str:
        """The fault for whoever called a tool of the module."""
        place = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        lines = [
            f"Error: the module can't be imported: {self.message}",
            self.traceback or (place and f"  {place}"),
        ]
        return "\n".join(line for line in lines if line)


def fault_of(error: BaseException, snapshot: Snapshot) -> Fault:
    """The fault that an exception at import (or at compilation) stands for."""
    if isinstance(error, SyntaxError) and error.filename and snapshot.is_own(error.filename):
        return syntax_fault(error, snapshot)
    own = _own_frames(error.__traceback__, snapshot)
    message = f"{headline(error)}{_advice(error)}"
    trace = "\n".join(_lines(error, snapshot)[1:]) or None
    if not own:
        return Fault(message, traceback=trace)
    innermost = own[-1]
    return Fault(message, innermost.filename, innermost.lineno, None, innermost.line, trace)


def syntax_fault(error: SyntaxError, snapshot: Snapshot) -> Fault:
    """The fault that a file can't be compiled; its line is the snapshot's, whatever the disk has by now."""
    file = error.filename or ""
    source = snapshot.line(file, error.lineno)
    return Fault(f"{type_name(error)}: {error.msg}", file, error.lineno or None, error.offset or None, source)


def text_of(error: BaseException, snapshot: Snapshot) -> str:
    """Type, message and own frames of an exception that a call raised, for whoever called."""
    return clean("\n".join([*_lines(error, snapshot), *_memory_limit(error)]))


def headline(error: BaseException) -> str:
    """Type and message of an exception."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an author's __str__
        text = "(its message can't be read)"
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + "…"
    return clean(f"{type_name(error)}: {text}" if text else type_name(error))


def log_exception(error: BaseException, hide: Callable[[str], str] = str) -> None:
    """Write the whole traceback, from the author's code on, to the module's log; `hide` takes secrets out of it."""
    try:
        lines = traceback.format_exception(type(error), error, _below_ours(error.__traceback__))
        sys.stderr.write(hide("".join(lines)))
        sys.stderr.flush()
    except Exception:  # noqa: BLE001 - an author's exception that can't be shown, or no stderr any more
        return


def _below_ours(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without our frames on top; the whole one if all of it is ours."""
    inner = trace
    while inner is not None and is_ours(inner.tb_frame.f_code.co_filename):
        inner = inner.tb_next
    return inner or trace


def _lines(error: BaseException, snapshot: Snapshot) -> list[str]:
    """The exception with its frames, then those that it came from or holds."""
    lines = [headline(error), *_frame_lines(error, snapshot)]
    for relation, other in _related(error):
        lines += [f"{relation} {headline(other)}", *_frame_lines(other, snapshot)]
    return lines


def _frame_lines(error: BaseException, snapshot: Snapshot) -> list[str]:
    frames = [
        f"  {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in _own_frames(error.__traceback__, snapshot)
    ]
    if len(frames) <= MAX_FRAMES:
        return frames
    half = MAX_FRAMES // 2
    return [*frames[:half], f"  … {len(frames) - MAX_FRAMES} more …", *frames[-half:]]


def _own_frames(trace: TracebackType | None, snapshot: Snapshot) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(trace) if snapshot.is_own(frame.filename)]


def _related(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    """What an exception was raised from, or the exceptions of a group, theirs included."""
    seen = {id(error)}
    waiting = list(_next(error))
    while waiting and len(seen) <= MAX_RELATED:
        relation, other = waiting.pop(0)
        if id(other) not in seen:
            seen.add(id(other))
            yield relation, other
            waiting += _next(other)


def _next(error: BaseException) -> Iterator[tuple[str, BaseException]]:
    for part in getattr(error, "exceptions", ()):  # an exception group has them
        if isinstance(part, BaseException):
            yield "contains", part
    if error.__cause__ is not None:
        yield "caused by", error.__cause__
    elif error.__context__ is not None and not error.__suppress_context__:
        yield "while handling", error.__context__


def _memory_limit(error: BaseException) -> Iterator[str]:
    """What stands behind a MemoryError, if there is one among what was raised and what that came from."""
    every = (error, *(other for _, other in _related(error)))
    limit = resource.getrlimit(resource.RLIMIT_DATA)[0]
    if limit != resource.RLIM_INFINITY and any(isinstance(each, MemoryError) for each in every):
        yield f"The limit is {limit / 1024**2:g}M: `memory` of the module in tools.yaml or tool.yaml."


def _advice(error: BaseException) -> str:
    match error:
        case MemoryError():
            return "".join(f". {text}" for text in _memory_limit(error))
        case ModuleNotFoundError():
            return f" (sought with {sys.executable}: install it there, or name another with `python:`)"
        case SystemExit():
            return " (the module ended the program while it was imported; raise an exception instead)"
    return ""
