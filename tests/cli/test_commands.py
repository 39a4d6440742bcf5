"""`start` and `stop`, no daemon, and wrong use, as a script meets them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .conftest import Cli

Fake = subprocess.Popen[str]


def test_start_is_content_with_a_daemon_that_runs(cli: Cli, fake: Fake) -> None:
    done = cli.run("start")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        f"mcppd is already running: pid {fake.pid}, socket {cli.socket}\n"
        f"To use it from an agent: `mcppd config claude --socket {cli.socket}` "
        "(or codex, gemini, opencode, vscode, cursor)\n"
    )


@pytest.mark.slow
def test_stop_comes_back_when_process_sockets_and_lock_are_gone(cli: Cli, fake: Fake) -> None:
    done = cli.run("stop")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mcppd has stopped: pid {fake.pid}\n", "")
    assert not cli.socket.exists()
    assert not Path(f"{cli.socket}.control").exists()
    assert fake.wait(0.5) == 0


def test_stop_says_where_a_daemon_left_its_sockets(cli: Cli, fake: Fake) -> None:
    cli.answer(stop={"by": "SIGKILL"})
    done = cli.run("stop")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"mcppd has stopped: pid {fake.pid}; ")
    assert str(cli.socket.parent) in done.stdout


def test_stop_is_content_where_nothing_runs(cli: Cli) -> None:
    done = cli.run("stop")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"mcppd is not running at {cli.socket}\n"


@pytest.mark.parametrize("words", [["status"], ["list"], ["reload"], ["help"], ["call", "add_note"]])
def test_without_a_daemon_a_command_says_how_to_start_one(cli: Cli, words: list[str]) -> None:
    done = cli.run(words[0], *words[1:])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"mcppd: no daemon is running at {cli.socket}: start it with `mcppd start --socket {cli.socket}`\n"
    )


def test_a_socket_that_a_killed_daemon_left_is_no_daemon(cli: Cli, fake: Fake) -> None:
    fake.kill()
    fake.wait()
    assert cli.socket.exists()
    done = cli.run("status")
    assert done.returncode == 2
    assert "no daemon" in done.stderr
    assert cli.run("stop").returncode == 0


def test_a_directory_that_others_could_enter_is_refused(cli: Cli, fake: Fake) -> None:
    cli.socket.parent.chmod(0o755)
    done = cli.run("status")
    assert (done.returncode, done.stdout) == (2, "")
    assert "0755" in done.stderr


def test_a_relative_socket_is_found_from_here(cli: Cli, fake: Fake) -> None:
    assert cli.run_plain("status", "--socket", "s/mcp.sock").returncode == 0


def test_the_version_is_printed(cli: Cli) -> None:
    assert cli.run_plain("--version").stdout == "mcppd 0.1.0\n"


def test_no_command_shows_the_commands_and_is_wrong_use(cli: Cli) -> None:
    done = cli.run_plain()
    assert (done.returncode, done.stdout) == (2, "")
    assert "Commands:" in done.stderr


@pytest.mark.parametrize(
    ("words", "names", "see"),
    [
        (["statsu"], "did you mean status?", "mcppd --help"),
        (["call"], "TOOL", "mcppd call --help"),
        (["status", "extra"], "extra", "mcppd status --help"),
        (["list", "--wrong"], "--wrong", "mcppd list --help"),
    ],
)
def test_wrong_use_is_one_line_and_status_2(cli: Cli, words: list[str], names: str, see: str) -> None:
    done = cli.run_plain(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mcppd: ")
    assert done.stderr.endswith(f"; see {see}\n")
    assert done.stderr.count("\n") == 1
    assert names in done.stderr


def test_a_reader_that_is_gone_is_no_error(cli: Cli, fake: Fake) -> None:
    read, write = os.pipe()
    os.close(read)
    process = cli.start("status", stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (141, b"")


def test_a_full_disk_under_stdout_is_told_in_a_line(cli: Cli, fake: Fake) -> None:
    with Path("/dev/full").open("w") as full:
        process = cli.start("status", stdout=full, stderr=subprocess.PIPE)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 1
    assert errors.startswith(b"mcppd: ")
    assert errors.count(b"\n") == 1


def test_closed_streams_do_no_harm(cli: Cli, fake: Fake) -> None:
    command = ["sh", "-c", '"$@" 0<&- 1>&- 2>&-', "sh", *cli.command("status")]
    assert subprocess.run(command, env=cli.environ, timeout=20, check=False).returncode == 0


def test_text_that_cannot_be_encoded_is_printed_as_escapes(cli: Cli, fake: Fake) -> None:
    done = cli.run(
        "call", "add_note", "--args", '{"name": "\\ud800 é"}', environ={"PYTHONIOENCODING": "ascii"}
    )
    assert done.returncode == 0
