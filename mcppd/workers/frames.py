"""Frames of the workers' wire: what goes into them, and what comes out."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from mcppd.core import names
from mcppd.core.errors import ToolError
from mcppd.core.faults import Fault
from mcppd.core.framing import encode_frame
from mcppd.core.modules import Module


def is_whole(header: Mapping[str, Any], blob: bytes) -> bool:
    """Whether a result says where its parts are, and they are there. Raises ValueError where not."""
    sizes = (header["content"], header.get("structured") or 0, header.get("whole") or 0)
    if min(sizes) < 0 or sum(sizes) != len(blob) or not isinstance(header["error"], bool):
        raise ValueError("a result that is not whole")
    return True


def fault_of(said: Mapping[str, Any] | None) -> Fault | None:
    """The fault that a worker reported."""
    if said is None:
        return None
    return Fault(said["message"], said.get("file"), said.get("line"), said.get("column"), said.get("source"))


def encoded(request: Mapping[str, Any]) -> bytes:
    """A header as JSON text. Raises ToolError."""
    try:
        return orjson.dumps(request)
    except TypeError:  # integers beyond 64 bits, lone surrogates, some depth: json's job (D13)
        pass
    try:
        return json.dumps(request).encode()
    except RecursionError:
        raise ToolError("Error: the arguments are nested too deep: send a flatter value") from None


def load_frame(module: Module) -> bytes:
    """The frame that hands the generation of a module over, and what is to be known of the module."""
    generation = module.generation
    assert generation is not None
    files = list(generation.files.items())
    header = {
        "op": "load",
        "module": generation.module,
        "directory": generation.directory,
        "entry": generation.entry,
        "files": [[path, len(content)] for path, content in files],
        "search": generation.search,
        "needs": module.needs,
        "stays": module.settings.stateful,
        "secrets": [*module.settings.env, *module.settings.pass_env],
        "import_name": f"mcpp_tools.{names.identifier(generation.module)}",
    }
    return encode_frame(encoded(header), b"".join(content for _, content in files))


def split(files: list[tuple[str, int]], blob: bytes) -> Iterator[tuple[str, bytes]]:
    """The files (path, content) in a blob, by their paths and sizes."""
    start = 0
    for path, size in files:
        yield os.fspath(path), blob[start : start + size]
        start += size
