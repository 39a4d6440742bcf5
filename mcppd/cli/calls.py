"""Calling a tool: where it works, the call, and what its errors mean for an exit status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcppd_shim import places

from mcppd.cli.errors import CommandError
from mcppd.cli.progress import progress_bar
from mcppd.client import Client, ConnectionLostError, RemoteError
from mcppd.core.errors import INVALID_PARAMS, MISSING_CAPABILITY


def workspace_path(path: str | None) -> str | None:
    """The workspace as the daemon is told it: absolute, and one name for one directory."""
    if path is None:
        return None
    try:
        path = places.absolute(path)
    except places.PlaceError as error:
        raise CommandError(error.sentence) from None
    return places.real_path(path) if ".." in path.split("/") else path


async def call(client: Client, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a call, with a bar while it runs; raises CommandError."""
    try:
        with progress_bar(name) as progress:
            return await client.call_tool(name, dict(arguments), progress)
    except RemoteError as error:
        if error.code == MISSING_CAPABILITY:
            raise CommandError(
                f"{name} asks its client something, which a command can't answer: {error.message}",
                "try it from an agent",
                status=1,
            ) from None
        raise CommandError(error.message, status=2 if error.code == INVALID_PARAMS else 1) from None
    except ConnectionLostError as error:
        raise CommandError(f"{error}; what came of {name} is unknown", status=1) from None
