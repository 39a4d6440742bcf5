"""The place of a daemon's: free, or taken over from one that runs already, if the person agrees."""

from __future__ import annotations

import contextlib
import os
import sys

import click

from mcppd.cli.answers import Session, Status, counted, duration
from mcppd.cli.daemons import Daemon, ask, find_daemon
from mcppd.cli.errors import CommandError
from mcppd.cli.output import is_terminal, say
from mcppd.starting import AlreadyRunningError, Claim, StartError, claim


def take_place(config: str | None, socket: str | None, *, replace: bool) -> Claim:
    """The right to be the daemon of a registry, perhaps by following the one that is there, if the person agrees.

    Raises CommandError where another one is, and stays.
    """
    with contextlib.suppress(AlreadyRunningError):
        return _claim(config, socket, follows=False)
    daemon = find_daemon(config, socket)
    words = _describe(daemon)
    if replace:
        say(f"{words}; it is stopped, and its agents move here")
    elif not _is_agreed(words):
        raise CommandError(
            f"{words}, and goes on: `{daemon.command('status')}` shows it, "
            f"`{daemon.command('dev --replace')}` takes its place",
            status=1,
        )
    return _claim(config, socket, follows=True)


def _claim(config: str | None, socket: str | None, *, follows: bool) -> Claim:
    try:
        return claim(config, socket, os.environ, follows=follows)
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


def _status(daemon: Daemon) -> Status | None:
    try:
        return Status.read(ask(daemon, "mcppd/status"))
    except CommandError:
        return None  # it is about to begin or to end: only the lock says who is there
