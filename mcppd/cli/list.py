"""`mcppd list`."""

from __future__ import annotations

from dataclasses import dataclass

import click

from mcppd.cli.answers import Answer
from mcppd.cli.daemons import ask, daemon_options, find_daemon
from mcppd.cli.output import is_terminal, print_json, print_table, say


@dataclass(frozen=True, slots=True)
class Tool(Answer):
    """A tool that is served."""

    name: str = ""
    module: str = ""
    description: str = ""

    @property
    def row(self) -> tuple[str, str, str]:
        """Name, module, and the first line of what it is for."""
        lines = self.description.strip().splitlines()
        return self.name, self.module, lines[0].replace("\t", " ") if lines else ""


@click.command("list")
@daemon_options
@click.option("--json", "as_json", is_flag=True, help="Print the tools with their schemas, as JSON.")
def command(*, config: str | None, socket: str | None, as_json: bool) -> None:
    """List the tools that are served.

    A line for each: name, module, description, with tabs between them. A table on a terminal.
    """
    answer = ask(find_daemon(config, socket), "mcppd/list")
    rows = [Tool.read(each).row for each in answer.get("tools", ())]
    if as_json:
        print_json(answer)
    elif is_terminal():
        print_table(("tool", "module", "description"), rows)
    else:
        for row in rows:
            say("\t".join(row))
