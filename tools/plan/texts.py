"""The texts that people and agents give: what is let in, and what is said of what isn't."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Final

from .errors import PlanError

MAX_NAME: Final = 100
"""Characters of a name: the same as in tool.yaml."""

NEAREST: Final = 3
"""Names that are offered in place of one that isn't there."""


def a_name(said: str, what: str) -> str:
    """A name as it is kept: on one line, in one spelling, without spaces around it. Raises PlanError."""
    name = unicodedata.normalize("NFC", said).strip()
    if not name or len(name) > MAX_NAME or not is_printable(name):
        raise PlanError(
            f"{what} can't be {said[:MAX_NAME]!r}: it has 1 to {MAX_NAME} characters, on one line"
        )
    return name


def a_text(said: str, what: str) -> str:
    """A text that has something in it, without the space around it. Raises PlanError."""
    text = clean(said).strip()
    if not text:
        raise PlanError(f"{what} is blank: write something, or leave it out")
    return text


def clean(text: str) -> str:
    """The text with what is no character (half of one, from a text that was cut) marked as such."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_printable(text: str) -> bool:
    """Whether a text is one line of characters that can be seen; emoji are joined by one that can't."""
    return text.replace("\u200d", "").isprintable()


def listed(names: Iterable[str]) -> str:
    """Names one after another, in quotes."""
    return ", ".join(map(repr, names))


def nearest(name: str, names: Iterable[str]) -> str:
    """A sentence that offers the names that are most like one that isn't there; empty if none is."""
    from difflib import get_close_matches  # noqa: PLC0415 - only who mistypes waits for it

    by_folded = {each.casefold(): each for each in names}
    found = [by_folded[each] for each in get_close_matches(name.casefold(), by_folded, NEAREST, 0.5)]
    return f" Did you mean {listed(found)}?" if found else ""
