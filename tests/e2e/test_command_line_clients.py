"""Real clients with a command line: MCP Inspector, Claude Code and fastmcp, each through the shim."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.serving import conformance_daemon
from tests.e2e.peers.agent import LEGACY
from tests.e2e.peers.node import CLAUDE, INSPECTOR, node, program, python_script
from tests.e2e.peers.tapped import Tap
from tests.harness import MODERN, Daemon, outcome_of

SIMPLE = "This is a simple text response for testing."
STATIC = "This is the content of the static text resource.\n"
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "FASTMCP_CHECK_FOR_UPDATES": "off",
    "NO_COLOR": "1",
}
"""Variables for clients that would ask somebody else first."""


class Bench:
    """A daemon and a home in which clients are started."""

    def __init__(self, daemon: Daemon, home: Path) -> None:
        self._daemon = daemon
        self._home = home
        self._count = itertools.count(1)
        self.work = home / "work"
        self.work.mkdir()

    def tap(self) -> Tap:
        """A server for one run of a client."""
        return Tap(self._daemon, self._home / f"wire-{next(self._count)}")

    async def run(self, *command: str, **environment: str) -> tuple[int, str, str]:
        """The exit status of a client, and what it says."""
        variables = self._daemon.environment | QUIET | environment
        return await outcome_of(*command, cwd=self.work, environment=variables)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with conformance_daemon(tmp_path) as daemon:
        yield Bench(daemon, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("era", "revision"), [("legacy", LEGACY), ("auto", MODERN), ("modern", MODERN)])
async def test_the_inspector_finds_everything_and_nothing_to_complain_of(
    era: str, revision: str, bench: Bench
) -> None:
    async def ask(method: str, *words: str) -> Any:
        tap = bench.tap()
        options = ["--protocol-era", era, "--format", "json", "--method", method, *words]
        status, said, errors = await bench.run(*node(INSPECTOR), "--cli", tap.program, *options)
        assert status == 0, said + errors
        assert errors == ""
        tap.check()
        assert tap.revision == revision
        answer = json.loads(said)
        return answer.get("result", answer)

    listed = await ask(
        "tools/list", "--strict"
    )  # it exits with 6 where a schema is one that some client refuses
    assert "test_simple_text" in [tool["name"] for tool in listed["tools"]]
    called = await ask("tools/call", "--tool-name", "test_simple_text")
    assert called["content"] == [{"type": "text", "text": SIMPLE}]
    prompts = await ask("prompts/list")
    assert "test_simple_prompt" in [prompt["name"] for prompt in prompts["prompts"]]
    words = ("--prompt-name", "test_prompt_with_arguments", "--prompt-args", "arg1=tea", "arg2=time")
    prompt = await ask("prompts/get", *words)
    assert "arg1='tea', arg2='time'" in prompt["messages"][0]["content"]["text"]
    resources = await ask("resources/list")
    assert "test://static-text" in [resource["uri"] for resource in resources["resources"]]
    templates = await ask("resources/templates/list")
    assert [each["uriTemplate"] for each in templates["resourceTemplates"]] == ["test://template/{id}/data"]
    read = await ask("resources/read", "--uri", "test://static-text")
    assert read["contents"][0]["text"] == STATIC


@pytest.mark.parametrize(("era", "revision"), [("legacy", LEGACY), ("auto", MODERN)])
async def test_claude_code_connects(era: str, revision: str, bench: Bench) -> None:
    tap = bench.tap()
    claude = program(CLAUDE)
    variables = {"MCP_PROTOCOL_NEGOTIATION": era}
    add = [*claude, "mcp", "add", "-s", "user", "mcppd", "--", tap.program]
    status, said, errors = await bench.run(*add, **variables)
    assert status == 0, said + errors
    status, said, errors = await bench.run(*claude, "mcp", "list", **variables)
    assert status == 0, said + errors
    [line] = [line for line in said.splitlines() if line.startswith("mcppd:")]
    assert line.endswith("✔ Connected")
    tap.check()
    assert tap.revision == revision
    asked = [message.get("method") for message in tap.messages("client")]
    assert "tools/list" in asked
    assert ("initialize" in asked) == (revision == LEGACY)


@pytest.mark.slow
async def test_fastmcp_lists_and_calls(bench: Bench) -> None:
    fastmcp = python_script("fastmcp", "fastmcp")

    async def ask(word: str, *words: str) -> Any:
        tap = bench.tap()
        status, said, errors = await bench.run(*fastmcp, word, "--command", tap.program, "--json", *words)
        assert status == 0, said + errors
        tap.check()
        assert tap.revision == MODERN
        return json.loads(said)

    listed = await ask("list", "--prompts", "--resources")
    assert "test_simple_text" in [tool["name"] for tool in listed["tools"]]
    assert "test_simple_prompt" in [prompt["name"] for prompt in listed["prompts"]]
    assert "test://static-text" in [resource["uri"] for resource in listed["resources"]]
    called = await ask("call", "--target", "test_simple_text")
    assert called["content"] == [{"type": "text", "text": SIMPLE}]
    read = await ask("call", "--target", "test://static-text")
    assert STATIC in json.dumps(read, ensure_ascii=False).replace("\\n", "\n")
    words = ["--input-json", json.dumps({"arg1": "tea", "arg2": "time"})]
    prompt = await ask("call", "--prompt", "--target", "test_prompt_with_arguments", *words)
    assert "arg1='tea', arg2='time'" in json.dumps(prompt)
