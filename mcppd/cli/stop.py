"""`mcppd stop`: the request, and the wait until nothing is left."""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path
from typing import Final

import click

from mcppd.cli.daemons import Daemon, NoDaemonError, ask, daemon_options, find_daemon
from mcppd.cli.errors import CommandError
from mcppd.cli.locks import is_locked
from mcppd.cli.output import say
from mcppd.cli.supervised import end

STOP_LIMIT: Final = 60.0
"""Seconds until a daemon must be gone: calls that run are given a while to finish before they are ended."""

RETRY: Final = 0.02  # seconds between two looks at the files, after the process is gone


@click.command("stop")
@daemon_options
def command(config: str | None, socket: str | None) -> None:
    """Stop the daemon, with everything it started.

    Comes back when the process, its sockets and its lock are gone. Nothing happens if no
    daemon is running. Agents that are connected stay, start none in its place, and find the
    next one: `mcppd start`. An agent that is started later starts one, unless systemd does it,
    which listens no more until `mcppd start`.
    """
    daemon = find_daemon(config, socket)
    ended = end(daemon.paths, lambda: _announce(daemon))
    if ended is not None:
        what = f"pid {ended}" if ended else "it wasn't running"
        say(f"mcppd has stopped: {what}; systemd listens no more until `{daemon.command('start')}`")
        return
    try:
        pid = ask(daemon, "mcppd/status").get("pid")
        process = _watch(pid)
        ask(daemon, "mcppd/stop")
    except NoDaemonError:
        say(f"mcppd is not running at {daemon.paths.mcp}")
        return
    say(f"mcppd has stopped: pid {pid}{_wait(daemon, process)}")


def _announce(daemon: Daemon) -> None:
    """Have the daemon tell its agents that it is stopped for good, before systemd ends it."""
    with contextlib.suppress(CommandError):  # it is about to end by itself, or doesn't answer any more
        ask(daemon, "mcppd/stop", params={"end": False})


def _watch(pid: object) -> int | None:
    """A descriptor that tells when the process is gone; None where it can't be seen from here."""
    if isinstance(pid, int):
        with contextlib.suppress(OSError):
            return os.pidfd_open(pid)
    return None


def _wait(daemon: Daemon, process: int | None) -> str:
    """Wait until the daemon is gone; what is to be added about it."""
    limit = time.monotonic() + STOP_LIMIT
    if process is not None and not select.select([process], [], [], STOP_LIMIT)[0]:
        raise CommandError(
            f"the daemon still runs after {STOP_LIMIT:g} s: `{daemon.command('status')}` shows its calls"
        )
    while time.monotonic() < limit:
        if is_locked(daemon.paths.lock):
            if process is not None:
                return "; another one has been started since, by an agent or a person"
        elif not any(Path(path).exists() for path in (daemon.paths.mcp, daemon.paths.control)):
            return ""
        elif process is not None:
            return f"; its sockets are still in {daemon.paths.directory}: the next start takes them over"
        time.sleep(RETRY)
    raise CommandError(
        f"the daemon's sockets are still there after {STOP_LIMIT:g} s: {daemon.paths.directory}"
    )
