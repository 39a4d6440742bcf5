"""The daemon where systemd runs it: what `mcppd start` and `mcppd stop` do then."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mcppd_shim import places

from mcppd.cli import systemctl
from mcppd.cli.units import SERVICE, SOCKET


def listen(paths: places.SocketPaths) -> bool:
    """Have systemd listen for the daemon that meets its clients here; whether it does. Raises CommandError."""
    if not _is_in_reach(paths):
        return False
    # another daemon may have taken the socket's path, and gone: then systemd listens where nobody comes
    systemctl.order("start" if Path(paths.mcp).exists() else "restart", SOCKET)
    return True


def end(paths: places.SocketPaths, announce: Callable[[], None]) -> str | None:
    """Stop the daemon and what starts it; its process id, "" if it didn't run. Raises CommandError.

    If it runs, it is announced first.

    None, and nothing is stopped, unless systemd listens for the daemon that meets its clients here.
    """
    if not _is_in_reach(paths) or systemctl.show(SOCKET, "ActiveState")["ActiveState"] != "active":
        return None
    pid = systemctl.show(SERVICE, "MainPID")["MainPID"]
    if pid != "0":
        announce()
    systemctl.order("stop", SOCKET, SERVICE)
    return pid if pid != "0" else ""


def _is_in_reach(paths: places.SocketPaths) -> bool:
    """Whether these are the sockets of systemd's unit, it is there, and so is a systemd; most have no unit."""
    usual = places.socket_paths(None, "", os.environ, os.getuid())
    configuration = Path(places.default_registry(os.environ)).parent.parent
    if paths.mcp != usual.mcp or not (configuration / "systemd" / "user" / SOCKET).exists():
        return False
    try:
        systemctl.reach()
    except systemctl.NoSystemdError:
        return False  # it is installed for sessions that have one; this one hasn't
    return True
