"""The person's own systemd, asked through `systemctl --user`."""

from __future__ import annotations

import os
import subprocess
from typing import Final

from mcppd_shim import places

from mcppd.cli.errors import CommandError

LIMIT: Final = 120.0
"""Seconds for an order: a start waits until the daemon is ready, a stop until its running calls have ended."""

WITHOUT: Final = "mcppd works without it: the first agent starts the daemon"


class NoSystemdError(CommandError):
    """There is no systemd of this user that could be asked."""


def order(*words: str) -> str:
    """What `systemctl --user` prints for a command that succeeds; raises CommandError."""
    done = attempt(*words)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise CommandError(f"`systemctl --user {' '.join(words)}` failed", status=1, quoted=said)
    return done.stdout


def attempt(*words: str) -> subprocess.CompletedProcess[str]:
    """Run `systemctl --user`, whatever its exit status; raises NoSystemdError, CommandError if it takes too long."""
    try:
        return _run("systemctl", "--user", "--no-pager", "--no-ask-password", *words)
    except FileNotFoundError:
        raise NoSystemdError(f"there is no systemd here (no systemctl); {WITHOUT}") from None
    except subprocess.TimeoutExpired:
        text = f"`systemctl --user {' '.join(words)}` doesn't end within {LIMIT:g} s"
        raise CommandError(text, status=1) from None


def reach() -> str:
    """The directories where the systemd of this user looks for units; raises NoSystemdError."""
    done = attempt("show", "--property=UnitPath", "--value")
    if done.returncode:
        why = " ".join(done.stderr.split())
        raise NoSystemdError(
            f"the systemd of this user can't be reached: {why}",
            "su and sudo give no session of one's own: log in directly, or with `machinectl shell USER@`",
            WITHOUT,
        )
    return done.stdout.strip()


def show(unit: str, *properties: str) -> dict[str, str]:
    """Properties of a unit, "" for one that it hasn't; those that come several times in lines of their own."""
    found: dict[str, str] = dict.fromkeys(properties, "")
    for line in order("show", unit, f"--property={','.join(properties)}").splitlines():
        name, _, value = line.partition("=")
        found[name] = f"{found[name]}\n{value}" if found.get(name) else value
    return found


def lingers() -> bool | None:
    """Whether this user's systemd goes on without a session; None if nobody knows."""
    try:
        done = _run("loginctl", "show-user", str(os.getuid()), "--property=Linger", "--value")
    except (OSError, subprocess.TimeoutExpired):
        return None
    return {"yes": True, "no": False}.get(done.stdout.strip())


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT, env=_environment(), check=False
    )


def _environment() -> dict[str, str]:
    """Ours, with the runtime directory that was dropped on the way, and texts that are the same everywhere."""
    environment = os.environ | {"LC_ALL": "C.UTF-8"}
    directory, name = os.path.split(places.runtime_directory(os.environ, os.getuid()))
    if name == "mcppd":  # else it is the one in /tmp: there is no runtime directory
        environment["XDG_RUNTIME_DIR"] = directory
    return environment
