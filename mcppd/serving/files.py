"""Static resources: files that are read as they are, without any code of an author's."""

from __future__ import annotations

import asyncio
import base64
import errno
import os
import stat
from typing import Final

from mcppd.core.errors import ToolError
from mcppd.core.jsonrpc import encode_value

SIZE_LIMIT: Final = 16 * 1024 * 1024
"""Bytes of a file: as a blob in base64 it is 22 MiB, which every client's line still takes."""
LINE_LIMIT: Final = 32 * 1024 * 1024
"""Bytes of its contents as JSON, where a control character takes six: what no client's line takes is not sent."""
_ESCAPED: Final = bytes(set(range(32)) - set(b"\b\t\n\f\r"))
TIME_LIMIT: Final = 5.0
"""Seconds that reading may take: a network file system that has gone must not hold a client."""


async def read_contents(uri: str, path: str, mime_type: str | None) -> bytes:
    """The array of contents of a file, as JSON text. Raises ToolError."""
    try:
        async with asyncio.timeout(TIME_LIMIT):
            return await asyncio.to_thread(_contents, uri, path, mime_type)
    except TimeoutError:
        why = f"reading it took longer than {TIME_LIMIT:g} s"
    except OSError as error:
        why = error.strerror or str(error)
    raise ToolError(f"the file of resource {uri} can't be read: {path}: {why}")


def _contents(uri: str, path: str, mime_type: str | None) -> bytes:
    data = _read(path)
    contents = {"uri": uri, **({"mimeType": mime_type} if mime_type else {})}
    try:
        text = None if b"\0" in data else data.decode()
    except UnicodeDecodeError:
        text = None
    if text is not None:
        _check_length(path, data)
    shown = {"text": text} if text is not None else {"blob": base64.b64encode(data).decode()}
    return encode_value([contents | shown])


def _check_length(path: str, data: bytes) -> None:
    """Refuse a text that would be far longer as JSON than it is. Raises ToolError."""
    escaped = len(data) - len(data.translate(None, _ESCAPED))
    length = len(data) + 5 * escaped
    if length > LINE_LIMIT:
        what = f"{path} has {escaped} control characters, with which it is {length >> 20} MiB as JSON"
        raise ToolError(
            f"{what}, more than the limit of {LINE_LIMIT >> 20} MiB: serve a text, or a smaller file"
        )


def _read(path: str) -> bytes:
    """The bytes of a regular file; a pipe would never end, and opening one waits. Raises OSError, ToolError."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ToolError(f"{path} is not a file")
        data: bytes | None = file.read(SIZE_LIMIT + 1)
    if data is None:
        raise BlockingIOError(errno.EAGAIN, "there is nothing to be read now")
    if len(data) > SIZE_LIMIT:
        raise ToolError(f"{path} has more than {SIZE_LIMIT >> 20} MiB, the limit of a resource")
    return data
