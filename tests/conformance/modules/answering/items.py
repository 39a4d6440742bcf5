"""Content items: an image, a sound, a resource."""

from __future__ import annotations

import base64
import io
import struct
import wave
import zlib
from typing import Any


def image() -> dict[str, Any]:
    """A red point."""
    return {"type": "image", "data": base64.b64encode(png()).decode(), "mimeType": "image/png"}


def sound() -> dict[str, Any]:
    """A hundredth of a second of silence."""
    file = io.BytesIO()
    with wave.open(file, "wb") as recording:
        recording.setparams((1, 1, 8000, 80, "NONE", ""))
        recording.writeframes(b"\x80" * 80)
    return {"type": "audio", "data": base64.b64encode(file.getvalue()).decode(), "mimeType": "audio/wav"}


def resource(uri: str, text: str, mime_type: str = "text/plain") -> dict[str, Any]:
    """A resource with its contents."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


def png() -> bytes:
    """A PNG of one red pixel."""
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(b"\0\xff\0\0")),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
