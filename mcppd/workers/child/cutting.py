"""Results whose texts are longer than they may be: beginnings and ends are sent, and the whole of them beside that.

Done here, so that however long they are, nobody waits for it but their own caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .results import Outcome
from .values import encode, value_of

BEGINNING: Final = 2 / 3
"""Of what is left of a text: headings and first hits stand at the beginning, but sums and errors at the end."""
LINE: Final = 0.05
"""Of a piece: so much more is given up where the cut then is at the end of a line."""


@dataclass(frozen=True, slots=True)
class Room:
    """How long the texts of a result may be together."""

    size: int  # bytes
    chars: int | None = None  # characters that are let through all the same

    def holds(self, texts: Sequence[str]) -> bool:
        """Whether they may be sent as they are."""
        if self.chars is not None and sum(map(len, texts)) <= self.chars:
            return True
        return sum(map(_size, texts)) <= self.size

    def shortened(self, texts: Sequence[str]) -> list[str]:
        """The texts; of the longest, which share what the others leave, the beginnings and ends."""
        in_chars = self.chars is not None and self.chars > self.size
        lengths = list(map(len if in_chars else _size, texts))
        share = _share(sorted(lengths), self.chars if in_chars and self.chars else self.size)
        return [
            text if length <= share else _shortened(text, share, in_chars=in_chars)
            for text, length in zip(texts, lengths, strict=True)
        ]


def cut(outcome: Outcome, room: Room) -> Outcome:
    """The outcome with texts that fit; with the whole of them, if they did not.

    Structured content can't be cut: where it is too long it isn't sent, and the result is an error, since clients
    refuse any other without it (MCP, server/tools, Output Schema). Pictures and sounds don't count: what is left of
    one that was cut is none.
    """
    structured = outcome.structured
    if len(outcome.content) + len(structured or b"") <= room.size:  # as JSON no text is shorter
        return outcome
    items = value_of(outcome.content)
    holders = [holder for holder in map(_holder, items) if isinstance(holder.get("text"), str)]
    texts = [holder["text"] for holder in holders]
    is_long = structured is not None and not room.holds([structured.decode()])
    if not is_long and room.holds(texts):
        return outcome
    for holder, text in zip(holders, room.shortened(texts), strict=True):
        holder["text"] = text
    if structured is not None and is_long:
        return Outcome(encode(items), is_error=True, whole=structured, whole_is_json=True)
    return Outcome(encode(items), outcome.is_error, structured, whole="\n\n".join(texts).encode())


def _holder(item: dict[str, Any]) -> dict[str, Any]:
    """What holds the text of a content item, if it has one."""
    return item["resource"] if item["type"] == "resource" else item


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _share(lengths: Sequence[int], room: int) -> int:
    """How long each may be at most, for all to fit into the room; lengths from the shortest on."""
    for at, length in enumerate(lengths):
        share = room // (len(lengths) - at)
        if length > share:
            return share
        room -= length
    return max(lengths, default=0)


def _shortened(text: str, room: int, *, in_chars: bool) -> str:
    """The beginning and the end of a text, with a line between them that says how much is missing."""
    beginning = int(room * BEGINNING)
    head, tail = _pieces(text, beginning, room - beginning, in_chars=in_chars)
    end = head.rfind("\n", int(len(head) * (1 - LINE)))
    head = head[: end + 1] if end >= 0 else head
    start = tail.find("\n", 0, int(len(tail) * LINE))
    tail = tail[start + 1 :]
    missing = _size(text) - _size(head) - _size(tail)
    return f"{head}\n[… {missing} bytes are left out here …]\n{tail}"


def _pieces(text: str, head: int, tail: int, *, in_chars: bool) -> tuple[str, str]:
    if in_chars or text.isascii():
        return text[:head], text[len(text) - tail :]
    data = text.encode()
    return data[:head].decode(errors="ignore"), data[len(data) - tail :].decode(errors="ignore")
