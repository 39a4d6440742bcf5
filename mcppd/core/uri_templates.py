"""URI templates (RFC 6570, levels 1 and 2): read, and matched against a URI.

`{x}` stands for characters without a meaning in a URI's structure, `{+x}` for any (a whole path, for one), `{#x}` for
a fragment that may be missing. What clients send is often not escaped as section 3.2.1 has it, so `{x}` takes all but
`/`, `?` and `#`. A value has one character at least; where several ways are left, an earlier variable takes more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote

MAX_VARIABLES: Final = 16
"""Variables of a template: no URI has more parts, and matching takes time for each of them and each character."""

MAX_URI: Final = 2048
"""Characters of a URI that is matched; browsers and proxies stop there, and so does what a match may cost: 10 ms."""

KEPT: Final = 1024
"""Templates that are kept as they were read; each is matched again and again."""

_STRUCTURE: Final = frozenset("/?#")
_NAME: Final = re.compile(r"(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*", re.ASCII)
_PART: Final = re.compile(r"\{[^{}]*\}|[^{}]+|[{}]")

Operator: TypeAlias = Literal["", "+", "#"]


class TemplateError(ValueError):
    """A text is no template of levels 1 and 2; `column` is where in it, counted from 1."""

    def __init__(self, column: int, wrong: str) -> None:
        super().__init__(f"{wrong} (character {column})")
        self.column = column


@dataclass(frozen=True, slots=True)
class Variable:
    """An expression of one variable."""

    name: str
    operator: Operator = ""


@dataclass(frozen=True, slots=True)
class UriTemplate:
    """A template that can be matched."""

    text: str
    parts: tuple[str | Variable, ...]  # what is the same in every URI, and what isn't

    @property
    def names(self) -> tuple[str, ...]:
        """Its variables, in order."""
        return tuple(part.name for part in self.parts if isinstance(part, Variable))

    def match(self, uri: str) -> dict[str, str] | None:
        """The values, percent-decoded, with which the template gives this URI; None where none do."""
        first = self.parts[0]
        if len(uri) > MAX_URI or (isinstance(first, str) and not uri.startswith(first)):
            return None
        values = _values(self.parts, uri)
        try:
            return None if values is None else {k: unquote(v, errors="strict") for k, v in values.items()}
        except UnicodeDecodeError:  # what is escaped there is no text
            return None


@lru_cache(KEPT)
def parse(text: str) -> UriTemplate:
    """Read a template. Raises TemplateError."""
    parts: list[str | Variable] = []
    names: set[str] = set()
    for found in _PART.finditer(text):
        part, column = found[0], found.start() + 1
        if part in ("{", "}"):
            raise TemplateError(column, f"this `{part}` has no other half: write a variable as {{name}}")
        if not part.startswith("{"):
            parts.append(part)
            continue
        variable = _variable(part[1:-1], column)
        if variable.name in names:
            raise TemplateError(
                column, f"the variable {variable.name[:60]!r} is there twice: rename one of them"
            )
        names.add(variable.name)
        parts.append(variable)
    if not names:
        raise TemplateError(
            1, "there is no variable such as {name} in it: list it under `resources:` by its `uri`"
        )
    if len(names) > MAX_VARIABLES:
        raise TemplateError(1, f"there are more than {MAX_VARIABLES} variables in it")
    return UriTemplate(text, tuple(parts))


def _variable(expression: str, column: int) -> Variable:
    match expression[:1]:
        case "+":
            variable = Variable(expression[1:], "+")
        case "#":
            variable = Variable(expression[1:], "#")
        case _:
            variable = Variable(expression)
    if _NAME.fullmatch(variable.name):
        return variable
    raise TemplateError(
        column,
        f"{{{expression[:60]}}} is not one of {{name}}, {{+name}} and {{#name}} (RFC 6570, levels 1 and 2), "
        "with a name of letters, digits, `_` and `.`",
    )


def _values(parts: tuple[str | Variable, ...], uri: str) -> dict[str, str] | None:
    """The values as they stand in the URI."""
    fits = [*_fits(parts, uri)][::-1]
    if not fits[0][0]:
        return None
    values: dict[str, str] = {}
    at = 0
    for part, rest in zip(parts, fits[1:], strict=True):
        if isinstance(part, str):
            at += len(part)
            continue
        start = at + 1 if part.operator == "#" else at
        end = _end(part, uri, start, rest) if part.operator != "#" or uri.startswith("#", at) else start
        values[part.name] = uri[start:end]
        at = end if end > start else at  # else there is no fragment
    return values


def _fits(parts: tuple[str | Variable, ...], uri: str) -> Iterator[bytearray]:
    """For each position whether the URI from there on fits no parts, then the last part, then the last two, and so on.

    One step for each part and character, however the parts are made: no way is gone twice.
    """
    size = len(uri)
    rest = bytearray(size + 1)
    rest[size] = True
    yield rest
    for part in reversed(parts):
        here = bytearray(size + 1)
        if isinstance(part, str):
            for at in range(size + 1 - len(part)):
                here[at] = rest[at + len(part)] and uri.startswith(part, at)
        else:
            for at in reversed(range(size)):
                here[at] = (rest[at + 1] or here[at + 1]) and _takes(part, uri[at])
        if isinstance(part, Variable) and part.operator == "#":
            value = here
            here = bytearray(rest)
            for at in range(size):
                here[at] = here[at] or (uri[at] == "#" and value[at + 1])
        yield here
        rest = here


def _end(variable: Variable, uri: str, start: int, rest: bytearray) -> int:
    """The last position at which a value can end so that the rest still fits."""
    end = at = start
    while at < len(uri) and _takes(variable, uri[at]):
        at += 1
        end = at if rest[at] else end
    return end


def _takes(variable: Variable, character: str) -> bool:
    return variable.operator != "" or character not in _STRUCTURE
