"""The place of a daemon's: free, or taken over from one that runs already, if the person agrees."""

from __future__ import annotations

import os
import sys
import time
from typing import Final

import click

from mcppd.cli.answers import Session, Status, counted, duration
from mcppd.cli.daemons import Daemon, ask, find_daemon
from mcppd.cli.errors import CommandError
from mcppd.cli.output import is_terminal, say
from mcppd.cli.stop import STOP_LIMIT
from mcppd.starting import AlreadyRunningError, Claim, StartError, claim

RETRY: Final = 0.01
"""Seconds between two tries at the lock: an agent that lost its daemon takes ten times as long to start another."""


def take_place(config: str | None, socket: str | None, *, replace: bool) -> Claim:
    """Be the daemon of a registry. Raises CommandError where another one is, and stays."""
    claimed = _try(config, socket)
    if claimed is not None:
        return claimed
    daemon = find_daemon(config, socket)
    words = _describe(daemon)
    if replace:
        say(f"{words}; it is stopped")
    elif not _is_agreed(words):
        raise CommandError(
            f"{words}, and goes on: `{daemon.command('status')}` shows it, "
            f"`{daemon.command('dev --replace')}` takes its place",
            status=1,
        )
    return _replace(daemon)


def _try(config: str | None, socket: str | None) -> Claim | None:
    try:
        return claim(config, socket, os.environ)
    except AlreadyRunningError:
        return None
    except StartError as error:
        raise CommandError(str(error), status=1) from None


def _describe(daemon: Daemon) -> str:
    status = _status(daemon)
    if status is None:
        return f"a daemon of this registry runs already, but does not answer at {daemon.paths.control}"
    calls = sum(Session.read(each).in_flight for each in status.sessions)
    parts = [
        f"pid {status.pid}",
        f"up {duration(status.uptime_seconds)}",
        counted(len(status.sessions), "session"),
        *([f"{counted(calls, 'call')} in flight"] if calls else []),
    ]
    return f"a daemon of this registry runs already ({', '.join(parts)})"


def _is_agreed(words: str) -> bool:
    if not (is_terminal() and sys.stdin.isatty()):
        return False
    say(f"{words}.")
    return click.confirm("Stop it and take its place?", default=False)


def _replace(daemon: Daemon) -> Claim:
    """Stop the daemon that is there, and one that an agent starts in its place if that was faster."""
    told: set[int] = set()
    limit = time.monotonic() + STOP_LIMIT
    while time.monotonic() < limit:
        claimed = _try(daemon.config, daemon.socket)
        if claimed is not None:
            return claimed
        status = _status(daemon)
        if status is not None and status.pid not in told:
            _stop(daemon)
            told.add(status.pid)
        time.sleep(RETRY)
    raise CommandError(
        f"the daemon still runs after {STOP_LIMIT:g} s: `{daemon.command('status')}` shows its calls",
        status=1,
    )


def _status(daemon: Daemon) -> Status | None:
    try:
        return Status.read(ask(daemon, "mcppd/status"))
    except CommandError:
        return None  # it is about to begin or to end: only the lock says who is there


def _stop(daemon: Daemon) -> None:
    try:
        ask(daemon, "mcppd/stop")
    except CommandError:
        return  # somebody else was faster
