"""What a call answers: data for the agent, and a few lines of Markdown for the person who looks on."""

from __future__ import annotations

import html
import re
from typing import Any, Final

from .cache import Hit
from .contents import MARKUP
from .fetching import Page, clean
from .readable import Readable

Result = dict[str, Any]

TITLE: Final = re.compile(r"<title(?:\s[^>]{0,200})?>(.{0,500}?)</title", re.IGNORECASE | re.DOTALL)

MAX_TITLE: Final = 120
"""Characters of a title: one line."""

HEAD: Final = 20_000
"""Characters at the beginning of a page in which its title is looked for."""

MARKS: Final = re.compile(r"([\\`*_\[\]<>|~&])")
"""Characters that mean something within a line of Markdown: a title must not put a link or an image before a person."""


def show(page: Page, part: Readable, hit: Hit | None, *, with_format: bool = False) -> Result:
    """The answer of a fetch that came to a page; who named a format is told which one it is in."""
    result = {
        "url": page.url,
        "content_type": page.content_type,
        "text": part.text,
        "truncated": not page.whole or not part.whole,
        "cached": hit is not None,
    }
    if with_format:
        result["format"] = part.format
    if hit is not None:
        result["cache_age_seconds"] = int(hit.age)
    return {"success": True, "result": result, "display": display(page, part, hit)}


def display(page: Page, part: Readable, hit: Hit | None) -> str:
    """The title, where it came from, how much of it and as what, and whether it was fetched just now."""
    facts = [escaped(page.content_type) or "no content type", size(page, part)]
    if part.format != "raw":
        facts.append(f"as {part.format}")
    if hit is not None:
        facts.append(f"cached {int(hit.age)} s ago")
    return f"**{escaped(title_of(page))}**\n\n<{page.url}>\n\n{', '.join(facts)}"


def size(page: Page, part: Readable) -> str:
    """How much is shown, and of how much if that is known."""
    shown = f"{len(part.text):,}"
    if page.whole and part.whole:
        return f"{shown} characters"
    if part.format != "raw":
        return f"the first {shown} characters"
    return f"{shown} of {'' if page.whole else 'more than '}{len(page.text):,} characters"


def title_of(page: Page) -> str:
    """The page's title; its address if it has none."""
    found = TITLE.search(page.text[:HEAD]) if MARKUP.search(page.content_type.lower()) else None
    return clean(html.unescape(found[1]))[:MAX_TITLE] if found and clean(found[1]) else page.url[:MAX_TITLE]


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return MARKS.sub(r"\\\1", text)


def failure(error: str) -> Result:
    """The answer of a fetch that came to nothing."""
    return {"success": False, "error": error}
