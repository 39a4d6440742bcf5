"""`mcppd stdio`."""

from __future__ import annotations

import os
from typing import Final

import click

from mcppd.cli.daemons import find_daemon
from mcppd.cli.errors import CommandError

STARTED_SO: Final = "it was started with `mcppd stdio`"


@click.command("stdio")
@click.option("--config", metavar="FILE", help="The registry, where it isn't the usual tools.yaml.")
@click.option(
    "--workspace", metavar="DIR", help="The project that tools work in, instead of what the agent says."
)
@click.option(
    "--meta-tools", is_flag=True, help="Offer `call_tool` too, for an agent that never lists again."
)
@click.option("--because", default=STARTED_SO, hidden=True, help="Why there is no daemon.")
@click.option(
    "--read", type=int, hidden=True, help="The descriptor of a file of what was read of stdin before."
)
def command(
    *, config: str | None, workspace: str | None, meta_tools: bool, because: str, read: int | None
) -> int:
    """Serve one agent on stdin and stdout, without a daemon.

    The same tools, reloads and workers in this one process, for a sandbox that forbids sockets (the
    shim becomes this there by itself), or for who wants no daemon. It shares nothing with other
    agents, and ends when stdin does and what was asked is answered.
    """
    from mcppd.core.errors import McppdError
    from mcppd.own_copy import Wish, run
    from mcppd.starting import find_places

    try:
        places = find_places(config, None, os.environ)
    except OSError as error:
        raise CommandError(str(error)) from None
    registry = find_daemon(config, None).registry
    try:
        return run(places, Wish(registry, workspace, meta_tools, because), _content(read))
    except McppdError as error:
        raise CommandError(str(error), status=1) from None


def _content(descriptor: int | None) -> bytes:
    if descriptor is None:
        return b""
    with open(descriptor, "rb") as file:
        return file.read()
