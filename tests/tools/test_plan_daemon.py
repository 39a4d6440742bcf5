"""The bundled module `plan` in a daemon: through a shim, from the project that the agent works in."""

from __future__ import annotations

import json
import os
import pwd
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.peers.node import INSPECTOR, node
from tests.e2e.peers.tapped import Tap
from tests.harness import REPOSITORY, Client, Daemon, outcome_of, running

BUNDLED = f"modules:\n  - path: {REPOSITORY}/tools/plan\n"


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    async with running(tmp_path / "home", registry=BUNDLED) as found:
        yield found


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    said = await client.call(tool, arguments)
    assert not said.get("isError"), said
    display, result = said["content"]
    assert display["annotations"]["audience"] == ["user"]
    found: dict[str, Any] = json.loads(result["text"])
    return found


async def agent(daemon: Daemon, cwd: Path, **environment: str) -> Client:
    cwd.mkdir(exist_ok=True)
    client = await Client.through_shim(daemon, cwd, environment=daemon.environment | environment)
    await client.handshake()
    return client


@pytest.mark.slow
async def test_two_projects_and_two_agents_of_each_never_meet(daemon: Daemon, tmp_path: Path) -> None:
    clients = [await agent(daemon, tmp_path / name) for name in ("shop", "shop", "site", "site")]
    assert len([name for name in await clients[0].tools() if name.startswith("plan_")]) == 19
    await ask(clients[0], "plan_task_new", name="1", steps=["--a", "b"])
    await ask(clients[2], "plan_task_new", name="2")
    for client, project, name in zip(clients, ("shop", "shop", "site", "site"), "1122", strict=True):
        status = await ask(client, "plan_task_status")
        assert (status["project_name"], status["active_task"]["name"]) == (project, name)
    user = await ask(clients[3], "plan_user_show")
    assert user["login"] == pwd.getpwuid(os.getuid()).pw_name  # the environment says `tester`
    kept = daemon.home / ".config" / "plan"
    assert kept.stat().st_mode & 0o777 == 0o700
    assert "1 to 2" in await clients[1].failure("plan_step_done", {"number": 3})
    assert "plan_task_status" in await clients[0].text("help", {"tool": "plan_task_new"})
    for client in clients:
        await client.close()


@pytest.mark.slow
async def test_the_agent_s_variable_names_another_database(daemon: Daemon, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    usual = await agent(daemon, tmp_path / "shop")
    special = await agent(daemon, tmp_path / "shop", MCPPD_PLAN_DB=str(other))
    await ask(usual, "plan_task_new", name="usual")
    assert (await ask(special, "plan_task_status"))["active_task"] is None
    await ask(special, "plan_task_new", name="special")
    assert other.exists()
    assert (await ask(usual, "plan_task_status"))["active_task"]["name"] == "usual"
    for client in (usual, special):
        await client.close()


@pytest.mark.slow
async def test_the_registry_s_variable_holds_for_every_agent(tmp_path: Path) -> None:
    path = tmp_path / "team.db"
    registry = f"{BUNDLED}    env: {{MCPPD_PLAN_DB: {path}}}\n"
    async with running(tmp_path / "home", registry=registry) as daemon:
        client = await agent(daemon, tmp_path / "shop", MCPPD_PLAN_DB=str(tmp_path / "agent.db"))
        await ask(client, "plan_task_new", name="fix")
        await client.close()
    assert path.exists()
    assert not (tmp_path / "agent.db").exists()


@pytest.mark.slow
async def test_the_inspector_has_nothing_to_complain_of(daemon: Daemon, tmp_path: Path) -> None:
    inspector = [*node(INSPECTOR), "--cli", Tap(daemon, tmp_path / "wire").program, "--format", "json"]
    words = ["--method", "tools/list", "--strict"]
    status, said, errors = await outcome_of(
        *inspector, *words, cwd=tmp_path, environment=daemon.environment | {"NO_COLOR": "1"}
    )
    assert (status, errors) == (0, ""), said
    listed = json.loads(said)
    assert sum("plan_" in tool["name"] for tool in listed.get("result", listed)["tools"]) == 19
