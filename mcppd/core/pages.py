"""Pages of a list: everything in one, unless that would be more than a client can take in a line."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Final

from mcppd.core.effects import Page
from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.kinds import Kind

PAGE_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of one page of a list, of the few clients that read a line into a buffer of their own: below 16 MiB."""


def page_of(
    kind: Kind, items: Sequence[tuple[str, bytes]], cursor: str | None, limit: int = PAGE_LIMIT
) -> Page:
    """The page of (key, JSON) items, in order of key, that a cursor stands for; raises ProtocolError.

    A cursor names the last item of the page before, so it holds over a reload in between.
    """
    after = _read_cursor(cursor)
    rest = [item for item in items if item[0] > after] if after else list(items)
    size = 0
    for taken, (_, encoded) in enumerate(rest):
        size += len(encoded) + 1
        if size > limit and taken:
            return Page(kind, _join(rest[:taken]), _cursor(rest[taken - 1][0]))
    return Page(kind, _join(rest))


def _join(items: Sequence[tuple[str, bytes]]) -> bytes:
    return b"[" + b",".join(encoded for _, encoded in items) + b"]"


def _cursor(name: str) -> str:
    return base64.urlsafe_b64encode(b"after:" + name.encode()).decode()


def _read_cursor(cursor: str | None) -> str:
    if not cursor:
        return ""
    try:
        text = base64.b64decode(cursor, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError):
        text = ""
    if not text.startswith("after:"):
        raise ProtocolError(
            INVALID_PARAMS, "Invalid params: this cursor is not one of ours; list from the start"
        )
    return text.removeprefix("after:")
