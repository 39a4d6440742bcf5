"""`mcppd service`: the daemon as a user's unit of systemd, installed, looked at and taken away again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click
from mcppd_shim import places

from mcppd.cli import systemctl
from mcppd.cli.daemons import Daemon, ask
from mcppd.cli.errors import CommandError
from mcppd.cli.invocation import again
from mcppd.cli.locks import lock_holder
from mcppd.cli.output import say
from mcppd.cli.steps import Steps
from mcppd.cli.units import SERVICE, SOCKET, directory, installed, texts

FIRST_ANSWER_LIMIT: Final = 30.0
"""Seconds until the daemon must answer that this very question has started; as `mcppd start` gives it."""

LINGER: Final = {
    True: "on: mcppd runs from the start of the machine to its end",
    False: "off: systemd ends mcppd with your last session; `loginctl enable-linger` keeps it",
    None: "not known: no logind answers; where it is off, systemd ends mcppd with your last session",
}

Row = tuple[str, str]

dry_run = click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")


@click.group("service")
def command() -> None:
    """Have systemd run the daemon: install, uninstall, status.

    It is always there then, and started again if it dies. systemd listens on the sockets of the
    default registry, so agents can connect at any time; the first one starts the daemon.
    Nothing here needs root.
    """


@command.command("install")
@dry_run
def install(*, dry_run: bool) -> None:
    """Write the units of systemd, enable them and check that they work.

    Can be done again at any time, as after an upgrade or in another virtual environment: what
    is right already is kept. A daemon that runs without systemd is ended after its calls.
    """
    try:
        searched = systemctl.reach()
    except systemctl.NoSystemdError:
        if dry_run:
            _say_without()
        raise
    where = directory(searched, os.environ)
    daemon = _default_daemon()
    steps = Steps(dry=dry_run)
    wanted, present = texts(os.environ), installed(where)
    changed = {name for name, text in wanted.items() if steps.write(where / name, text, present[name])}
    if changed:
        steps.order("daemon-reload")
    if systemctl.attempt("is-enabled", SOCKET).stdout.strip() == "enabled":
        steps.note("kept", f"{SOCKET} is enabled")
    else:
        steps.order("enable", SOCKET)
    if not dry_run:
        _check_place(daemon)
    _start(steps, changed, daemon)
    if not dry_run:
        steps.note("checked", _check(daemon))
    steps.note("linger", LINGER[systemctl.lingers()])


@command.command("uninstall")
@dry_run
def uninstall(*, dry_run: bool) -> None:
    """Stop the daemon and take the units away.

    The registry, modules and logs stay. Agents' shims start the daemon themselves from then on.
    """
    where = directory(systemctl.reach(), os.environ)
    steps = Steps(dry=dry_run)
    present = [name for name, text in installed(where).items() if text is not None]
    if not present:
        say(f"nothing is installed in {where}")
        return
    if SOCKET in present:
        steps.order("disable", SOCKET)
    steps.order("stop", *present)
    for name in present:
        steps.remove(where / name)
    steps.order("daemon-reload")
    if not dry_run:
        systemctl.attempt("reset-failed", *present)  # there is nothing to forget of those that never failed


@command.command("status")
def status() -> int:
    """Show the units, and what is to be done about them. Exit status 1 if something is."""
    where = directory(systemctl.reach(), os.environ)
    faults = [*_files(where), *_states()]
    say(f"{'linger':<8} {LINGER[systemctl.lingers()]}")
    for fault in faults:
        say(f"{'fault':<8} {fault}")
    return 1 if faults else 0


def _say_without() -> None:
    """Print what a first installation would do where there is a systemd."""
    where = Path(places.default_registry(os.environ)).parent.parent / "systemd" / "user"
    steps, present = Steps(dry=True), installed(where)
    for name, text in texts(os.environ).items():
        steps.write(where / name, text, present[name])
    steps.order("daemon-reload")
    steps.order("enable", SOCKET)
    steps.order("start", SOCKET)


def _default_daemon() -> Daemon:
    """The daemon of the default registry, whatever MCPP_BASE_DIR says: it is the one that systemd runs."""
    try:
        return Daemon(None, None, None, places.socket_paths(None, "", os.environ, os.getuid()))
    except places.PlaceError as error:
        raise CommandError(error.sentence) from None


def _check_place(daemon: Daemon) -> None:
    """Raise CommandError if systemd's sockets aren't where agents look."""
    listens = systemctl.show(SOCKET, "Listen")["Listen"].splitlines()
    if not any(line.startswith(f"{daemon.paths.mcp} ") for line in listens):
        raise CommandError(
            f"systemd would listen at {listens[0] if listens else 'no socket'}, agents look for {daemon.paths.mcp}: "
            "run this with the XDG_RUNTIME_DIR of your session",
            status=1,
        )


def _start(steps: Steps, changed: set[str], daemon: Daemon) -> None:
    """Have the sockets served by what the units say now."""
    before = {unit: systemctl.show(unit, "ActiveState", "MainPID") for unit in (SOCKET, SERVICE)}
    holder = lock_holder(daemon.paths.lock)
    if holder is not None and str(holder) != before[SERVICE].get("MainPID"):
        steps.end(holder)  # it can't be asked over its socket any more as soon as systemd listens there
    is_listening = before[SOCKET]["ActiveState"] == "active"
    is_running = before[SERVICE]["ActiveState"] not in ("inactive", "failed")
    if is_listening and SOCKET not in changed:
        if SERVICE in changed and is_running:
            steps.order("restart", SERVICE)  # the sockets stay: whoever connects meanwhile waits
        else:
            steps.note("kept", f"{SOCKET} is listening")
        return
    if is_running:
        steps.order("stop", SERVICE)  # systemd makes no sockets for what runs
    steps.order("restart" if is_listening else "start", SOCKET)


def _check(daemon: Daemon) -> str:
    """What the daemon of systemd says of itself; raises CommandError if it doesn't."""
    try:
        answer = ask(daemon, "mcppd/status", limit=FIRST_ANSWER_LIMIT)
    except CommandError as error:
        result = systemctl.show(SERVICE, "Result")["Result"]
        raise CommandError(
            f"the units are installed, but the daemon doesn't answer ({result}): `journalctl --user -u mcppd` "
            f"says why, `{again('check')}` what is wrong with the registry",
            status=1,
            quoted=error.lines,
        ) from None
    pid = systemctl.show(SERVICE, "MainPID")["MainPID"]
    if str(answer.get("pid")) != pid:
        raise CommandError(
            f"another daemon answers at {daemon.paths.mcp}: pid {answer.get('pid')}, systemd's is {pid}; end it",
            status=1,
        )
    return f"mcppd {answer.get('version')} serves at {daemon.paths.mcp}: pid {pid}"


def _files(where: Path) -> Iterator[str]:
    """Print where the units are; what is wrong with them."""
    wanted = texts(os.environ)
    for name, text in installed(where).items():
        if text is None:
            say(f"{'unit':<8} {where / name}: absent")
            yield f"{name} isn't installed: `{again('service install')}` writes it"
        elif text != wanted[name]:
            say(f"{'unit':<8} {where / name}: another version")
            yield f"{name} isn't what this mcppd would write: `{again('service install')}` brings it up to date"
        else:
            say(f"{'unit':<8} {where / name}")


def _states() -> Iterator[str]:
    """Print what systemd makes of the units; what is wrong there."""
    listening = systemctl.show(SOCKET, "ActiveState", "UnitFileState")
    say(f"{'sockets':<8} {listening['ActiveState']}, {listening['UnitFileState'] or 'not installed'}")
    if listening["UnitFileState"] == "disabled":
        yield f"{SOCKET} isn't enabled: `{again('service install')}` does it"
    if listening["ActiveState"] != "active" and listening["UnitFileState"]:
        yield f"{SOCKET} doesn't listen: `{again('start')}` has it do so"
    running = systemctl.show(SERVICE, "ActiveState", "MainPID", "NRestarts", "Result", "StatusText")
    words = [running["ActiveState"]]
    if running["ActiveState"] == "active":
        words += [f"pid {running['MainPID']}", f"{running['NRestarts']} restarts", running["StatusText"]]
    elif listening["ActiveState"] == "active":
        words.append("starts when somebody connects")
    say(f"{'daemon':<8} {', '.join(words)}")
    if running["Result"] not in ("success", ""):
        yield f"the daemon ended last with {running['Result']}: `journalctl --user -u mcppd` says more"
