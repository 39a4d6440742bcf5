"""`mcppd reload`."""

from __future__ import annotations

from typing import Final

import click

from mcppd.cli.answers import Report
from mcppd.cli.daemons import ask, daemon_options, find_daemon
from mcppd.cli.output import is_terminal, print_json, say

RELOAD_LIMIT: Final = 120.0
"""Seconds for a reload: modules in use are imported first, each within the limit that the daemon sets."""


@click.command("reload")
@daemon_options
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(*, config: str | None, socket: str | None, as_json: bool) -> int:
    """Load what has changed on disk, and say what it was.

    The daemon does this by itself on every save; this waits until it is done. For each module:
    the old generation and the new one, then tools +added -removed ~changed. Exit status 1 if a
    module can't be loaded; its last good version goes on answering.
    """
    answer = ask(find_daemon(config, socket), "mcppd/reload", limit=RELOAD_LIMIT)
    report = Report.read(answer)
    if as_json:
        print_json(answer)
    else:
        _print(report)
    return 1 if any(module.fault for module in report.by_module()) else 0


def _print(report: Report) -> None:
    say(f"reloaded {report.heading()}")
    arrow = "\N{RIGHTWARDS ARROW}" if is_terminal() else "->"
    for module in report.by_module():
        say(module.words().replace(" -> ", f" {arrow} ", 1))
    if not report.modules:
        say("nothing has changed")
