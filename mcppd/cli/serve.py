"""`mcppd serve`."""

from __future__ import annotations

import os

import click

from mcppd.cli.daemons import daemon_options
from mcppd.cli.errors import CommandError


@click.command("serve")
@daemon_options
@click.option(
    "--background",
    is_flag=True,
    hidden=True,
    help="Started by `mcppd start` or a shim; logs to the log file.",
)
def command(*, config: str | None, socket: str | None, background: bool) -> int:
    """Run the daemon in the foreground.

    It serves the modules of a registry to agents until it is told to end (Ctrl-C, SIGTERM,
    `mcppd stop`). Each start, reload and call is a line on stderr.

    The registry is --config, else $MCPP_BASE_DIR/tools.yaml, else mcppd/tools.yaml in the
    configuration directory (~/.config), else the bundled one.
    """
    from mcppd.starting import AlreadyRunningError, StartError, claim

    try:
        claimed = claim(config, socket, os.environ)
    except AlreadyRunningError as error:
        if background:  # a lost race between two starters is no failure
            return 0
        raise CommandError(str(error), status=1) from None
    except StartError as error:
        raise CommandError(str(error), status=1) from None
    from mcppd.daemon import run

    return run(claimed, background=background)
