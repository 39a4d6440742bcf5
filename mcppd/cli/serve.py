"""`mcppd serve`."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING, Final

import click

from mcppd.cli.daemons import daemon_options, find_daemon
from mcppd.cli.errors import CommandError

if TYPE_CHECKING:
    from mcppd.starting import Claim
    from mcppd.supervision import Supervision

TAKE_OVER_LIMIT: Final = 60.0
"""Seconds for a daemon that systemd doesn't know to end, with the calls that it runs."""


@click.command("serve")
@daemon_options
@click.option(
    "--background",
    is_flag=True,
    hidden=True,
    help="Started by `mcppd start` or a shim; logs to the log file.",
)
@click.option("--stay", is_flag=True, hidden=True, help="Stay in the background though nobody is connected.")
@click.option("--follow", is_flag=True, hidden=True, help="Take the place of the daemon that runs.")
def command(*, config: str | None, socket: str | None, background: bool, stay: bool, follow: bool) -> int:
    """Run the daemon in the foreground.

    It serves the modules of a registry to agents until it is told to end (Ctrl-C, SIGTERM,
    `mcppd stop`). Each start, reload and call is a line on stderr. Agents that are connected
    then start none in its place; `mcppd start` does.

    The registry is --config, else $MCPP_BASE_DIR/tools.yaml, else mcppd/tools.yaml in the
    configuration directory (~/.config), else the bundled one.
    """
    from mcppd.core.errors import McppdError
    from mcppd.starting import AlreadyRunningError
    from mcppd.supervision import Supervision

    for number in (signal.SIGHUP, signal.SIGUSR1):
        signal.signal(
            number, signal.SIG_IGN
        )  # till the daemon has its own way with them, they mustn't end it
    try:
        supervision = Supervision(os.environ)
    except McppdError as error:
        raise CommandError(str(error), status=1) from None
    try:
        claimed = _claim(config, socket, supervision, follows=follow)
    except AlreadyRunningError as error:
        if background:  # a lost race between two starters is no failure
            return 0
        daemon = find_daemon(config, socket)
        hint = f"`{daemon.command('status')}` shows it, `{daemon.command('stop')}` ends it"
        return supervision.fail(f"{error}: {hint}")
    except (McppdError, CommandError) as error:
        return supervision.fail(str(error))
    from mcppd.daemon import run

    return run(claimed, background=background, stays=stay or not background, supervision=supervision)


def _claim(config: str | None, socket: str | None, supervision: Supervision, *, follows: bool) -> Claim:
    """The right to be the daemon; raises McppdError, CommandError.

    What systemd starts takes over from one that runs without it: the sockets are systemd's already, so nobody can
    reach that one any more.
    """
    from mcppd.cli.locks import lock_holder
    from mcppd.cli.steps import end_process
    from mcppd.starting import AlreadyRunningError, claim, find_places

    try:
        return claim(config, socket, os.environ, follows=follows)
    except AlreadyRunningError:
        holder = lock_holder(find_places(config, socket, os.environ).sockets.lock)
        if supervision.by is None or holder is None:
            raise
    supervision.needs(TAKE_OVER_LIMIT + 10)
    end_process(holder, TAKE_OVER_LIMIT)
    return claim(config, socket, os.environ)
