"""Real clients: each starts the shim with its own default environment, and then every file changes under it."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.peers.agent import KINDS, Agent, Kind, PeerError
from tests.harness import LIMIT, REPOSITORY, Daemon, first_and_slow, processes_below, texts, until

PASSED_ON = {"HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"}
"""All that the SDKs let through (DESIGN.md, D12)."""

BODY = """
import os, time
from .near import far

def execute(tool_name, arguments, context=None):
    time.sleep(0.01)
    found = {"tool": tool_name, "value": "VALUE", "far": far(), "pid": os.getpid(), "parent": os.getppid()}
    return {"success": True, "result": found}
"""
STEADY = """
import time

def execute(tool_name, arguments, context=None):
    time.sleep(0.01)
    return {"success": True, "result": "steady"}
"""
BROKEN = "def execute(:\n"

Join = Callable[..., Awaitable[Agent]]

kinds = pytest.mark.parametrize("kind", first_and_slow(*KINDS), ids=lambda kind: kind.name)


@pytest.fixture
def modules(daemon: Daemon) -> Daemon:
    """A daemon with the bundled module, one to edit and one to leave alone."""
    shutil.copytree(REPOSITORY / "tools" / "what", daemon.tools / "what")
    directory = daemon.module("one", BODY.replace("VALUE", "v1"), "first")
    (directory / "near.py").write_text("from far import FAR\n\ndef far():\n    return FAR\n")
    (directory / "far.py").write_text("FAR = 'far 1'\n")
    daemon.module("steady", STEADY, "steady")
    return daemon


@pytest.fixture
async def join(modules: Daemon, tmp_path: Path) -> AsyncIterator[Join]:
    """Makes connected clients; none of them may have complained of anything when they are closed at the end."""
    agents: list[Agent] = []

    async def make(kind: Kind) -> Agent:
        agent = await Agent.start(kind, modules, tmp_path / kind.name)
        agents.append(agent)
        assert await agent.ask("revision") == kind.revision
        return agent

    yield make
    shims = [agent.shim for agent in agents]
    faults = [await agent.ask("faults") for agent in agents]
    await asyncio.gather(*(agent.close() for agent in agents))
    assert faults == [[] for _ in agents]
    assert "mcppd-shim:" not in "".join(agent.stderr for agent in agents)
    await until(lambda: not any(Path(f"/proc/{shim}").exists() for shim in shims))


@kinds
async def test_everything_changes_under_a_client_and_nothing_is_restarted_or_lost(
    kind: Kind, modules: Daemon, join: Join
) -> None:
    agent = await join(kind)
    shim = agent.shim
    if kind.must_listen:
        await agent.listen()
    await finds_and_calls_what_is_there(agent)
    async with agent.calling("steady") as steady:
        await learns_once_of_a_tool_that_is_added(modules, agent)
        await has_each_edit_at_the_next_call(modules, agent)
    assert set(steady) == {"steady"}
    await keeps_the_last_good_version_of_what_is_broken(modules, agent)
    async with agent.calling("steady") as steady:
        await loses_the_notice_when_it_is_repaired(modules, agent)
        await learns_once_of_a_module_that_comes_and_once_that_it_goes(modules, agent)
    assert set(steady) == {"steady"}
    assert agent.shim == shim
    status = await modules.control("mcppd/status")
    assert status["pid"] == modules.pid
    assert set(await names_in_the_environment_of(agent.shim)) <= PASSED_ON


async def finds_and_calls_what_is_there(agent: Agent) -> None:
    assert await agent.tools() == ["first", "help", "steady", "what", "what_add"]
    overview = await agent.text("help")
    assert "first" in overview
    assert "what_add" in overview
    plan = agent.directory / "what" / "first plan"
    assert str(plan) in await agent.text("what_add", {"name": "first plan"})
    assert {path.name for path in plan.iterdir()} == {"WHAT.md", "HOW.md", "ACTIONS.md", "TASKS.md"}
    assert (await answer(agent, "first"))["value"] == "v1"


async def learns_once_of_a_tool_that_is_added(daemon: Daemon, agent: Agent) -> None:
    daemon.manifest("one", "first", "second")
    await agent.notified(1)
    assert (await answer(agent, "second"))["tool"] == "second"
    assert "second" in await agent.tools()
    assert await all_changes(daemon, agent) == 1


async def has_each_edit_at_the_next_call(daemon: Daemon, agent: Agent) -> None:
    body, far = daemon.tools / "one" / "mcpptool.py", daemon.tools / "one" / "far.py"
    save(body, BODY.replace("VALUE", "v2"))
    assert (await answer(agent, "first"))["value"] == "v2"
    async with agent.calling("first") as seen:
        save(far, "FAR = 'far 2'\n")
        assert (await answer(agent, "first"))["far"] == "far 2"
        second = time.time_ns() // 10**9 * 10**9
        for value in ("v3", "v4", "v5"):  # of one size, and by its stamp of one moment
            save(body, BODY.replace("VALUE", value), modified=second)
            assert (await answer(agent, "first"))["value"] == value
    order = [(found["value"], found["far"]) for found in map(json.loads, seen)]
    assert order == sorted(order)  # no answer was older than the one before
    assert await all_changes(daemon, agent) == 1


async def keeps_the_last_good_version_of_what_is_broken(daemon: Daemon, agent: Agent) -> None:
    body = daemon.tools / "one" / "mcpptool.py"
    save(body, BROKEN)
    before = await answer_with_notice(agent, f"{body}:1")
    assert before["value"] == "v5"
    await kill_all_workers(daemon, before["parent"])
    after = await answer_with_notice(agent, f"{body}:1")
    assert (after["value"], after["far"]) == ("v5", "far 2")
    assert after["pid"] != before["pid"]
    assert f"{body}:1" in await agent.text("help")
    assert await all_changes(daemon, agent) == 1


async def loses_the_notice_when_it_is_repaired(daemon: Daemon, agent: Agent) -> None:
    save(daemon.tools / "one" / "mcpptool.py", BODY.replace("VALUE", "v6"))
    assert (await answer(agent, "first"))["value"] == "v6"
    assert "mcpptool.py:1" not in await agent.text("help")
    assert await all_changes(daemon, agent) == 1


async def learns_once_of_a_module_that_comes_and_once_that_it_goes(daemon: Daemon, agent: Agent) -> None:
    daemon.module("late", STEADY, "late_tool")
    await agent.notified(2)
    assert await agent.text("late_tool") == "steady"
    assert "late_tool" in await agent.tools()
    assert await all_changes(daemon, agent) == 2
    shutil.rmtree(daemon.tools / "late")
    await agent.notified(3)
    assert "late_tool" not in await agent.tools()
    with pytest.raises(PeerError) as raised:
        await agent.call("late_tool")
    assert raised.value.code == -32602
    assert await all_changes(daemon, agent) == 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.must_listen], ids=lambda kind: kind.name)
async def test_a_client_of_the_modern_era_is_told_of_changes_from_when_it_listens(
    kind: Kind, modules: Daemon, join: Join
) -> None:
    agent = await join(kind)
    assert "second" not in await agent.tools()
    modules.manifest("one", "first", "second")
    assert "second" in await agent.tools()  # it has to ask
    assert (await answer(agent, "second"))["tool"] == "second"
    await agent.listen()
    modules.manifest("one", "first", "second", "third")
    await agent.notified(1)
    assert "third" in await agent.tools()
    assert await all_changes(modules, agent) == 1


@pytest.mark.slow
async def test_four_clients_at_once_are_each_told_once_of_what_one_of_them_saves(
    modules: Daemon, join: Join
) -> None:
    modules.module(
        "editor",
        """
        import pathlib

        def execute(tool_name, arguments, context=None):
            pathlib.Path(arguments["path"]).write_text(arguments["text"])
            return {"success": True, "result": "saved"}
        """,
        "edit",
    )
    agents = await asyncio.gather(*map(join, KINDS))
    listening = [agent for agent, kind in zip(agents, KINDS, strict=True) if kind.must_listen]
    await asyncio.gather(*(agent.listen() for agent in listening))
    for count, saving in enumerate(agents, start=1):
        body = BODY.replace("VALUE", f"v{count}")
        manifest = "name: one\ntools:\n  - name: first\n" + f"  - name: tool_{count}\n"
        for name, text in (("mcpptool.py", body), ("tool.yaml", manifest)):
            path = str(modules.tools / "one" / name)
            assert await saving.text("edit", {"path": path, "text": text}) == "saved"
        await asyncio.gather(*(agent.notified(count) for agent in agents))
        answers = await asyncio.gather(*(answer(agent, f"tool_{count}") for agent in agents))
        assert {found["value"] for found in answers} == {f"v{count}"}
        assert [await all_changes(modules, agent) for agent in agents] == [count] * len(agents)


@pytest.mark.slow
async def test_four_clients_at_once_each_work_in_their_own_directory(modules: Daemon, join: Join) -> None:
    agents = await asyncio.gather(*map(join, KINDS))
    await asyncio.gather(*(agent.text("what_add", {"name": "mine"}) for agent in agents))
    for agent in agents:
        assert [path.name for path in agent.directory.glob("what/*/WHAT.md")] == ["WHAT.md"]


async def answer(agent: Agent, tool: str) -> dict[str, Any]:
    """What a tool of the module `one` answers, which is that and nothing else."""
    found: dict[str, Any] = json.loads(await agent.text(tool))
    return found


async def answer_with_notice(agent: Agent, place: str) -> dict[str, Any]:
    """What the last good version answers; a second item says where it is broken."""
    result = await agent.call("first")
    assert not result.get("isError"), result
    content, notice = result["content"]
    assert notice["type"] == "text"
    assert place in notice["text"]
    found: dict[str, Any] = json.loads(texts({"content": [content]}))
    return found


async def all_changes(daemon: Daemon, agent: Agent) -> int:
    """How many changes a client has been told of when nothing more can come of what was saved."""
    report = await daemon.control("mcppd/reload")
    assert [
        each for each in report["modules"] if not each["fault"]
    ] == []  # what is broken is named each time
    await agent.tools()  # its answer comes behind every notification
    return await agent.changes()


async def kill_all_workers(daemon: Daemon, spawner: int) -> None:
    """SIGKILL to every worker; done when the daemon knows of it."""
    for pid in processes_below(spawner):
        os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(LIMIT):
        while True:
            modules = (await daemon.control("mcppd/status"))["modules"]
            if not any(module["workers"] for module in modules):
                return


async def names_in_the_environment_of(pid: int) -> list[str]:
    entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return [entry.partition(b"=")[0].decode() for entry in entries if entry]


def save(path: Path, text: str, *, modified: int | None = None) -> None:
    """Write a file in place, as of a moment in ns."""
    path.write_text(text)
    if modified is not None:
        os.utime(path, ns=(modified, modified))
