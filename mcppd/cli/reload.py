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
@click.argument("module", required=False)
@daemon_options
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def command(*, module: str | None, config: str | None, socket: str | None, as_json: bool) -> int:
    """Load what has changed on disk, and say what it was.

    Of MODULE, or of all. The daemon does this by itself on every save; this waits until it is done,
    and has what is broken tried again. For each module: the old generation and the new one with
    their digests, then what it offers: +added -removed ~changed (which fields), then how long each
    stage took.
    Exit status 1 if a module can't be loaded; its last good version goes on answering.
    """
    params = {} if module is None else {"module": module}
    answer = ask(find_daemon(config, socket), "mcppd/reload", params=params, limit=RELOAD_LIMIT)
    report = Report.read(answer)
    if as_json:
        print_json(answer)
    else:
        _print(report, module)
    return 1 if any(each.fault for each in report.by_module()) else 0


def _print(report: Report, module: str | None) -> None:
    say(f"reloaded {report.heading()}")
    _print_modules(report)
    if not report.modules:
        say("nothing has changed" if module is None else f"{module} is unchanged")
    if report.before:  # who saves and then asks comes after the watcher
        last = Report.read(report.before)
        say(f"the last reload was {last.heading()}")
        _print_modules(last)


def _print_modules(report: Report) -> None:
    arrow = "\N{RIGHTWARDS ARROW}" if is_terminal() else "->"
    for each in report.by_module():
        say(each.words(digests=True).replace(" -> ", f" {arrow} "))
    if stages := report.stages_words():
        say(f"stages: {stages}")
