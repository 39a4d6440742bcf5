"""A page as text to be read: its HTML turned into Markdown or plain text, in a process of its own.

What strangers wrote can take a parser any time and memory, so the conversion has limits of both; and whoever
asks for no format needs no library for it.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from .contents import is_html
from .errors import NotConvertedError
from .fetching import Page

Format: TypeAlias = Literal["raw", "text", "markdown"]

MAX_SECONDS: Final = 8.0
"""For a conversion: with the 20 s that a fetch may take it is below the 30 s of a call; large real pages take two."""

MAX_MEMORY: Final = 1024 * 1024 * 1024
"""Bytes of address space for a conversion: the tree of the largest page takes less than half of it."""

MISSING: Final = 3
"""The exit status of a conversion that has no library."""

EXTRA: Final = "mcppd[fetch]"

LOOKS_LIKE_HTML: Final = re.compile(
    r"\s*(<!--.{0,1000}?-->\s*)*<(!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL
)
"""How a page begins whose server doesn't say what it is."""


@dataclass(frozen=True, slots=True)
class Readable:
    """What of a page is to be returned."""

    text: str
    format: Format  # raw where it is no HTML: there is nothing to convert
    whole: bool = True  # the text is all that the page's kept part comes to


def readable(page: Page, wanted: Format, max_chars: int, seconds: float = MAX_SECONDS) -> Readable:
    """A page in the format that is wanted, at most so many characters of it. Raises NotConvertedError."""
    if wanted == "raw" or not (is_html(page.content_type) or looks_like_html(page)):
        return Readable(page.text[:max_chars], "raw", len(page.text) <= max_chars)
    asked = {
        "html": page.text,
        "url": page.url,
        "format": wanted,
        "most": max_chars + 1,
        "memory": MAX_MEMORY,
    }
    text = converted(json.dumps(asked), seconds)
    return Readable(text[:max_chars], wanted, len(text) <= max_chars)


def looks_like_html(page: Page) -> bool:
    """Whether a page of no named type is HTML."""
    return not page.content_type and LOOKS_LIKE_HTML.match(page.text) is not None


def converted(asked: str, seconds: float) -> str:
    """What a process of its own makes of it."""
    script = str(Path(__file__).with_name("converting.py"))
    command = [
        sys.executable,
        "-P",
        "-X",
        "utf8",
        script,
    ]  # -P: files beside the script are none of its modules
    try:
        done = subprocess.run(
            command, input=asked.encode(), capture_output=True, timeout=seconds, cwd="/", check=False
        )
    except subprocess.TimeoutExpired:
        raise NotConvertedError(
            f"the page is there, but making it readable takes more than {seconds:g} s; ask for it with `format: raw`"
        ) from None
    if done.returncode == MISSING:
        raise NotConvertedError(missing())
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        why = lines[-1][:300] if lines else f"the conversion ended with {done.returncode}"
        raise NotConvertedError(
            f"the page is there, but it can't be made readable ({why}); ask for it with `format: raw`"
        )
    return done.stdout.decode("utf-8", "replace")


def missing() -> str:
    """What to do where the library isn't there: install it for the interpreter that this runs in."""
    command = shlex.join([sys.executable, "-m", "pip", "install", EXTRA])
    return (
        f"making HTML readable needs a library that isn't installed: run `{command}` "
        "and call again (no restart is needed), or ask for the page with `format: raw`"
    )
