"""The command line with the real daemon: from start to stop."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Cli

Wait = Callable[..., None]

MANIFEST = """\
name: notes
about: Notes.
tools:
  - name: add_note
    description: Writes a note.
    inputSchema:
      type: object
      properties:
        name: {type: string}
        times: {type: integer}
        wait: {type: boolean}
      required: [name]
"""

ADDED = """\
  - name: drop_note
    description: Drops a note.
    inputSchema: {type: object}
"""

CODE = """\
import time

def execute(tool_name, arguments, context=None):
    if tool_name == "drop_note":
        raise ValueError("nothing to drop")
    if arguments.get("wait"):
        context["report_progress"](1, 4, "waiting")
        time.sleep(60)
    result = {"version": "one", "arguments": arguments, "workspace": context["workspace_dir"]}
    return {"success": True, "result": result, "display": "# A note"}
"""


class Modules:
    """A registry with one module."""

    def __init__(self, directory: Path) -> None:
        self.registry = directory / "tools.yaml"
        self.registry.write_text("modules:\n  - path: modules/*\n")
        self.directory = directory / "modules" / "notes"
        self.directory.mkdir(parents=True)
        self.write("tool.yaml", MANIFEST)
        self.write("mcpptool.py", CODE)

    def write(self, name: str, text: str) -> None:
        path = self.directory / name
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").rename(path)


@pytest.fixture
def modules(tmp_path: Path) -> Modules:
    return Modules(tmp_path)


@pytest.fixture
def daemon(cli: Cli, modules: Modules) -> Iterator[int]:
    """A daemon that `mcppd start` has started; its process id."""
    started = cli.run("start", "--config", str(modules.registry))
    assert started.returncode == 0, started.stderr
    pid = status(cli)["pid"]
    running, told = started.stdout.splitlines()
    assert running == f"mcppd is running: pid {pid}, socket {cli.socket}"
    assert f"`mcppd config claude --config {modules.registry} --socket {cli.socket}`" in told
    yield pid
    cli.run("stop")


def status(cli: Cli) -> dict[str, Any]:
    done = cli.run("status", "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def note(cli: Cli, *words: str) -> dict[str, Any]:
    done = cli.run("call", "add_note", "--name", "n", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[0])
    return found


def descendants(pid: int) -> set[int]:
    parents = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # gone while we looked
        parents[int(directory.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


@pytest.mark.slow
def test_stop_leaves_no_process_no_socket_and_no_lock(cli: Cli, daemon: int, wait_for: Wait) -> None:
    note(cli)
    everybody = descendants(daemon)
    assert len(everybody) >= 3  # the daemon, its spawner, a worker
    stopped = cli.run("stop")
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (
        0,
        f"mcppd has stopped: pid {daemon}\n",
        "",
    )
    assert [path.name for path in cli.socket.parent.iterdir() if path.is_socket()] == []
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in everybody), "the end of all")


@pytest.mark.slow
def test_a_daemon_that_runs_is_not_started_again(cli: Cli, daemon: int, modules: Modules) -> None:
    again = cli.run("start", "--config", str(modules.registry))
    assert again.returncode == 0
    assert again.stdout.splitlines()[0] == f"mcppd is already running: pid {daemon}, socket {cli.socket}"
    serving = cli.run("serve", "--config", str(modules.registry))
    assert serving.returncode == 1
    assert f"`mcppd stop --config {modules.registry} --socket {cli.socket}` ends it" in serving.stderr
    assert status(cli)["pid"] == daemon


@pytest.mark.slow
def test_a_daemon_that_cannot_start_shows_the_end_of_its_log(cli: Cli, modules: Modules) -> None:
    modules.registry.write_text("modules:\n  - path: [unclosed\n")
    done = cli.run("start", "--config", str(modules.registry))
    assert (done.returncode, done.stdout) == (1, "")
    assert f"{modules.registry}:" in done.stderr
    assert not cli.socket.exists()


@pytest.mark.slow
def test_status_and_list_show_what_is_served(cli: Cli, daemon: int, modules: Modules) -> None:
    lines = cli.run("status").stdout.splitlines()
    assert f"registry  {modules.registry}" in lines
    assert f"socket    {cli.socket}" in lines
    [module] = [line for line in lines if line.startswith("module ")]
    assert module.split()[1:5] == ["notes", "ok", "generation", "1"]
    assert cli.run("list").stdout.splitlines()[0] == "add_note\tnotes\tWrites a note."


@pytest.mark.slow
def test_a_call_works_in_the_callers_directory_with_typed_options(cli: Cli, daemon: int) -> None:
    answer = note(cli, "--times", "3")
    assert answer["arguments"] == {"name": "n", "times": 3}
    assert answer["workspace"] == str(cli.directory)
    workspace = cli.directory / "elsewhere"
    workspace.mkdir()
    done = cli.run("call", "--workspace", "elsewhere", "notes__add_note", "--name=007")
    assert json.loads(done.stdout)["workspace"] == str(workspace)
    assert json.loads(done.stdout)["arguments"] == {"name": "007"}


@pytest.mark.slow
def test_help_shows_the_modules_and_a_tools_schema(cli: Cli, daemon: int) -> None:
    assert "add_note" in cli.run("help").stdout
    assert "`times`" in cli.run("help", "add_note").stdout
    assert cli.run("help", "nothing_like_it").returncode != 0


@pytest.mark.slow
def test_a_call_that_the_daemon_does_not_know_is_wrong_use_with_the_nearest_names(
    cli: Cli, daemon: int
) -> None:
    done = cli.run("call", "ad_note", "--name", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert "add_note" in done.stderr


@pytest.mark.slow
def test_the_call_after_a_reload_runs_the_new_code(cli: Cli, daemon: int, modules: Modules) -> None:
    assert note(cli)["version"] == "one"
    modules.write("mcpptool.py", CODE.replace('"one"', '"two"'))
    assert cli.run("reload").returncode == 0
    assert note(cli)["version"] == "two"
    assert status(cli)["modules"][0]["generation"] == 2


@pytest.mark.slow
def test_what_a_reload_changed_is_reported_by_module(cli: Cli, daemon: int, modules: Modules) -> None:
    modules.write("tool.yaml", MANIFEST + ADDED)
    assert cli.run("reload").returncode == 0
    report = status(cli)["last_reload"]["modules"][0]
    assert (report["name"], report["old"], report["new"]) == ("notes", 1, 2)
    assert (report["added"], report["removed"], report["changed"]) == (["drop_note"], [], [])
    assert "reload    notes generation 1 -> 2 +drop_note" in cli.run("status").stdout.splitlines()
    failed = cli.run("call", "drop_note")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "nothing to drop" in failed.stderr


@pytest.mark.slow
def test_a_broken_save_is_shown_with_its_place_and_the_tool_goes_on(
    cli: Cli, daemon: int, modules: Modules
) -> None:
    note(cli)
    modules.write("mcpptool.py", CODE.replace("def execute(", "def execute(("))
    cli.run("reload")
    assert note(cli)["version"] == "one"
    [module] = status(cli)["modules"]
    assert (module["state"], module["fault"]["line"]) == ("broken", 3)
    [fault] = [line for line in cli.run("status").stdout.splitlines() if line.startswith("fault ")]
    assert f"{modules.directory / 'mcpptool.py'}:3" in fault


@pytest.mark.slow
def test_a_daemon_of_another_registry_refuses_by_name(cli: Cli, daemon: int, modules: Modules) -> None:
    for _ in range(5):
        done = cli.run("call", "--config", "another.yaml", "add_note", "--name", "n")
        assert (done.returncode, done.stdout) == (2, "")
        assert str(modules.registry) in done.stderr


def test_ctrl_c_ends_the_call_in_the_daemon_too(cli: Cli, daemon: int, wait_for: Wait) -> None:
    terminal = cli.on_terminal("call", "add_note", "--name", "n", "--wait")
    terminal.read_until("25%")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    wait_for(
        lambda: not any(session["in_flight"] for session in status(cli)["sessions"]), "the end of the call"
    )
    assert note(cli)["version"] == "one"
    assert os.path.exists(f"/proc/{daemon}")
