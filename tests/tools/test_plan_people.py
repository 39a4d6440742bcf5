"""Three users of the system, a daemon each, and one database of the bundled module `plan` for their group."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import shutil
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.harness import REPOSITORY, Client, clean_environment

GROUP = 71_000
"""One that nobody else is in."""
READING = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
"""They may read what root may, since Python and this checkout can lie where nobody else looks; not write."""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("setpriv") is None, reason="optional: only root can be three users"
)


@dataclass(frozen=True)
class Person:
    """A user with a home, and a daemon there."""

    login: str
    uid: int
    gid: int
    home: Path
    environment: dict[str, str]

    async def run(self, *words: str) -> asyncio.subprocess.Process:
        """Run a program as this user in the workspace, with the strictest umask."""
        weak = ("setpriv", f"--reuid={self.uid}", f"--regid={self.gid}", f"--groups={GROUP}", *READING, "--")
        return await asyncio.create_subprocess_exec(
            *(*weak, "sh", "-c", 'umask 077 && exec "$@"', "sh", sys.executable, *words),
            env=self.environment,
            cwd=self.home.parent / "shop",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )

    @asynccontextmanager
    async def agent(self) -> AsyncIterator[Agent]:
        """An agent of this user's, whose shim starts a daemon; that is stopped in the end."""
        shim = await self.run("-I", "-S", str(REPOSITORY / "shim" / "__main__.py"))
        assert shim.stdout is not None
        client = Client(shim.stdout, shim.stdin, shim)
        try:
            await client.handshake()
            yield Agent(self, client)
        finally:
            await client.close()
            stop = await self.run(str(REPOSITORY / "mcppd" / "__main__.py"), "stop")
            await stop.communicate()


@dataclass(frozen=True)
class Agent:
    """An agent that is connected."""

    person: Person
    client: Client

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call that succeeds."""
        said = await self.client.call(tool, arguments)
        assert not said.get("isError"), said
        result: dict[str, Any] = json.loads(said["content"][-1]["text"])
        return result


@pytest.fixture
def world() -> Iterator[Path]:
    """A directory in which everybody may look around, unlike pytest's own, with one of the group's in it."""
    with tempfile.TemporaryDirectory(prefix="mcppd-plan-", dir="/tmp") as directory:
        place = Path(directory)
        place.chmod(0o755)
        for name in ("team", "shop"):
            (place / name).mkdir()
            os.chown(place / name, 0, GROUP)
            (place / name).chmod(0o2770)
        yield place


def people(world: Path) -> list[Person]:
    """Three users of this machine that aren't root, each with a home."""
    found = []
    for entry in [entry for entry in pwd.getpwall() if 0 < entry.pw_uid < GROUP][:3]:
        home = world / entry.pw_name
        for directory in (home, home / "run"):
            directory.mkdir()
            directory.chmod(0o700)
            os.chown(directory, entry.pw_uid, entry.pw_gid)
        environment = clean_environment(home) | {
            "USER": "mallory",
            "MCPPD_PLAN_DB": str(world / "team" / "plan.db"),
        }
        found.append(Person(entry.pw_name, entry.pw_uid, entry.pw_gid, home, environment))
    if len(found) < 3:
        pytest.skip("optional: this machine hasn't three users")
    return found


@asynccontextmanager
async def agents(world: Path) -> AsyncIterator[list[Agent]]:
    """An agent of each of the three."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(person.agent()) for person in people(world)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "mode", [0o2770, 0o770], ids=["its group is handed on", "its group is not handed on"]
)
async def test_three_people_with_a_daemon_each_share_one_database(world: Path, mode: int) -> None:
    (world / "team").chmod(mode)
    async with agents(world) as everybody:
        for number, agent in enumerate(everybody):
            assert (await agent.ask("plan_task_status"))["active_task"] is None
            made = await agent.ask("plan_task_new", name=f"task {number}", steps=["one", "two"])
            assert made["task"]["owner"] == agent.person.login
        await asyncio.gather(*(agent.ask("plan_step_done", number=1) for agent in everybody))
        for number, agent in enumerate(everybody):
            status = await agent.ask("plan_task_status")
            assert status["active_task"]["name"] == f"task {number}"
            assert status["counts"] == {"planned": 1, "started": 0, "complete": 1}
            assert len((await agent.ask("plan_task_list"))["tasks"]) == 1
            listed = (await agent.ask("plan_task_list", show_all=True))["tasks"]
            assert [task["owner"] for task in listed] == [each.person.login for each in everybody]
        files = {path.name: path.stat() for path in (world / "team").iterdir()}
        assert files.keys() == {"plan.db", "plan.db-wal", "plan.db-shm"}
        assert {(stat.S_IMODE(each.st_mode), each.st_gid) for each in files.values()} == {(0o660, GROUP)}
        assert {each.st_uid for each in files.values()} == {everybody[0].person.uid}


@pytest.mark.slow
async def test_whoever_is_not_of_the_group_is_told(world: Path) -> None:
    os.chown(world / "team", 0, GROUP + 1)
    async with people(world)[0].agent() as agent:
        said = await agent.client.failure("plan_task_status")
        assert str(world / "team") in said
        assert "Permission denied" in said
    assert list((world / "team").iterdir()) == []
