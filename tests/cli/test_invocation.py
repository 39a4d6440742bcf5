"""What a command says where the person is to run another one: a line that works in the same shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Cli

ROOT = Path(__file__).parents[2]
BARE = "/usr/bin:/bin"


def hint(cli: Cli, command: str, path: str = BARE) -> str:
    """What the person is told to run by a command that finds no daemon, typed in a shell."""
    done = subprocess.run(
        ["bash", "-c", f"{command} status"],
        cwd=cli.directory,
        env=cli.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert done.returncode == 2
    return done.stderr.split("`")[1]


@pytest.mark.parametrize("typed", [".venv/bin/mcppd", "./.venv/bin/mcppd", '"$PWD"/.venv/bin/mcppd'])
def test_a_script_that_the_shell_does_not_find_is_named_as_it_was(cli: Cli, typed: str) -> None:
    cli.install(".venv/bin")
    assert hint(cli, typed) == typed.replace('"$PWD"', str(cli.directory)) + " start"


def test_a_script_that_the_shell_finds_is_named_alone(cli: Cli) -> None:
    found = cli.install(".venv/bin")
    path = f"{found.parent}:{BARE}"
    assert hint(cli, "mcppd", path) == "mcppd start"
    assert hint(cli, ".venv/bin/mcppd", path) == "mcppd start"


def test_a_link_on_the_path_is_as_good(cli: Cli) -> None:
    found = cli.install(".venv/bin")
    (cli.directory / "links").mkdir()
    (cli.directory / "links" / "mcppd").symlink_to(found)
    assert hint(cli, ".venv/bin/mcppd", f"{cli.directory}/links:{BARE}") == "mcppd start"


def test_another_installation_on_the_path_is_not_this_one(cli: Cli) -> None:
    cli.install(".venv/bin")
    assert hint(cli, ".venv/bin/mcppd", f"{cli.script.parent}:{BARE}") == ".venv/bin/mcppd start"


def test_blanks_in_its_name_are_quoted(cli: Cli) -> None:
    cli.install("my tools")
    assert hint(cli, "my\\ tools/mcppd") == "'my tools/mcppd' start"


@pytest.mark.parametrize("words", ["-m mcppd", "-B -m mcppd", str(ROOT / "mcppd" / "__main__.py")])
def test_a_module_is_run_as_one(cli: Cli, words: str) -> None:
    assert hint(cli, f"{sys.executable} {words}") == f"{sys.executable} {words} start"


def test_the_options_that_name_the_daemon_are_named_again_and_quoted(cli: Cli) -> None:
    (cli.directory / "a b.yaml").write_text("modules:\n")
    done = cli.run_plain("status", "--config", "a b.yaml")
    assert done.stderr.rstrip().endswith("start it with `mcppd start --config 'a b.yaml'`")


@pytest.mark.parametrize(
    ("words", "told"),
    [(["lst"], "see ./bin/mcppd --help"), (["status", "--wrong"], "see ./bin/mcppd status --help")],
)
def test_wrong_use_is_pointed_to_a_line_that_works(cli: Cli, words: list[str], told: str) -> None:
    done = subprocess.run(
        ["./bin/mcppd", *words],
        cwd=cli.directory,
        env=cli.environ | {"PATH": BARE},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr.endswith(f"; {told}\n")) == (2, True)
