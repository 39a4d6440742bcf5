"""Instructions: the text by which a client tells its model what this server is for (MCP, InitializeResult)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mcppd.core.modules import Module

FIRST: Final = (
    "Tools of this person, served by mcppd; they can change while you work, and edits are live at once. "
    "`help` shows what is there now, what is broken and where, and what the last reload changed."
)

MAX_INSTRUCTIONS: Final = 4000
"""Characters: they are in the model's context from the first request on, and clients cut what is longer."""

_BETWEEN: Final = "\n\n"
_MORE_SPACE: Final = 100
"""Characters that are kept for saying that there is more."""


def instructions(modules: Iterable[Module], registry_text: str) -> str:
    """What we are, what the registry says, and what each module is about, as far as there is room for whole modules."""
    said = registry_text.strip()
    if room_left(said) < 0:
        said = said[: room_left(said) - 1] + "…"
    parts = [f"## {each.name}\n{each.about.strip()}" for each in modules if each.about.strip()]
    room = room_left(said)
    taken = 0
    for part in parts:
        room -= len(part) + len(_BETWEEN)
        if room < 0:
            break
        taken += 1
    rest = len(parts) - taken
    more = [f"({rest} more module{'s'[: rest != 1]}: `help` shows what they are about.)"] if rest else []
    return _BETWEEN.join([FIRST, *([said] if said else []), *parts[:taken], *more])


def room_left(registry_text: str) -> int:
    """Characters that are left for modules; below 0 the text of the registry itself is too long by as many."""
    return MAX_INSTRUCTIONS - _MORE_SPACE - len(FIRST) - len(_BETWEEN) - len(registry_text.strip())
