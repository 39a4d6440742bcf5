"""The events of a YAML text, as libyaml or its twin in Python tells them, and the words of their faults."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import yaml
from yaml.events import Event, ScalarEvent

from mcppd.core.documents import fault_at
from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault

FAST: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
PURE: Final[Any] = yaml.SafeLoader

LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
_FOREIGN_BREAKS: Final = "\x85\u2028\u2029"
"""Line breaks to YAML 1.1, and so to both parsers, but plain characters to YAML 1.2."""

# What the parsers say (libyaml and its twin in Python differ), and what a person can do about it.
_ADVICE: Final[Sequence[tuple[str, str]]] = (
    ("tab character", "a tab can't indent YAML: use spaces"),
    ("cannot start any token", "no text can begin with this character: put the text in quotes"),
    ("mapping values are not allowed", "put a text with `: ` in it in quotes, else check the indentation"),
    ("could not find expected ':'", "a key without `:` after it: add it, or put the text in quotes"),
    ("unexpected end of stream", "a quote that is opened here is never closed: close it"),
    ("',' or", "a bracket isn't closed, or a `,` is missing: close it, or put the text in quotes"),
    ("<document start>", "this doesn't belong to what is above: check the indentation and quotes"),
    ("block sequence entries", "a list begins on a line of its own: begin one, or put the text in quotes"),
    ("alphabetic", "put a text that begins with `*` or `&` in quotes"),
    ("comment or line break", "put a text that begins with `|` or `>` in quotes"),
    ("node content", "a bracket isn't closed, or a value is missing: close it, or write the value"),
    ("expected", "the line doesn't fit the lines above: check its indentation and the quotes"),
    ("escape", r"an unknown escape in double quotes: write `\\` for a backslash, or use single quotes"),
    ("undefined tag handle", "this tag isn't known here: put the text in quotes"),
)


class LoneSurrogateError(Exception):
    """libyaml refuses surrogates as escapes, which JSON writers make and its twin in Python takes."""


class Events:
    """One text, event by event."""

    def __init__(self, text: str, file: str, loader: Any) -> None:
        self.file = file
        self.lines = tuple(LINE_BREAK.split(text))
        self.is_pure = loader is PURE
        self._restore: dict[int, str] = {}
        for character in _FOREIGN_BREAKS:
            if character in text:
                stand_in = next(chr(code) for code in range(0x10FFFD, 0, -1) if chr(code) not in text)
                text = text.replace(character, stand_in)
                self._restore[ord(stand_in)] = character
        self._parser = loader(text)

    def next(self) -> Event:
        """The next event. Raises FaultError, LoneSurrogateError."""
        try:
            event: Event = self._parser.get_event()
        except yaml.MarkedYAMLError as error:
            if "invalid Unicode character escape" in str(error.problem) and not self.is_pure:
                raise LoneSurrogateError from None
            raise FaultError(self._syntax_fault(error)) from None
        except (yaml.YAMLError, ValueError, OverflowError) as error:  # "\UFFFFFFFF" in Python
            mark = self._parser.get_mark() if self.is_pure else None
            raise FaultError(self.at(mark, f"not YAML ({error}): correct what stands here")) from None
        return event

    def _syntax_fault(self, error: yaml.MarkedYAMLError) -> Fault:
        mark: Any = error.problem_mark or error.context_mark
        begun: Any = error.context_mark
        problem = str(error.problem)
        rest = self._rest(mark)
        if begun is not None and not rest.strip():
            mark = begun  # where it began says more than the end of the file
        elif begun is not None and (begun.line, begun.column) != (mark.line, mark.column):
            problem += f"; begun at {begun.line + 1}:{begun.column + 1}"
        advice = next((advice for words, advice in _ADVICE if words in problem), "correct what stands here")
        if rest.startswith("\t"):
            advice = "a tab can't indent YAML: use spaces"
        return self.at(mark, f"not YAML: {advice} ({problem})")

    def _rest(self, mark: Any) -> str:
        lines = self.lines[mark.line :] if mark is not None else ()
        return "\n".join((lines[0][mark.column :], *lines[1:])) if lines else ""

    def at(self, mark: Any, message: str) -> Fault:
        """A fault at a mark of the parser's."""
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        return fault_at(self.file, self.lines, line, column, message)

    def wrong(self, event: Event, message: str) -> FaultError:
        """What to raise for something wrong with an event."""
        return FaultError(self.at(event.start_mark, message))

    def text_of(self, event: ScalarEvent) -> str:
        """A scalar's text as it stands in the file."""
        return str(event.value).translate(self._restore) if self._restore else str(event.value)
