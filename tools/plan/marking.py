"""Markdown of texts that others wrote: they are shown as they are, and can't change what stands around them."""

from __future__ import annotations

import re
from typing import Final

SPECIAL: Final = re.compile(r"[\\`*\[\]<~$]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)")
"""Characters that mean something in the middle of a line; others are left alone, since terminals show backslashes."""

TICKS: Final = re.compile("`+")


def line(text: str) -> str:
    """The text on one line."""
    return SPECIAL.sub(r"\\\g<0>", flat(text))


def code(text: str) -> str:
    """The text on one line, as code; between as many ticks as it takes (CommonMark, 6.1)."""
    inner = flat(text)
    ticks = "`" * (max(map(len, TICKS.findall(inner)), default=0) + 1)
    padding = " " if inner.startswith("`") or inner.endswith("`") else ""
    return f"{ticks}{padding}{inner}{padding}{ticks}"


def quote(text: str) -> str:
    """The text with its own lines and Markdown, as a quotation, which nothing in it can end."""
    return "\n".join(f"> {visible(each.expandtabs(4))}".rstrip() for each in text.splitlines())


def flat(text: str) -> str:
    """The text on one line, without what can't be seen."""
    return " ".join(visible(text).split())


def visible(text: str) -> str:
    """The text with spaces for what can't be seen; emoji are joined by a character that can't."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or each == "\u200d" else " " for each in text)
