"""`mcppd serve`."""

from __future__ import annotations

import click

from mcppd.cli.daemons import daemon_options


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
    from mcppd.daemon import run

    return run(config, socket, background=background)
