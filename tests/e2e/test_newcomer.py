"""A newcomer's first minute: README's commands word for word, in a fresh clone and an empty home.

A real client is connected meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest

from mcppd.agents import AGENTS
from tests.e2e.home import Home
from tests.e2e.peers.agent import KINDS, Agent
from tests.harness import REPOSITORY

README: Final = (REPOSITORY / "README.md").read_text()
CLIENT: Final = next(kind for kind in KINDS if kind.name == "mcp-2")
PLACES: Final = {
    sys.executable: "/path/to/python",
    str(REPOSITORY / "shim" / "__main__.py"): "/path/to/mcppd_shim/__main__.py",
}
"""What README has instead of paths that differ with each installation."""
MCPPD: Final = [sys.executable, str(REPOSITORY / "mcppd" / "__main__.py")]
PATIENCE: Final = 240.0
"""Seconds for one of README's commands: the first one downloads and installs, on a busy machine too."""

ELSEWHERE: Final = ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME")
"""Variables that a person has who keeps these files elsewhere than README says: ~/.config is where it looks."""


def command(name: str) -> str:
    """The one line in the block behind a mark of the README."""
    [line] = re.findall(rf"^<!-- command: {name} -->\n```sh\n(.+)\n```$", README, re.MULTILINE)
    return str(line)


def section() -> str:
    """What README says of agents."""
    [text] = re.findall(r"^## Use it from an agent$(.*?)^## ", README, re.MULTILINE | re.DOTALL)
    return str(text)


def examples() -> dict[str, str]:
    """What README shows `mcppd config` to print, by the agent's name."""
    found = re.findall(r"^```console\n\$ mcppd config (\w+)\n(.*?)^```$", section(), re.MULTILINE | re.DOTALL)
    return dict(found)


def told(agent: str) -> tuple[str, str]:
    """What `mcppd config` prints for an agent, with README's paths; and what it says on stderr."""
    done = subprocess.run([*MCPPD, "config", agent], capture_output=True, text=True, timeout=60, check=True)
    text = done.stdout
    for path, place in PLACES.items():
        assert path in text
        text = text.replace(path, place)
    return text, done.stderr


class Newcomer:
    """A person with a clone, whose home is empty."""

    def __init__(self) -> None:
        self.home = Home()
        self.clone = self.home.path / "clone"
        self.environment = self.home.environment
        for name in ELSEWHERE:
            del self.environment[name]
        self.home.log = self.home.path / ".local" / "state" / "mcppd" / "daemon.log"
        self.environment |= index_settings()

    async def run(self, name: str) -> str:
        """What one of README's commands says."""
        said, errors = await self.type(command(name))
        return said + errors

    async def type(self, line: str) -> tuple[str, str]:
        """What a line typed in the clone says, on stdout and on stderr."""
        process = await asyncio.create_subprocess_exec(
            *("bash", "-c", line),
            cwd=self.clone,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(PATIENCE):
            said, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        return said.decode(), errors.decode()

    async def agent(self, line: str) -> Agent:
        """A client that has been told what a line for Claude Code says."""
        _, _, start = line.partition(" -- ")
        # It is /run/user/UID elsewhere, where the shim finds it although SDKs don't pass it on.
        started = ["env", f"XDG_RUNTIME_DIR={self.home.runtime}", *shlex.split(start)]
        return await Agent.of(CLIENT, started, self.environment, self.home.path / "project")


def index_settings() -> dict[str, str]:
    """Where pip finds packages on this machine; the rest of a person's home is left out."""
    home = Path.home()
    files = (home / ".config" / "pip" / "pip.conf", home / ".pip" / "pip.conf")
    found = [("PIP_CONFIG_FILE", str(path)) for path in files if path.exists()]
    own = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {"PIP_CACHE_DIR": str(home / ".cache" / "pip"), **dict(found)} | own


def clone_into(directory: Path) -> None:
    """What a clone of this tree has once everything in it is committed."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listing, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    for name in filter(None, found.split("\0")):
        if (REPOSITORY / name).exists():  # removed, and not yet committed
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, directory / name, follow_symlinks=False)


@pytest.fixture
async def newcomer() -> AsyncIterator[Newcomer]:
    CLIENT.python()  # skips before anything is made
    person = Newcomer()
    try:
        clone_into(person.clone)
        yield person
    finally:
        await person.home.close()


@pytest.mark.timeout(2 * PATIENCE)
async def test_three_commands_of_the_readme_lead_to_an_own_tool_that_is_edited_under_a_client(
    newcomer: Newcomer,
) -> None:
    said = await newcomer.run("run")
    assert '"plan_dir"' in said
    [line] = re.findall(r"To use it from an agent: `(.+?)`", said)
    assert line == ".venv/bin/mcppd config claude"  # it is on nobody's PATH yet
    assert (newcomer.clone / "what" / "first" / "WHAT.md").is_file()
    [daemon] = newcomer.home.daemons()
    claude, place = await newcomer.type(line)
    assert "~/.claude.json" in place
    agent = await newcomer.agent(claude)
    try:
        await agent.listen()
        assert "hello_hello" not in await agent.tools()
        assert "Hello, Ada!" in await newcomer.run("own")
        await agent.notified(1)
        assert "hello_hello" in await agent.tools()
        assert "Hello, Ada!" in await agent.text("hello_hello", {"who": "Ada"})
        edited = await newcomer.run("edit")
        assert "Good morning, Ada!" in edited
        assert "Hello" not in edited
        assert "Good morning, Ada!" in await agent.text("hello_hello", {"who": "Ada"})
        assert await agent.changes() == 1  # of the list; an edit of the code is none
        assert await agent.ask("faults") == []
    finally:
        await agent.close()
    assert newcomer.home.daemons() == [daemon]


def test_the_readme_tells_the_answers_of_its_commands() -> None:
    for name, answer in (("own", "Hello, Ada!"), ("edit", "Good morning, Ada!")):
        before, _ = README.split(f"<!-- command: {name} -->")
        assert f"Its answer has `{answer}` in it:" in before.splitlines()[-2]


def test_the_readme_names_the_line_for_an_agent_on_its_first_screen() -> None:
    start, _ = README.split("\n## Use it from an agent\n")
    assert "`.venv/bin/mcppd config claude`" in " ".join(start.split())


@pytest.mark.parametrize("agent", AGENTS)
def test_the_readme_shows_what_is_printed_for_each_agent_and_names_its_file(agent: str) -> None:
    text, place = told(agent)
    shown = examples()
    alike = {"cursor": "gemini"}  # as README says
    assert shown[alike.get(agent, agent)] == text
    assert f"mcppd config {agent}" in " ".join(section().split())
    file = re.findall(r"[~\w./-]+\.(?:json|toml)", place)[0]
    assert f"`{file}`" in section()


def test_claudes_line_is_one_for_a_shell() -> None:
    text, _ = told("claude")
    start = ["/path/to/python", "-I", "-S", "/path/to/mcppd_shim/__main__.py"]
    assert shlex.split(text) == ["claude", "mcp", "add", "-s", "user", "mcppd", "--", *start]
    check = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, timeout=60, check=False)
    assert (check.returncode, check.stderr, text.count("\n")) == (0, "", 1)
