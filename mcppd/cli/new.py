"""`mcppd new`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from mcppd_shim import places

from mcppd.cli.daemons import Daemon, NoDaemonError, ask, daemon_options, find_daemon
from mcppd.cli.errors import CommandError
from mcppd.cli.output import say

if TYPE_CHECKING:
    from mcppd.cli.registries import RegistryFile


@click.command("new")
@daemon_options
@click.option(
    "--path",
    "parent",
    metavar="DIR",
    help="Make it in this directory, instead of `tools` beside the registry.",
)
@click.argument("name")
def command(*, config: str | None, socket: str | None, parent: str | None, name: str) -> None:
    """Make a module that works, and register it.

    NAME becomes a directory with tool.yaml (what agents see), mcpptool.py (what runs) and
    helper.py, to be edited; its tools are NAME_hello and NAME_lines. A running daemon serves
    them at once.

    If no entry of the registry serves the directory yet, one is added. Whoever has no registry
    yet gets ~/.config/mcppd/tools.yaml. Nothing that is there is overwritten.
    """
    from mcppd.cli.registries import find_registry
    from mcppd.cli.templates import make_module, name_fault

    if wrong := name_fault(name):
        raise CommandError(wrong)
    registry = find_registry(config, os.environ)
    directory = os.path.join(os.path.abspath(parent or os.path.join(registry.directory, "tools")), name)
    _refuse_taken(registry, directory, name)
    os.makedirs(os.path.dirname(directory), exist_ok=True)
    text = _registered(registry, directory)
    make_module(directory, name)
    _write(registry, text, directory)
    say(f"{directory} is made, with tool.yaml, mcpptool.py and helper.py.")
    say(_about_registry(registry, text))
    _say_next(find_daemon(config, socket), name, directory)


def _refuse_taken(registry: RegistryFile, directory: str, name: str) -> None:
    """Raise where the directory is there, or another module has the name."""
    from mcppd.bundled import registry_path
    from mcppd.cli.invocation import again
    from mcppd.reloading.loaded import Look, Scan
    from mcppd.reloading.loader import Loader

    if os.path.lexists(directory):
        raise CommandError(
            f"{directory} is there already: take another name, or edit what is there", status=1
        )
    served = str(registry_path()) if registry.is_new else registry.path
    scan = Loader(served, os.environ).scan(Scan(), Look())
    if scan.fault is not None:
        raise CommandError(
            str(scan.fault), f"repair the registry first: `{again('check')}` looks it over", status=1
        )
    for loaded in scan.modules:
        if loaded.name == name and os.path.isdir(loaded.directory):
            raise CommandError(
                f"there is a module {name!r} in {loaded.directory}: take another name", status=1
            )


def _registered(registry: RegistryFile, directory: str) -> bytes | None:
    """The registry's text with the module in it; None if it is served by what is there. Raises CommandError."""
    from mcppd.cli.registries import line_for, with_entry
    from mcppd.core.errors import FaultError

    try:
        if registry.covering(directory, registry.text) is not None:
            return registry.text if registry.is_new else None
    except FaultError as error:
        raise CommandError(f"repair the registry first: {error}", status=1) from None
    text = with_entry(registry, directory)
    if text is None:
        raise CommandError(
            f"no entry of {registry.path} serves {directory}, and `modules:` there isn't written in a way that "
            "one can be added to by a line; add this to it, then try again:",
            status=1,
            quoted=[line_for(registry, directory)],
        )
    return text


def _write(registry: RegistryFile, text: bytes | None, directory: str) -> None:
    from mcppd.cli.registries import line_for, write_registry

    if text is None:
        return
    try:
        write_registry(registry, text)
    except OSError as error:
        raise CommandError(
            f"{directory} is made, but {registry.path} can't be written ({error.strerror}); add this to it:",
            status=1,
            quoted=[line_for(registry, directory)],
        ) from None


def _about_registry(registry: RegistryFile, text: bytes | None) -> str:
    if registry.is_new:
        return (
            f"{registry.path} is made: it serves what lies beside it under tools/, and the bundled modules."
        )
    return f"{registry.path} {'serves it already' if text is None else 'has an entry for it now'}."


def _say_next(daemon: Daemon, name: str, directory: str) -> None:
    """What to do next, by whether a daemon serves it."""
    tool = f"{name}_hello"
    try:
        listed = _listed_name(ask(daemon, "mcppd/list"), name, tool)
    except NoDaemonError:
        say("No daemon is running. Start it, and try the module:")
        steps = [daemon.command("start"), _call(daemon, tool)]
    except CommandError as error:
        say(f"Whether it is live can't be told ({error}). See, and try it:")
        steps = [daemon.command("status"), _call(daemon, tool)]
    else:
        say("It is live. Try it:" if listed else "The daemon doesn't serve it yet. See why, and try it:")
        seen = [_call(daemon, listed), f"{daemon.command('help')} {name}"] if listed else []
        steps = seen or [daemon.command("status"), _call(daemon, tool)]
    for step in steps:
        say(f"  {step}")
    say(f"Then edit {os.path.join(directory, 'mcpptool.py')}: what you save is live.")


def _call(daemon: Daemon, tool: str) -> str:
    """The command that tries the tool from here; home and `/` are no workspaces unless they are named."""
    nowhere = os.getcwd() in ("/", os.path.realpath(places.home_directory(os.environ)))
    return f"{daemon.command('call')}{' --workspace .' if nowhere else ''} {tool} --who Ada"


def _listed_name(answer: dict[str, Any], module: str, tool: str) -> str | None:
    """The name that the tool is listed under; None if it isn't."""
    tools = [each for each in answer.get("tools", ()) if isinstance(each, dict)]
    names = (each.get("name") for each in tools if each.get("full_name") == f"{module}__{tool}")
    return next((name for name in names if isinstance(name, str)), None)
