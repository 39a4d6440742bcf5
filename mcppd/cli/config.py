"""`mcppd config`."""

from __future__ import annotations

import os
import sys

import click
from mcppd_shim import places

from mcppd.agents import AGENTS, ANY, shim_command
from mcppd.cli.daemons import daemon_options, find_daemon
from mcppd.cli.errors import CommandError
from mcppd.cli.output import say


@click.command("config")
@daemon_options
@click.argument("agent", required=False, type=click.Choice(list(AGENTS)), metavar="[AGENT]")
def command(*, config: str | None, socket: str | None, agent: str | None) -> None:
    """Print what an agent has to be told, to be run or pasted.

    AGENT is claude, codex, gemini, opencode, vscode or cursor; without it, the JSON that most
    agents read. The file that it belongs to is named on stderr, so that stdout can be piped:
    `mcppd config claude | sh`, `mcppd config codex >> ~/.codex/config.toml`.

    It is this installation's fastest way to start the shim, whether a daemon runs or not: the
    shim starts one. With --config or --socket, it is about the daemon that these name.
    """
    told = AGENTS[agent] if agent else ANY
    text = told.write(_shim_command(config, socket))
    sys.stderr.write(f"{told.advice}\n")
    sys.stderr.flush()
    say(text)


def _shim_command(config: str | None, socket: str | None) -> list[str]:
    """The command that agents have to start. Raises CommandError."""
    daemon = find_daemon(config, socket)
    registry = None
    if daemon.registry is not None:
        registry, _ = places.registry_path(config, os.environ)
        if not os.path.isfile(registry):
            raise CommandError(f"there is no registry {registry}: name one that is there", status=1)
    try:
        command = shim_command(registry, socket)
    except places.PlaceError as error:
        raise CommandError(error.sentence) from None
    for word in command:
        _refuse_bytes(word)
    return command


def _refuse_bytes(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise CommandError(
            f"{shown} is not UTF-8, which agents' configurations are: name it by another path", status=1
        ) from None
