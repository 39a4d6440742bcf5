"""Which daemon a command is about, and asking it."""

from __future__ import annotations

import asyncio
import errno
import os
import shlex
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import click
from mcppd_shim import hello, places

from mcppd.cli.errors import CommandError
from mcppd.client import Client, ClientError, RefusedError, RemoteError
from mcppd.client.client import ANSWER_LIMIT

Answer = TypeVar("Answer")
Function = TypeVar("Function", bound=Callable[..., Any])

_ABSENT: Final = frozenset({errno.ENOENT, errno.ECONNREFUSED})
"""What connecting says where nobody listens: no file, or one that a killed daemon left."""


@dataclass(frozen=True, slots=True)
class Daemon:
    """The daemon of a registry, whether it runs or not."""

    config: str | None  # as given
    socket: str | None  # as given
    registry: str | None  # its real path, None for the default registry
    paths: places.SocketPaths

    def command(self, words: str) -> str:
        """A command line about the same daemon, to be run from here."""
        from mcppd.cli.invocation import again

        options = [("--config", self.config), ("--socket", self.socket)]
        return " ".join([again(words), *(f"{name} {shlex.quote(path)}" for name, path in options if path)])


class NoDaemonError(CommandError):
    """Nobody listens where the daemon would."""

    def __init__(self, daemon: Daemon) -> None:
        super().__init__(
            f"no daemon is running at {daemon.paths.mcp}: start it with `{daemon.command('start')}`"
        )


def daemon_options(function: Function) -> Function:
    """The options that say which daemon is meant."""
    function = click.option(
        "--socket", metavar="PATH", help="The daemon's socket, where it isn't the usual one."
    )(function)
    return click.option(
        "--config", metavar="FILE", help="The daemon's registry, where it isn't the usual tools.yaml."
    )(function)


def find_daemon(config: str | None, socket: str | None) -> Daemon:
    """The daemon that the options and the environment name."""
    try:
        registry, is_default = places.registry_path(config, os.environ)
        paths = places.socket_paths(socket, "" if is_default else registry, os.environ, os.getuid())
    except places.PlaceError as error:
        raise CommandError(error.sentence) from None
    return Daemon(config, socket, None if is_default else places.real_path(registry), paths)


def ask(
    daemon: Daemon, method: str, *, params: dict[str, Any] | None = None, limit: float = ANSWER_LIMIT
) -> dict[str, Any]:
    """The answer of a running daemon to a control request."""

    async def asking() -> dict[str, Any]:
        async with await connect_control(daemon) as client:
            return await client.request(method, params or {}, limit=limit)

    return run(asking())


def run(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Run to the end; a client's errors become CommandErrors. Ctrl-C cancels, as KeyboardInterrupt."""
    try:
        return asyncio.run(coroutine)
    except RemoteError as error:
        raise CommandError(f"the daemon refuses: {error.message}", status=1) from None
    except RefusedError as error:
        raise CommandError(str(error)) from None
    except ClientError as error:
        from mcppd.cli.invocation import again

        raise CommandError(f"{error}: `{again('status')}` shows whether it is well", status=1) from None


async def connect_control(daemon: Daemon) -> Client:
    """A connection to the control socket; raises CommandError."""
    return await _reach(daemon, daemon.paths.control, Client.control(daemon.paths.control))


async def connect_agent(daemon: Daemon, workspace: str | None) -> Client:
    """A connection as an agent, with the caller's environment and workspace; raises CommandError."""
    line = hello.hello_line(daemon.registry, workspace, os.environ, meta_tools=False)
    return await _reach(daemon, daemon.paths.mcp, Client.connect(daemon.paths.mcp, line))


async def _reach(daemon: Daemon, path: str, connecting: Coroutine[Any, Any, Client]) -> Client:
    try:
        places.check_directories(daemon.paths, os.getuid(), make=False)
        return await connecting
    except places.PlaceError as error:
        if error.errno == errno.ENOENT:
            raise NoDaemonError(daemon) from None
        raise CommandError(error.sentence) from None
    except OSError as error:
        if error.errno in _ABSENT:
            raise NoDaemonError(daemon) from None
        hint = (
            "if this runs in a sandbox, let it open that socket"
            if error.errno in (errno.EPERM, errno.EACCES)
            else ""
        )
        raise CommandError(": ".join(filter(None, [f"{path}: {error.strerror}", hint]))) from None
    finally:
        connecting.close()  # where it was never awaited
