"""`mcppd import`."""  # noqa: N999 - the file has the name of its command

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Final

import click

from mcppd.cli.daemons import Daemon, NoDaemonError, ask, daemon_options, find_daemon
from mcppd.cli.errors import CommandError
from mcppd.cli.output import one_line, say

if TYPE_CHECKING:
    from mcppd.cli.import_plan import Plan, Row
    from mcppd.cli.import_source import Source
    from mcppd.cli.registries import RegistryFile

REGISTRY: Final = "tools.yaml"
SIGNS: Final = {"new": "+", "there": "=", "ignored": ".", "refused": "-"}


@click.command("import")
@daemon_options
@click.option("--dry-run", is_flag=True, help="Say what would be done, and write nothing.")
@click.argument("source", metavar="DIR|tools.yaml")
def command(*, config: str | None, socket: str | None, dry_run: bool, source: str) -> int:
    """Register the modules of another host of this format.

    Each module that its tools.yaml lists gets an entry in yours, with the options that mean
    something here and `workers: 1`, since it may keep state. The modules stay where they are.
    A running daemon serves them at once. Run again, it adds only what is new.

    For each module: + it is new, = it is there already, - it can't be taken, . it is ignored; and
    what differs here.

    Exit status: 0 all are there, 1 some can't be taken, 2 wrong use.
    """
    from mcppd.cli.import_plan import plan_import
    from mcppd.cli.registries import find_registry

    registry = find_registry(config, os.environ)
    read = _read(_found(source), registry)
    plan = plan_import(read, registry, os.environ)
    text = _text(registry, read, plan)
    _say_rows(read, plan)
    if text is not None and not dry_run:
        _write(registry, text)
    _say_outcome(registry, plan, dry_run=dry_run)
    if plan.lines and not dry_run:
        _say_live(find_daemon(config, socket), plan)
    if plan.lines:
        _say_differences()
    return 1 if plan.count("refused") else 0


def _found(source: str) -> str:
    """The absolute path of the registry that is meant."""
    path = os.path.abspath(os.path.expanduser(source))
    if os.path.isdir(path):
        path = os.path.join(path, REGISTRY)
        if not os.path.exists(path):
            directory = os.path.dirname(path)
            raise CommandError(
                f"there is no {REGISTRY} in {directory}: name the registry itself; to serve modules that no registry "
                f"lists, write `- path: {directory}/*` into yours"
            )
    if not os.path.exists(path):
        raise CommandError(f"there is no {path}: name a {REGISTRY}, or the directory that it lies in")
    return path


def _read(path: str, registry: RegistryFile) -> Source:
    from mcppd.cli.import_source import read_source
    from mcppd.core.errors import FaultError

    if os.path.realpath(path) == os.path.realpath(registry.path):
        why = " (MCPP_BASE_DIR names it)" if os.environ.get("MCPP_BASE_DIR") else ""
        raise CommandError(
            f"{path} is the registry that is served here already{why}: there is nothing to import"
        )
    try:
        return read_source(path, os.environ)
    except FaultError as error:
        raise CommandError(str(error), status=1) from None


def _text(registry: RegistryFile, source: Source, plan: Plan) -> bytes | None:
    """Our registry with the new entries in it; None if there are none."""
    from mcppd.cli.registries import with_lines

    if not plan.lines:
        return None
    text = with_lines(registry, [f"# From {source.path}:", *plan.lines])
    if text is None:
        raise CommandError(
            f"`modules:` in {registry.path} isn't written in a way that one can be added to by lines; nothing is "
            "changed; add this to it:",
            status=1,
            quoted=plan.lines,
        )
    return text


def _write(registry: RegistryFile, text: bytes) -> None:
    from mcppd.cli.registries import write_registry

    try:
        write_registry(registry, text)
    except OSError as error:
        raise CommandError(
            f"{registry.path} can't be written ({error.strerror}), and is as it was: repair that, and import again",
            status=1,
        ) from None


def _say_rows(source: Source, plan: Plan) -> None:
    """A line for each module, and below it what is to be known about it."""
    from mcppd.cli.answers import counted

    say(f"{source.path} lists {counted(len(plan.rows), 'module')}.")
    for note in source.notes:
        say(f"  {note}")
    widths = [
        max((len(cell) for cell in cells), default=0) for cells in zip(*map(_cells, plan.rows), strict=True)
    ]
    for row in plan.rows:
        cells = [cell.ljust(width) for cell, width in zip(_cells(row), widths, strict=False)]
        say(f"  {SIGNS[row.fate]} {'  '.join(filter(str.strip, cells))}".rstrip())
        for note in row.notes:
            say(f"      {' '.join(note.splitlines())}")


def _cells(row: Row) -> tuple[str, str, str]:
    offers = "is there already" if row.fate == "there" else row.offers
    return one_line(row.name), offers, one_line(row.directory)


def _say_outcome(registry: RegistryFile, plan: Plan, *, dry_run: bool) -> None:
    from mcppd.cli.answers import counted

    say()
    new, refused = plan.count("new"), plan.count("refused")
    left = f"; {counted(refused, 'module')} can't be taken" if refused else ""
    if not new:
        same = "" if registry.is_new else f", and {registry.path} is as it was"
        say(f"Nothing is new{same}{left}.")
        return
    would = "would be" if dry_run else "is" if new == 1 else "are"
    made = "" if not registry.is_new else ", which would be made" if dry_run else ", which is made"
    say(f"{counted(new, 'module')} {would} registered in {registry.path}{made}{left}.")
    if registry.is_new:
        say("It lists the bundled modules too, and what lies beside it under tools/.")
    if plan.absent:
        say(
            f"Install {', '.join(sorted(plan.absent))} for {sys.executable}, or name the interpreter that has it with "
            "`python:` at the entry."
        )
    if dry_run:
        say("Nothing was written. The lines would be:")
        for line in plan.lines:
            say(f"  {line}")


def _say_live(daemon: Daemon, plan: Plan) -> None:
    """Whether a daemon serves them, and how each is that isn't well."""
    from mcppd.cli.answers import Module, Place, Status
    from mcppd.cli.reload import RELOAD_LIMIT

    try:
        ask(daemon, "mcppd/reload", limit=RELOAD_LIMIT)
        status = Status.read(ask(daemon, "mcppd/status"))
    except NoDaemonError:
        say(f"No daemon is running. Start it: {daemon.command('start')}")
        return
    except CommandError as error:
        say(f"Whether they are live can't be told ({error}). See: {daemon.command('status')}")
        return
    served = {each.directory: each for each in map(Module.read, status.modules)}
    new = [row for row in plan.rows if row.fate == "new"]
    bad = [row for row in new if row.directory not in served or served[row.directory].state != "ok"]
    say(
        "A daemon runs, and serves them from now on."
        if len(bad) < len(new)
        else "A daemon runs, but none is well:"
    )
    for row in bad:
        module = served.get(row.directory)
        say(f"  {row.name}: {_state(module.state, Place.read(module.fault)) if module else 'is not served'}")


def _state(state: str, fault: Any) -> str:
    return f"{state}: {fault}" if str(fault) else state


def _say_differences() -> None:
    """What is otherwise here than in another host, whatever the modules are."""
    from mcppd.cli.invocation import again

    timeout = os.environ.get("MCPP_TIMEOUT_SECONDS")
    now = f" (here it is {timeout})" if timeout else ""
    say()
    say("What differs here:")
    for line in (
        "A module runs in a process of its own. `workers: 1` keeps it to one, so what it holds in memory stays;",
        "  take that line away where a module holds nothing, and up to four run at once.",
        "Code, manifests and tools.yaml are live as soon as they are saved; nothing is restarted.",
        "print and logging go to ~/.local/state/mcppd/modules/NAME.log, and never into the protocol.",
        "The working directory of a call is the agent's project. A call's variables are HOME, PATH, LANG and the like,",
        "  and what `env:` and `pass_env:` name.",
        f"MCPP_TIMEOUT_SECONDS{now} and MCPP_LOG_LEVEL hold as before, also where an agent's configuration sets them.",
        "MCPP_BASE_DIR names another registry, DIR/tools.yaml, with a daemon of its own: leave it out for this one.",
        f"Agents are connected by what `{again('config')} AGENT` prints, in place of what they start now.",
    ):
        say(f"  {'  ' if line.startswith('  ') else '- '}{line.strip()}")
