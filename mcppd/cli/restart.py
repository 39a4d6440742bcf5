"""`mcppd restart`: another daemon in the place of the one that runs, under connected agents."""

from __future__ import annotations

import re
from typing import Any

import click
from mcppd_shim.version import VERSION

from mcppd.cli import systemctl
from mcppd.cli.daemons import Daemon, daemon_options, find_daemon
from mcppd.cli.output import say
from mcppd.cli.start import begin, bring_up, status_of, wake
from mcppd.cli.units import SERVICE


@click.command("restart")
@daemon_options
@click.option("--if-older", is_flag=True, help="Only if the daemon that runs is older than this mcppd.")
def command(*, config: str | None, socket: str | None, if_older: bool) -> None:
    """Start the daemon anew, while agents stay connected.

    The new daemon loads everything first; then calls that run may end, for up to 10 s, and all
    agents move to it. No call is lost, but for those that run longer. If the new one doesn't
    start, the old one goes on. Without a running daemon one is started, unless --if-older.

    A daemon that ran in the foreground ends; the new one runs in the background.
    """
    daemon = find_daemon(config, socket)
    before = status_of(daemon)
    if before is None:
        if if_older:
            say(f"mcppd is not running at {daemon.paths.mcp}; the next one is {VERSION}")
            return
        say(f"mcppd was not running; {_shown(bring_up(daemon))}")
        return
    running = str(before.get("version"))
    if if_older and not is_older(running, VERSION):
        say(f"mcppd {running} goes on: it is not older than {VERSION}")
        return
    say(
        f"mcppd has been restarted: {_shown(_restart(daemon, before))} (before: {running}, pid {before.get('pid')})"
    )


def is_older(version: str, than: str) -> bool:
    """Whether one version comes before another, by their numbers; one that has none is older than any."""
    return _numbers(version) < _numbers(than)


def _restart(daemon: Daemon, before: dict[str, Any]) -> dict[str, Any]:
    if before.get("supervisor") == "systemd":
        systemctl.order("restart", SERVICE)  # it listens all the time: whoever connects meanwhile waits
        return wake(daemon)
    options = ["--follow"]
    if before.get("stays") is not False:
        options.append("--stay")
    return begin(daemon, *options, before=before.get("pid"))


def _numbers(version: str) -> list[int]:
    found = re.match(r"[0-9]+(\.[0-9]+)*", version)
    return [int(number) for number in found[0].split(".")] if found else []


def _shown(status: dict[str, Any]) -> str:
    return f"{status.get('version')} runs, pid {status.get('pid')}"
