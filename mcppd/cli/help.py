"""`mcppd help`: the built-in tool of that name."""

from __future__ import annotations

from typing import Any

import click

from mcppd.cli.calls import call
from mcppd.cli.daemons import connect_agent, daemon_options, find_daemon, run
from mcppd.cli.results import show_result


@click.command("help")
@daemon_options
@click.argument("tool", required=False)
def command(config: str | None, socket: str | None, tool: str | None) -> int:
    """Show what the tools are for, or how to use one.

    Without TOOL: every tool with its module, the state of the modules, and the last reload.
    With the name of a tool or a module: its own words about itself, and its input schema.
    """
    daemon = find_daemon(config, socket)

    async def asking() -> dict[str, Any]:
        async with await connect_agent(daemon, None) as client:
            return await call(client, "help", {"tool": tool} if tool else {})

    return show_result(run(asking()), prefers_display=True)
