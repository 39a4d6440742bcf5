"""Before a daemon is built: where everything of it is, and whether it may be the one (D11, D12).

Light to import: a daemon that loses the race for the lock has to be cheap.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from mcppd_shim import places

from mcppd.bundled import registry_path as bundled_registry
from mcppd.core.errors import McppdError
from mcppd.transport.lock import AlreadyRunningError, hold_lock

__all__ = ["AlreadyRunningError", "Claim", "Places", "StartError", "claim", "find_places"]


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything of one daemon is."""

    registry: str  # the file
    preferred: str | None  # the person's own, where there is none yet and the bundled one is served
    is_default: bool
    sockets: places.SocketPaths
    state: str
    cache: str


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to be the daemon of a registry, for as long as this process lives."""

    places: Places
    lock: (
        int | None
    )  # the descriptor that holds it; None: a daemon that runs is to be followed, and has it till then
    named_socket: str | None  # what `--socket` said


class StartError(McppdError):
    """A daemon can't start here; the text says why and what to do, in one line."""


def claim(
    config: str | None, socket: str | None, environ: Mapping[str, str], *, follows: bool = False
) -> Claim:
    """Be the one daemon of a registry. Raises StartError, AlreadyRunningError where there is one.

    Not if it `follows`: then the one that runs will be asked for the place, when everything is loaded.
    """
    if sys.platform != "linux":
        raise StartError(
            "it runs on Linux only (WSL2 is Linux too): it needs its sockets and process control"
        )
    try:
        found = find_places(config, socket, environ)
        places.check_directories(found.sockets, os.getuid(), make=True)
        return Claim(found, _lock(found.sockets.lock, follows=follows), socket)
    except OSError as error:
        raise StartError(str(error)) from None


def _lock(path: str, *, follows: bool) -> int | None:
    try:
        return hold_lock(path)
    except AlreadyRunningError:
        if follows:
            return None
        raise


def find_places(config: str | None, socket: str | None, environ: Mapping[str, str]) -> Places:
    """Where the registry, the sockets and the files of a daemon are. Raises OSError."""
    named, is_default = places.registry_path(config, environ)
    registry = named or str(bundled_registry())
    sockets = places.socket_paths(socket, "" if is_default else registry, environ, os.getuid())
    cache = environ.get("XDG_CACHE_HOME") or f"{places.home_directory(environ)}/.cache"
    preferred = None if named else places.default_registry(environ)
    return Places(registry, preferred, is_default, sockets, places.state_directory(environ), f"{cache}/mcppd")
