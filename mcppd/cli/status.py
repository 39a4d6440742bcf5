"""`mcppd status`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import click

from mcppd.cli.answers import Module, Place, Report, Session, Shadowed, Status, Watching, counted, duration
from mcppd.cli.daemons import ask, daemon_options, find_daemon
from mcppd.cli.output import is_terminal, print_json, print_table, say

Row = tuple[str, ...]

SESSION_COLUMNS: Final = ("session", "workspace", "connected", "calls")
MODULE_COLUMNS: Final = ("module", "state", "version", "offers", "workers", "directory")


@click.command("status")
@daemon_options
@click.option("--json", "as_json", is_flag=True, help="Print everything the daemon tells, as JSON.")
def command(*, config: str | None, socket: str | None, as_json: bool) -> None:
    """Show the daemon, its sessions and its modules.

    One line for each thing, beginning with what it is: session, module, fault, warning,
    shadowed, reload. Tables on a terminal. Exit status 2 if no daemon is running.
    """
    answer = ask(find_daemon(config, socket), "mcppd/status")
    if as_json:
        print_json(answer)
    elif is_terminal():
        _print_tables(Status.read(answer))
    else:
        _print_lines(Status.read(answer))


def _print_lines(status: Status) -> None:
    _print_rows(daemon_rows(status))
    _print_rows(("session", *row) for row in session_rows(status))
    _print_rows(("module", *row) for row in module_rows(status))
    _print_rows(finding_rows(status))


def _print_tables(status: Status) -> None:
    _print_rows(daemon_rows(status))
    print_table(SESSION_COLUMNS, session_rows(status))
    print_table(MODULE_COLUMNS, module_rows(status))
    _print_rows(finding_rows(status))


def _print_rows(rows: Iterable[Row]) -> None:
    for label, *cells in rows:
        text = "  ".join(filter(None, cells))
        say(f"{label:<9} {' '.join(text.splitlines())}")


def daemon_rows(status: Status) -> Iterator[Row]:
    """What there is to say of the daemon itself."""
    yield "mcppd", status.version, f"pid {status.pid}", f"up {duration(status.uptime_seconds)}"
    yield "registry", status.registry or "bundled"
    yield "socket", status.socket
    yield "control", status.control
    watching = Watching.read(status.watching)
    if watching.mode:
        yield "watching", counted(watching.directories, "directory", "directories"), watching.mode
    for reason, paths in watching.reasons().items():
        rest = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        yield "polling", f"{paths[0]}{rest}", reason


def session_rows(status: Status) -> Iterator[Row]:
    """The agents that are connected."""
    for each in status.sessions:
        session = Session.read(each)
        calls = counted(session.calls, "call") + (
            f", {session.in_flight} in flight" if session.in_flight else ""
        )
        yield session.name, session.workspace or "(no workspace)", duration(session.connected_seconds), calls


def module_rows(status: Status) -> Iterator[Row]:
    """The modules, in the registry's order."""
    for each in status.modules:
        module = Module.read(each)
        version = (
            f"generation {module.generation} {module.digest}"
            if module.generation is not None
            else "nothing loaded"
        )
        yield (
            module.name,
            module.state,
            version,
            module.offers,
            module.workforce,
            module.directory,
        )


def finding_rows(status: Status) -> Iterator[Row]:
    """What is wrong, what is odd, and what the last reload did."""
    if status.registry_fault:
        yield "fault", status.registry_fault
    for each in status.modules:
        yield from _module_findings(Module.read(each))
    for text in status.warnings:
        yield "warning", text
    for each in status.shadowed:
        yield "shadowed", str(Shadowed.read(each))
    if status.last_reload:
        report = Report.read(status.last_reload)
        yield "reload", report.heading()
        for change in report.by_module():
            yield "reload", change.words()


def _module_findings(module: Module) -> Iterator[Row]:
    if module.fault:
        fault: Any = Place.read(module.fault) if isinstance(module.fault, dict) else module.fault
        source = f"| {fault.source.strip()}" if isinstance(fault, Place) and fault.source else ""
        yield "fault", module.name, f"since {module.since}" if module.since else "", str(fault), source
    for text in module.faults:
        yield "fault", module.name, text
    for text in module.warnings:
        yield "warning", module.name, text
