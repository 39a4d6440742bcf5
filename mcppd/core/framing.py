"""Framing: a stream of bytes cut into lines (agents) or into frames (workers), in whatever pieces it comes.

Knows nothing of what the lines and frames say. Every parser is linear in the bytes fed, however they are cut.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from mcppd.core.errors import McppdError

MAX_LINE: Final = 64 * 1024 * 1024
"""Bytes in one line of an agent: above what clients send (17 MiB was seen), below what hurts us (D13)."""

MAX_FRAME: Final = 64 * 1024 * 1024
"""Bytes in each half of a worker's frame; a header that says more isn't a header of ours."""

_HEADER: Final = struct.Struct(">II")


class FramingError(McppdError):
    """A stream of frames can't be followed any further; its sender is broken."""


@dataclass(frozen=True, slots=True)
class Overlong:
    """A line that went over the limit; its content is gone, the lines after it are not."""

    size: int  # bytes seen when it was given up, not the whole line's
    limit: int


class LineFraming:
    """Lines out of chunks, but for blank ones. A line over the limit is reported once and skipped up to its newline."""

    __slots__ = ("_held", "_limit", "_skipping")

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._held = bytearray()
        self._skipping = False

    @property
    def pending(self) -> bool:
        """Whether a line has begun whose newline hasn't come."""
        return self._skipping or bool(self._held)

    def feed(self, data: bytes) -> list[bytes | Overlong]:
        """The lines that this chunk completes, without their newlines; blank ones cost next to nothing."""
        first, *rest = data.split(b"\n")
        found: list[bytes | Overlong] = []
        if not rest:
            self._hold(first, found)
            return found
        self._finish(first, found)
        tail = rest.pop()
        for line in filter(None, rest):
            self._tell(line, found)
        self._hold(tail, found)
        return found

    def _hold(self, part: bytes, found: list[bytes | Overlong]) -> None:
        """Keep the beginning of a line, unless it has become too long."""
        if self._skipping or not part:
            return
        size = len(self._held) + len(part)
        if size <= self._limit:
            self._held += part
            return
        found.append(Overlong(size, self._limit))
        self._held = bytearray()
        self._skipping = True  # keeping -> skipping, till the newline

    def _finish(self, part: bytes, found: list[bytes | Overlong]) -> None:
        """The newline of the line at hand has come."""
        if self._held:
            self._hold(part, found)
            part = bytes(self._held)
            self._held = bytearray()
        if not self._skipping:
            self._tell(part, found)
        self._skipping = False  # skipping -> keeping

    def _tell(self, line: bytes, found: list[bytes | Overlong]) -> None:
        if len(line) > self._limit:
            found.append(Overlong(len(line), self._limit))
        elif line and not line.isspace():
            found.append(line)


class BlobFraming:
    """Frames of the workers' wire out of chunks: a header with two lengths, a JSON text, a blob."""

    __slots__ = ("_held", "_need")

    def __init__(self) -> None:
        self._held = bytearray()
        self._need = _HEADER.size  # bytes that must be there before anything can be cut off

    @property
    def pending(self) -> bool:
        """Whether a frame has begun whose end hasn't come."""
        return bool(self._held)

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The frames (JSON text, blob) that this chunk completes. Raises FramingError, and then always."""
        if self._held:
            self._held += data
            if len(self._held) < self._need:
                return []
            data = bytes(self._held)
        frames: list[tuple[bytes, bytes]] = []
        rest = self._cut(data, frames)
        self._held = bytearray(memoryview(data)[rest:])
        return frames

    def _cut(self, data: bytes, frames: list[tuple[bytes, bytes]]) -> int:
        """Cut whole frames off; the position of the first byte that stays."""
        at = 0
        while len(data) - at >= _HEADER.size:
            text_size, blob_size = self._sizes(data, at)
            text = at + _HEADER.size
            blob = text + text_size
            end = blob + blob_size
            if end > len(data):
                self._need = end - at
                return at
            frames.append((data[text:blob], data[blob:end]))
            at = end
        self._need = _HEADER.size
        return at

    def _sizes(self, data: bytes, at: int) -> tuple[int, int]:
        """The two lengths in a header, if they can be true."""
        sizes: tuple[int, int] = _HEADER.unpack_from(data, at)
        if max(sizes) > MAX_FRAME:
            self._held = bytearray(data[at : at + _HEADER.size])  # so that every later feed fails too
            self._need = _HEADER.size
            raise FramingError(_too_large("a frame claims", *sizes))
        return sizes


def encode_frame(json: bytes, blob: bytes = b"") -> bytes:
    """One frame of the workers' wire. Raises FramingError for what no receiver would take."""
    if max(len(json), len(blob)) > MAX_FRAME:
        raise FramingError(_too_large("a frame can't hold", len(json), len(blob)))
    return b"".join((_HEADER.pack(len(json), len(blob)), json, blob))


def _too_large(what: str, text: int, blob: int) -> str:
    return f"{what} {text} + {blob} bytes; each of the two may have {MAX_FRAME} at most"
