"""`config`: each agent's own form, for this installation, with or without a daemon; and the command in it works."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mcppd.agents import AGENTS

if TYPE_CHECKING:
    from .conftest import Cli

ROOT = Path(__file__).parents[2]
START = [sys.executable, "-I", "-S", str(ROOT / ".ci" / "links" / "mcppd_shim" / "__main__.py")]


def words_of(server: dict[str, Any]) -> list[str]:
    assert set(server) == {"command", "args"}
    return [server["command"], *server["args"]]


def common(text: str) -> list[str]:
    found = json.loads(text)
    assert list(found) == ["mcpServers"]
    return words_of(found["mcpServers"]["mcppd"])


def claude(text: str) -> list[str]:
    words = shlex.split(text)
    assert words[:7] == ["claude", "mcp", "add", "-s", "user", "mcppd", "--"]
    return words[7:]


def codex(text: str) -> list[str]:
    return words_of(tomllib.loads(text)["mcp_servers"]["mcppd"])


def opencode(text: str) -> list[str]:
    server = json.loads(text)["mcp"]["mcppd"]
    assert set(server) == {"type", "command"}
    assert server["type"] == "local"
    return list(server["command"])


def vscode(text: str) -> list[str]:
    server = json.loads(text)["servers"]["mcppd"]
    assert server.pop("type") == "stdio"
    return words_of(server)


READERS: dict[str, tuple[str, Callable[[str], list[str]]]] = {
    # (the file that the person is sent to, the command in what is printed)
    "claude": ("~/.claude.json", claude),
    "codex": ("~/.codex/config.toml", codex),
    "gemini": ("~/.gemini/settings.json", common),
    "opencode": ("~/.config/opencode/opencode.json", opencode),
    "vscode": (".vscode/mcp.json", vscode),
    "cursor": ("~/.cursor/mcp.json", common),
}


def test_every_agent_is_read_here() -> None:
    assert READERS.keys() == AGENTS.keys()


@pytest.mark.parametrize("agent", READERS)
def test_each_agent_reads_the_command_in_its_own_form_and_the_person_the_file_on_stderr(
    cli: Cli, agent: str
) -> None:
    place, read = READERS[agent]
    done = cli.run_plain("config", agent)
    assert done.returncode == 0
    assert read(done.stdout) == START
    assert done.stderr.count("\n") == 1
    assert place in done.stderr


def test_without_an_agent_it_is_what_most_agents_read(cli: Cli) -> None:
    done = cli.run_plain("config")
    assert (done.returncode, common(done.stdout)) == (0, START)
    assert done.stderr.count("\n") == 1
    assert all(agent in done.stderr for agent in AGENTS)


def test_a_daemon_that_runs_changes_nothing(cli: Cli, fake: subprocess.Popen[str]) -> None:
    assert claude(cli.run("config", "claude").stdout) == [*START, "--socket", str(cli.socket)]
    assert cli.received() == []


def test_a_daemon_in_the_foreground_prints_the_same_for_itself(cli: Cli) -> None:
    registry = cli.directory / "r.yaml"
    registry.write_text("modules:\n")
    options = ["--config", str(registry)]
    process = cli.start("serve", *options, stderr=subprocess.PIPE)
    try:
        lines = map(bytes.decode, process.stderr or ())
        block = list(takewhile(lambda line: line != "}\n", lines))[1:]
    finally:
        process.terminate()
        process.communicate(timeout=20)
    assert "".join(block) + "}\n" == cli.run("config", *options).stdout


@pytest.mark.parametrize("agent", READERS)
@pytest.mark.parametrize(
    "name", ["r.yaml", "a b.yaml", 'it\'s "$HOME".yaml', "back\\slash.yaml", "ü\x7f.yaml"]
)
def test_a_registry_and_a_socket_are_named_from_the_root_whatever_is_in_their_names(
    cli: Cli, agent: str, name: str
) -> None:
    (cli.directory / name).write_text("modules:\n")
    done = cli.run_plain("config", agent, "--config", name, "--socket", "s/mcp.sock")
    options = ["--config", str(cli.directory / name), "--socket", str(cli.socket)]
    assert READERS[agent][1](done.stdout) == [*START, *options]


@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_what_is_printed_starts_the_shim_from_anywhere_without_an_environment(cli: Cli, agent: str) -> None:
    start = READERS[agent][1](cli.run_plain("config", agent).stdout)
    shown = subprocess.check_output([*start, "--version"], cwd="/", env={}, text=True, timeout=20)
    assert shown == "mcppd-shim 0.1.0\n"


def test_claudes_line_is_one_that_a_shell_runs(cli: Cli) -> None:
    claude = cli.script.with_name("claude")
    claude.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    claude.chmod(0o755)
    (cli.directory / "a b.yaml").write_text("modules:\n")
    command = f"mcppd config claude --config 'a b.yaml' | PATH={shlex.quote(str(claude.parent))}:$PATH sh"
    ran = subprocess.check_output(
        ["bash", "-c", command],
        cwd=cli.directory,
        env=cli.environ,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=20,
    )
    told = ["mcp", "add", "-s", "user", "mcppd", "--", *START, "--config", f"{cli.directory}/a b.yaml"]
    assert ran.splitlines() == told


def test_the_default_registry_needs_no_name(cli: Cli) -> None:
    registry = cli.directory / "home" / ".config" / "mcppd" / "tools.yaml"
    registry.parent.mkdir(parents=True)
    registry.write_text("modules:\n")
    assert common(cli.run_plain("config", "--config", str(registry)).stdout) == START


def test_a_base_directory_that_agents_do_not_know_of_is_named(cli: Cli) -> None:
    registry = cli.directory / "base" / "tools.yaml"
    registry.parent.mkdir()
    registry.write_text("modules:\n")
    done = cli.run_plain("config", environ={"MCPP_BASE_DIR": str(registry.parent)})
    assert common(done.stdout) == [*START, "--config", str(registry)]


def test_a_registry_that_is_not_there_is_told_before_an_agent_is(cli: Cli) -> None:
    done = cli.run_plain("config", "claude", "--config", "nowhere.yaml")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert f"{cli.directory}/nowhere.yaml" in done.stderr


def test_a_path_that_no_configuration_can_hold_is_refused(cli: Cli) -> None:
    path = os.fsdecode(os.fsencode(cli.directory) + b"/\xff.yaml")
    Path(path).write_text("modules:\n")
    done = cli.run_plain("config", "--config", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "\\xff.yaml is not UTF-8" in done.stderr


def test_an_agent_that_is_not_known_is_wrong_use_and_the_known_ones_are_named(cli: Cli) -> None:
    done = cli.run_plain("config", "hal")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert all(agent in done.stderr for agent in AGENTS)
