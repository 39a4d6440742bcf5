"""Stored results: what was too long to be sent whole, kept for a while in files that only their owner can read.

Each can be read as a resource that no list names: whoever knows its address was given it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from dataclasses import dataclass, replace
from typing import Final

from mcppd.core.limits import as_size
from mcppd.core.results import OUTPUT, ToolResult, Whole, with_item
from mcppd.core.served import Tool
from mcppd.serving.files import SIZE_LIMIT

SCHEME: Final = "mcppd://results/"
KEPT_SECONDS: Final = 600.0
"""An agent that wants the rest of a result wants it soon; ten minutes are also a person's coffee."""
KEPT_COUNT: Final = 100
"""Results of at most so many calls: further back nobody goes; the oldest is dropped first."""
KEPT_BYTES: Final = 256 * 1024 * 1024
"""On the disk, all together: four of the longest that there can be."""
WRITE_LIMIT: Final = 10.0
"""Seconds that the writing may take: a disk that hangs must not hold the answer."""
ID_BYTES: Final = 16
"""Of an address, random: nobody finds one that wasn't given to them."""


@dataclass(frozen=True, slots=True)
class Stored:
    """One result in its file."""

    uri: str
    path: str
    mime_type: str
    size: int  # bytes


class StoredResults:
    """The results of one daemon; what a daemon that was killed left behind is removed when it is old."""

    def __init__(self, directory: str, tasks: asyncio.TaskGroup, seconds: float = KEPT_SECONDS) -> None:
        self._directory = directory
        self._tasks = tasks
        self._seconds = seconds
        self._kept: dict[str, Stored] = {}  # by URI, the oldest first

    async def noted(self, tool: Tool, result: ToolResult) -> ToolResult:
        """The result with a note of where the whole of it is, where it isn't the whole itself."""
        whole = result.whole
        if whole is None:
            return result
        return replace(with_item(result, _note(tool, whole, await self._keep(whole))), whole=None)

    def find(self, uri: str) -> Stored | None:
        """The result of a URI, if it is still there."""
        return self._kept.get(uri)

    def prune(self) -> None:
        """Remove what is old here, which a daemon that was killed has left. Not for the event loop."""
        oldest = time.time() - self._seconds  # files know no other clock
        with contextlib.suppress(OSError):
            for entry in os.scandir(self._directory):
                if entry.stat(follow_symlinks=False).st_mtime < oldest:
                    _remove(entry.path)

    def close(self) -> None:
        """Remove everything."""
        for stored in self._kept.values():
            _remove(stored.path)
        self._kept.clear()

    async def _keep(self, whole: Whole) -> Stored | str:
        """The result in its file; or why it can't be kept."""
        ident = secrets.token_hex(ID_BYTES)
        ending, mime_type = ("json", "application/json") if whole.is_structured else ("txt", "text/plain")
        path = os.path.join(self._directory, f"{ident}.{ending}")
        stored = Stored(SCHEME + ident, path, mime_type, len(whole.data))
        try:
            async with asyncio.timeout(WRITE_LIMIT):
                await asyncio.to_thread(_write, path, whole.data)
        except TimeoutError:
            return f"writing it took longer than {WRITE_LIMIT:g} s"
        except OSError as error:
            return f"{path}: {error.strerror or error}"
        self._kept[stored.uri] = stored
        asyncio.get_running_loop().call_later(self._seconds, self._drop, stored.uri)
        while len(self._kept) > KEPT_COUNT or sum(each.size for each in self._kept.values()) > KEPT_BYTES:
            self._drop(next(iter(self._kept)))
        return stored

    def _drop(self, uri: str) -> None:
        stored = self._kept.pop(uri, None)
        if stored is not None:
            self._tasks.create_task(asyncio.to_thread(_remove, stored.path))  # a large file takes its time


def _write(path: str, data: bytes) -> None:
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
            file.write(data)
    except OSError:
        _remove(path)  # half of a result is worse than none
        raise


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)


def _note(tool: Tool, whole: Whole, stored: Stored | str) -> str:
    """What the caller is told: what is missing and why, where it is, and where the limit is changed."""
    limits = tool.module.settings.of_tool(tool.own_name)
    output = OUTPUT if limits.output is None else limits.output
    allowed = f"{limits.chars} characters" if limits.chars and limits.chars > output else as_size(output)
    size = f"{len(whole.data)} bytes, more than its limit of {allowed}"
    what = f"Note: the text of this result has {size}, so it was cut."
    if whole.is_structured:
        what = (
            f"Note: the tool has run and succeeded, but its structured content has {size}, so it is not sent."
        )
    where = f"The whole could not be kept ({stored}): ask for less at a time."
    if isinstance(stored, Stored):
        also = f" and can be read as the resource {stored.uri}" if stored.size <= SIZE_LIMIT else ""
        where = f"For {KEPT_SECONDS / 60:g} minutes the whole is in the file {stored.path}{also}."
    change = f"`output` of the tool or of module {tool.module.name!r}, in tools.yaml or tool.yaml"
    return f"{what} {where} The limit is {change}."
