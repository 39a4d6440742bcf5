"""The units of systemd: what they say on this machine, and where they lie."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mcppd_shim import places

import mcppd
from mcppd.bundled import units_directory
from mcppd.cli.errors import CommandError

SOCKET: Final = "mcppd.socket"
SERVICE: Final = "mcppd.service"

PLACES: Final = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME")
"""What the service takes over of the environment in which it is installed: where the registry and the logs are.
The rest is systemd's; a call has what its agent has (PATH) or what the registry says."""

_NOT_IN_EXECUTABLE: Final = frozenset("\"'\\$")
"""What systemd refuses in the path of a program, and `$`, which it takes for a variable in the name given to it."""


def texts(environ: Mapping[str, str]) -> dict[str, str]:
    """The units by name, for this interpreter and this environment."""
    if not sys.executable:
        raise CommandError("Python doesn't know its own executable: call mcppd by an absolute path")
    if odd := sorted(_NOT_IN_EXECUTABLE.intersection(sys.executable)):
        raise CommandError(
            f"systemd runs no program with {' '.join(odd)} in its path, which {sys.executable} has: "
            "install mcppd in another directory"
        )
    main = str(Path(mcppd.__file__).absolute().with_name("__main__.py"))
    command = f"{quoted(sys.executable)} {quoted(main)}".replace(
        "$", "$$"
    )  # a command's `$` names a variable
    variables = [f"Environment={quoted(f'{name}={environ[name]}')}" for name in PLACES if environ.get(name)]
    found = {}
    for name in (SOCKET, SERVICE):
        text = (units_directory() / name).read_text()
        text = text.replace("@ENVIRONMENT@\n", "".join(f"{line}\n" for line in variables))
        found[name] = text.replace("@MCPPD@", command)
    return found


def quoted(text: str) -> str:
    """A word of a unit's line, quoted (systemd.syntax(7)); a `%` begins no specifier."""
    if not text.isprintable():
        raise CommandError(f"{text!r} can't stand in a unit of systemd: install mcppd in another directory")
    for special in ("\\", '"'):
        text = text.replace(special, f"\\{special}")
    return f'"{text.replace("%", "%%")}"'


def directory(searched: str, environ: Mapping[str, str]) -> Path:
    """Where this person's units lie; raises CommandError unless it is one of the directories that are searched."""
    configuration = Path(places.default_registry(environ)).parent.parent
    found = configuration / "systemd" / "user"
    if f" {found} " not in f" {searched} ":
        raise CommandError(
            f"systemd doesn't look for units in {found}: it was started with another XDG_CONFIG_HOME; set the same"
        )
    return found


def installed(where: Path) -> dict[str, str | None]:
    """What the units in a directory say, by name; None for one that isn't there. Raises CommandError for a link."""
    found: dict[str, str | None] = {}
    for name in (SOCKET, SERVICE):
        path = where / name
        if path.is_symlink():
            target = path.readlink()
            why = "is masked" if str(target) == os.devnull else f"is a link to {target}, so another program's"
            raise CommandError(f"{path} {why}: remove it first")
        found[name] = path.read_text(errors="replace") if path.exists() else None
    return found
