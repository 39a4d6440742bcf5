"""What a review finds: one thing at its place in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mcppd.core.documents import Document
from mcppd.core.faults import Fault
from mcppd.core.items import KEYS
from mcppd.core.kinds import Kind
from mcppd.core.shapes import Path

MAX_DESCRIPTION: Final = 2048
"""Bytes of a description from which on clients cut it (PROTOCOL 4.4)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found."""

    is_error: bool
    fault: Fault


def place_of(document: Document, kind: Kind, key: str) -> Path:
    """Where a tool or an item stands in its manifest."""
    items = document.value[kind]
    member = KEYS[kind]
    return kind, next(
        at for at, item in enumerate(items) if isinstance(item, dict) and item.get(member) == key
    )


def length_warning(text: str) -> str | None:
    """What to say of a description that is too long."""
    size = len(text.encode())
    if size < MAX_DESCRIPTION:
        return None
    return f"the description has {size} bytes, and clients cut it at {MAX_DESCRIPTION}: shorten it"
