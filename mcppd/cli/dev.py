"""`mcppd dev`."""

from __future__ import annotations

import os
import sys
import time

import click

from mcppd.cli.daemons import daemon_options
from mcppd.cli.output import is_terminal


@click.command("dev")
@daemon_options
@click.option("--plain", is_flag=True, help="Show lines as things happen, on a terminal too.")
@click.option(
    "--replace", is_flag=True, help="Stop a daemon of this registry that runs already, without asking."
)
def command(*, config: str | None, socket: str | None, plain: bool, replace: bool) -> int:
    """Run the daemon in the foreground, with a live view of what it does.

    Shows the modules and their states, errors with file, line and source; the agents that are
    connected; each reload with what it changed; each call with agent, tool, time and outcome.
    Without a terminal, the same as a line for each thing that happens. Ctrl-C stops it.

    Where a daemon of the registry runs already, it asks whether to stop that one and take its place.
    """
    from mcppd.cli.dev_place import take_place

    claimed = take_place(config, socket, replace=replace)
    started = time.monotonic()
    from mcppd.cli.answers import duration
    from mcppd.cli.dev_live import LiveView
    from mcppd.cli.dev_pen import Pen
    from mcppd.cli.dev_plain import PlainView
    from mcppd.daemon import run

    pen = Pen(sys.stdout.fileno())
    if plain or not is_terminal():
        view: PlainView | LiveView = PlainView(pen)
    else:
        view = LiveView(pen, _shim_command(config, socket))
    status = run(claimed, view=view)
    if status == 0:
        after = duration(time.monotonic() - started)
        if view.is_followed:
            pen.say_last(f"another daemon has taken the place of this one after {after} (`mcppd restart`)\n")
        else:
            pen.say_last(f"mcppd has stopped after {after}\n")
    return status


def _shim_command(config: str | None, socket: str | None) -> str:
    """What agents have to start to be served by this daemon."""
    options = [("--config", config), ("--socket", socket)]
    return " ".join(["mcppd-shim", *(f"{name} {os.path.abspath(path)}" for name, path in options if path)])
