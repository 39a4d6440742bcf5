"""`mcppd service`, `start` and `stop` where there is no systemd to talk to."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mcppd.cli.errors import CommandError
from mcppd.cli.locks import lock_holder
from mcppd.cli.units import quoted, texts
from mcppd.transport.lock import hold_lock

if TYPE_CHECKING:
    from .conftest import Cli


@pytest.mark.parametrize("name", ["install", "uninstall", "status"])
def test_without_systemd_each_says_so_and_does_nothing(name: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "programs").mkdir()
    done = cli.run_plain("service", name, environ={"PATH": str(tmp_path / "programs")})
    assert (done.returncode, done.stdout) == (2, "")
    assert "no systemctl" in done.stderr
    assert not list((tmp_path / "home").iterdir())


@pytest.mark.parametrize("name", ["install", "uninstall", "status"])
def test_a_systemd_that_cannot_be_reached_is_told_with_its_words(name: str, cli: Cli, tmp_path: Path) -> None:
    systemctl(tmp_path, "echo 'Failed to connect to bus: No medium found' >&2; exit 1")
    done = cli.run_plain("service", name, environ={"PATH": f"{tmp_path / 'programs'}:{cli.environ['PATH']}"})
    assert (done.returncode, done.stdout) == (2, "")
    assert "No medium found" in done.stderr
    assert "machinectl" in done.stderr
    assert not list((tmp_path / "home").iterdir())


def systemctl(directory: Path, script: str) -> None:
    """Another `systemctl`, first on the path."""
    (directory / "programs").mkdir()
    program = directory / "programs" / "systemctl"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


@pytest.mark.slow
def test_units_of_another_session_keep_nobody_from_starting_and_stopping(cli: Cli, tmp_path: Path) -> None:
    systemctl(tmp_path, "echo 'Failed to connect to bus: No medium found' >&2; exit 1")
    units = tmp_path / "home" / ".config" / "systemd" / "user"
    units.mkdir(parents=True)
    (units / "mcppd.socket").write_text("[Socket]\n")
    (tmp_path / "run").mkdir(mode=0o700)
    environ = {
        "PATH": f"{tmp_path / 'programs'}:{cli.environ['PATH']}",
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
    }
    started = cli.run_plain("start", environ=environ)
    stopped = cli.run_plain("stop", environ=environ)
    assert started.returncode == 0, started.stderr
    assert started.stdout.startswith("mcppd is running: pid ")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert stopped.stdout.startswith("mcppd has stopped: pid ")


def test_what_cannot_stand_in_a_unit_is_refused() -> None:
    with pytest.raises(CommandError):
        quoted("/home/a\nExecStart=/bin/rm")


def test_the_units_name_the_places_of_whoever_installs_and_no_more() -> None:
    service = texts({"XDG_STATE_HOME": "/s t", "XDG_SESSION_ID": "7", "TOKEN": "secret"})["mcppd.service"]
    assert [line for line in service.splitlines() if line.startswith("Environment=")] == [
        'Environment="XDG_STATE_HOME=/s t"'
    ]
    assert "@" not in service


@pytest.mark.parametrize("odd", ['"', "'", "\\", "$"])
def test_a_program_that_systemd_would_not_run_is_refused(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", f"/a{odd}b/python")
    with pytest.raises(CommandError):
        texts({})


def test_who_holds_a_lock_is_known(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    assert lock_holder(path) is None
    hold_lock(path)
    assert lock_holder(path) == os.getpid()


def test_a_dry_run_without_systemd_says_what_would_be_written_and_then_why_it_cannot(
    cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "programs").mkdir()
    done = cli.run_plain("service", "install", "--dry-run", environ={"PATH": str(tmp_path / "programs")})
    units = tmp_path / "home" / ".config" / "systemd" / "user"
    assert f"would write  {units}/mcppd.socket\nwould write  {units}/mcppd.service\n" in done.stdout
    assert "enable mcppd.socket" in done.stdout
    assert (done.returncode, "no systemctl" in done.stderr) == (2, True)
    assert not list((tmp_path / "home").iterdir())
