"""`mcppd start`: a daemon in the background, and the wait until it answers."""

from __future__ import annotations

import ctypes
import os
import time
from pathlib import Path
from typing import Any, Final

import click
from mcppd_shim.launch import launch
from mcppd_shim.places import PlaceError, daemon_log

from mcppd.agents import AGENTS
from mcppd.cli.daemons import Daemon, NoDaemonError, ask, daemon_options, find_daemon
from mcppd.cli.errors import CommandError
from mcppd.cli.locks import is_locked
from mcppd.cli.output import say
from mcppd.cli.supervised import listen

START_LIMIT: Final = 30.0
"""Seconds until a new daemon must answer: a cold disk and a thousand schemas to check take a few."""

RETRY: Final = 0.02  # seconds between two looks; a start takes about 0.3 s

LOG_LINES: Final = 12
LOG_BYTES: Final = 4096
"""How much of the log is shown where a start fails: the reason is the last thing in it."""

_SET_CHILD_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER, linux/prctl.h


@click.command("start")
@daemon_options
def command(config: str | None, socket: str | None) -> None:
    """Start the daemon in the background.

    Nothing happens if it runs already. Agents don't need this: the shim starts a daemon when
    there is none.
    """
    daemon = find_daemon(config, socket)
    status = status_of(daemon)
    words = "is already running"
    if status is None:
        status = bring_up(daemon)
        words = "is running"
    say(f"mcppd {words}: pid {status.get('pid')}, socket {status.get('socket')}")
    others = ", ".join(name for name in AGENTS if name != "claude")
    say(f"To use it from an agent: `{daemon.command('config claude')}` (or {others})")


def bring_up(daemon: Daemon) -> dict[str, Any]:
    """Start a daemon where there is none: what it says of itself. Raises CommandError."""
    return wake(daemon) if listen(daemon.paths) else begin(daemon, "--stay")


def status_of(daemon: Daemon) -> dict[str, Any] | None:
    """What the daemon says of itself, None if there is none. Raises CommandError."""
    try:
        return ask(daemon, "mcppd/status")
    except NoDaemonError:
        return None


def wake(daemon: Daemon) -> dict[str, Any]:
    """The first answer of a daemon that systemd starts when it is asked; raises CommandError."""
    try:
        return ask(daemon, "mcppd/status", limit=START_LIMIT)
    except CommandError as error:
        said = "`journalctl --user -u mcppd` says why"
        raise CommandError(
            f"the daemon that systemd starts doesn't answer: {said}", status=1, quoted=error.lines
        ) from None


def begin(daemon: Daemon, *options: str, before: int | None = None) -> dict[str, Any]:
    """Start a daemon without systemd, in the place of the process `before` if there is one: what it says of itself.

    Raises CommandError.
    """
    log = Path(daemon_log(os.environ))
    size = log.stat().st_size if log.exists() else 0
    adopt_orphans()
    try:
        launch(daemon.config, daemon.socket, os.environ, *options)
    except PlaceError as error:
        raise CommandError(error.sentence) from None
    except OSError as error:
        raise CommandError(f"the daemon can't be started: {error.strerror}", status=1) from None
    limit = time.monotonic() + START_LIMIT
    while time.monotonic() < limit:
        status = status_of(daemon)
        if status is not None and status.get("pid") != before:
            return status
        ended = _ended()
        if ended is not None and (
            before or not is_locked(daemon.paths.lock)
        ):  # locked: another one was faster
            raise _failure(f"the daemon ended with status {ended}", log, size)
        time.sleep(RETRY)
    raise _failure(f"the daemon does not answer within {START_LIMIT:g} s", log, size)


def adopt_orphans() -> None:
    """Become the parent of what our children leave behind, so that a daemon's early end is known for sure.

    When this process ends, the daemon goes to the parent it would have had.
    """
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _ended() -> int | None:
    """The exit status of the daemon, if it has ended already."""
    try:
        child, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None  # never was ours: only its answer, or the limit, will tell
    return os.waitstatus_to_exitcode(status) if child else None


def _failure(what: str, log: Path, start: int) -> CommandError:
    """The error of a start, with the last lines of the log since then."""
    try:
        with log.open("rb") as file:
            file.seek(max(start, log.stat().st_size - LOG_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()[-LOG_LINES:]
    except OSError as error:
        return CommandError(f"{what}; its log can't be read: {log}: {error.strerror}", status=1)
    ending = "ends with" if lines else "says nothing"
    return CommandError(f"{what}; its log, {log}, {ending}", status=1, quoted=lines)
