"""`mcppd restart`: another daemon in the place of the one that runs, under connected agents; or a module's workers."""

from __future__ import annotations

import re
from typing import Any, Final

import click
from mcppd_shim.version import VERSION

from mcppd.cli import systemctl
from mcppd.cli.daemons import Daemon, ask, daemon_options, find_daemon
from mcppd.cli.output import say
from mcppd.cli.start import begin, bring_up, status_of, wake
from mcppd.cli.units import SERVICE

MODULE_LIMIT: Final = 120.0
"""Seconds for a module's workers: without overlap their calls end first; then one is imported."""


@click.command("restart")
@click.argument("module", required=False)
@daemon_options
@click.option("--if-older", is_flag=True, help="Only if the daemon that runs is older than this mcppd.")
def command(*, module: str | None, config: str | None, socket: str | None, if_older: bool) -> None:
    """Start the daemon anew, while agents stay connected.

    The new daemon loads everything first; then calls that run may end, for up to 10 s, and all
    agents move to it. No call is lost, but for those that run longer. If the new one doesn't
    start, the old one goes on. Without a running daemon one is started, unless --if-older.

    A daemon that ran in the foreground ends; the new one runs in the background.

    With MODULE the daemon and all other modules go on. A new worker of it is made; those that run
    a call end after it.
    """
    daemon = find_daemon(config, socket)
    if module is not None:
        if if_older:
            raise click.UsageError("--if-older is about the daemon: leave the module out")
        _restart_module(daemon, module)
        return
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


def _restart_module(daemon: Daemon, name: str) -> None:
    ended = ask(daemon, "mcppd/renew", params={"module": name}, limit=MODULE_LIMIT).get("workers")
    say(f"module {name} has a new worker; before: {ended} worker{'s'[: ended != 1]}")


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
