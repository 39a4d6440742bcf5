"""`mcppd check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import click
from mcppd_shim import places

from mcppd.bundled import registry_path
from mcppd.cli.answers import counted
from mcppd.cli.errors import CommandError
from mcppd.cli.output import is_terminal, print_json, printable, rich_console, say
from mcppd.core.items import ITEM_KINDS, WORDS

if TYPE_CHECKING:
    from mcppd.cli.findings import Checked
    from mcppd.core.findings import Finding

MODULE_FILES: Final = ("tool.yaml", "mcpptool.py")
REGISTRY: Final = "tools.yaml"

STYLES: Final = {"error": "bold red", "warning": "bold yellow"}
"""How the words look on a terminal; they say the same without color."""


@click.command("check")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
@click.argument("path", required=False)
def command(*, path: str | None, as_json: bool) -> int:
    """Check the registry and its modules, without a daemon.

    PATH is a registry, a module's directory or its tool.yaml; without it, the registry that
    would be served. YAML, manifests, schemas, URIs and names are checked, and sources are
    compiled; no code of a module is run.

    Each error and warning is a line: file:line:column, what is wrong, what to do. Warnings are
    what some clients refuse, and what other readers of YAML take for something else.

    Exit status: 0 no errors, 1 errors, 2 wrong use.
    """
    from mcppd.cli.findings import check_module, check_registry

    found, is_module = _target(path)
    checked = check_module(found) if is_module else check_registry(found, os.environ)
    if as_json:
        print_json(_as_json(found, checked))
    else:
        for finding in checked.in_order():
            _print(finding)
        say(_summary(found, checked))
    return 1 if checked.errors else 0


def _target(path: str | None) -> tuple[str, bool]:
    """The absolute path of what is to be checked, and whether that is a module's directory."""
    if path is None:
        path = places.registry_path(None, os.environ)[0] or str(registry_path())
        if not os.path.exists(path):
            raise CommandError(f"there is no registry at {path}: make it with `modules:` in it")
    path = os.path.abspath(path)
    if os.path.basename(path) in MODULE_FILES and os.path.isdir(os.path.dirname(path)):
        return os.path.dirname(path), True
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise CommandError(f"there is no {path}: name a registry, a module's directory or its tool.yaml")
        return path, False
    if any(os.path.exists(os.path.join(path, name)) for name in MODULE_FILES):
        return path, True
    if os.path.exists(os.path.join(path, REGISTRY)):
        return os.path.join(path, REGISTRY), False
    raise CommandError(
        f"{path} is no module and has no registry in it: neither tool.yaml nor {REGISTRY} is there"
    )


def _shown(path: str) -> str:
    """A path as it is shortest from here, if it lies below."""
    here = os.getcwd() + os.sep
    return path.removeprefix(here) if path.startswith(here) else path


def _place(finding: Finding) -> str:
    """`file:line:column`, as editors and terminals take it; what is about a whole file is at its beginning."""
    fault = finding.fault
    return f"{_shown(fault.file or '')}:{fault.line or 1}:{fault.column or 1}"


def _print(finding: Finding) -> None:
    """One line, whatever stands in the texts."""
    place, kind = " ".join(_place(finding).splitlines()), _kind(finding)
    message = " ".join(finding.fault.message.splitlines())
    if not is_terminal():
        say(f"{place}: {kind}: {message}")
        return
    from rich.text import Text

    line = Text.assemble((printable(place), "bold"), ": ", (kind, STYLES[kind]), f": {printable(message)}")
    rich_console().print(line, soft_wrap=True)


def _kind(finding: Finding) -> str:
    return "error" if finding.is_error else "warning"


def _summary(path: str, checked: Checked) -> str:
    """What was looked at, and how much was found."""
    found = f"{counted(checked.errors, 'error')}, {counted(checked.warnings, 'warning')}"
    items = (counted(count, WORDS[kind]) for kind, count in sorted(checked.items.items()))
    looked = ", ".join([counted(checked.modules, "module"), counted(checked.tools, "tool"), *items])
    bundled = str(registry_path().parent) + os.sep
    own = [_shown(path) for path in checked.ignored if not path.startswith(bundled)]
    ignored = f"; ignored: {', '.join(own)} (a name that begins with _ is a template's)" if own else ""
    return f"{_shown(path)}: {looked}: {found}{ignored}"


def _as_json(path: str, checked: Checked) -> dict[str, Any]:
    findings = [
        {
            "severity": _kind(finding),
            "message": finding.fault.message,
            "file": finding.fault.file,
            "line": finding.fault.line,
            "column": finding.fault.column,
            "source": finding.fault.source,
        }
        for finding in checked.in_order()
    ]
    counts = {"errors": checked.errors, "warnings": checked.warnings}
    items = {str(kind): checked.items[kind] for kind in ITEM_KINDS}
    looked = {"modules": checked.modules, "tools": checked.tools, **items, "ignored": checked.ignored}
    return {"path": path, **counts, **looked, "findings": findings}
