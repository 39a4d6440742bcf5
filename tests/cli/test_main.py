"""How the command line starts: what it imports, and from where it can be run."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

from mcppd.cli.commands import COMMANDS

if TYPE_CHECKING:
    from .conftest import Cli

ROOT = Path(__file__).parents[2]

IMPORTED = """
import sys
from mcppd.cli.commands import run
run({words!r})
print(*sorted(sys.modules), file=sys.stderr)
"""

WITHOUT_DAEMON = ("check", "demo", "service", "stdio")
"""Commands that are about files, and about no daemon."""

HEAVY = ("rich", "jsonschema", "asyncio", "orjson", "yaml", "uvloop", "watchfiles")


def imported(cli: Cli, *words: str) -> set[str]:
    """The modules that a command line leaves imported."""
    program = IMPORTED.format(words=list(words))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=cli.environ,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    return set(done.stderr.split())


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(cli: Cli, option: str) -> None:
    modules = imported(cli, option)
    assert not modules.intersection(HEAVY)
    assert {name for name in modules if name.startswith("mcppd.")} == {
        "mcppd.cli",
        "mcppd.cli.commands",
        "mcppd.cli.errors",
        "mcppd.cli.output",
    }


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_imports_the_daemon_or_rich_before_it_runs(cli: Cli, name: str) -> None:
    modules = imported(cli, name, "--help")
    assert f"mcppd.cli.{name}" in modules
    assert not modules.intersection({"mcppd.daemon", "rich", "jsonschema", "yaml", "uvloop", "watchfiles"})


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_begins_with_its_sentence(name: str) -> None:
    command = importlib.import_module(f"mcppd.cli.{name}").command
    assert isinstance(command, click.Command)
    assert command.name == name
    assert command.help is not None
    assert command.help.splitlines()[0] == COMMANDS[name]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_fits_the_terminal_and_shows_where_the_daemon_is_given(
    cli: Cli, name: str
) -> None:
    done = cli.run_plain(name, "--help", environ={"COLUMNS": "80"})
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    if name not in WITHOUT_DAEMON:
        assert "--config FILE" in done.stdout
        assert "--socket PATH" in done.stdout
    assert "--background" not in done.stdout


@pytest.mark.parametrize("environ", [{}, {"PYTHONPATH": ""}])
def test_the_package_runs_as_a_file_by_its_path(cli: Cli, environ: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "mcppd" / "__main__.py"), "--version"],
        env=cli.environ | environ,
        cwd=cli.directory,
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "mcppd 0.1.0\n", "")


def test_run_as_a_file_it_finds_its_own_packages_and_not_what_lies_beside_it(cli: Cli) -> None:
    program = (
        "import runpy, sys; sys.argv = ['x', '--version']; sys.path.insert(0, {package!r})\n"
        "try: runpy.run_path({file!r}, run_name='__main__')\n"
        "except SystemExit: pass\n"
        "import mcppd, mcppd_shim.version\n"
        "print({package!r} in sys.path, mcppd.__file__, mcppd_shim.version.__file__)"
    ).format(package=str(ROOT / "mcppd"), file=str(ROOT / "mcppd" / "__main__.py"))
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=cli.environ,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
    )
    assert done.stdout.splitlines()[-1].split() == [
        "False",
        str(ROOT / "mcppd" / "__init__.py"),
        str(ROOT / "shim" / "version.py"),
    ]
