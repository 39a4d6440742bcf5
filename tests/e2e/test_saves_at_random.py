"""Saves at random: edited, broken, repaired, renamed, touched, its workers killed: each step ends in what is on disk.

After each the answer is what the files say, or the last good version's with a notice; a notification has come exactly
where the list is another one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from tests.harness import Client, Daemon, processes_below, running, texts, until

T = TypeVar("T")

CHANGED = "notifications/tools/list_changed"
FILES = ("mcpptool.py", "near.py", "tool.yaml")
GOOD = {
    "mcpptool.py": (
        "from .near import NEAR\n"
        "def execute(tool_name, arguments, context=None):\n"
        "    return {{'success': True, 'result': 'here {} ' + NEAR}}\n"
    ),
    "near.py": "NEAR = 'near {}'\n",
    "tool.yaml": "name: one\ntools:\n- name: tool_{}\n  inputSchema: {{type: object}}\n",
}
BROKEN = {
    "mcpptool.py": [
        "def execute(:\n",
        "raise ValueError('no')\n",
        "import nothing_of_this_name\n",
        "x = 1\n",
    ],
    "near.py": ["NEAR = \n", "1 / 0\n", "OTHER = 1\n"],
    "tool.yaml": ["name: one\ntools: [\n", "name: one\ntools: 5\n", "- a list\n"],
}
WAYS = st.sampled_from(["in place", "renamed", "removed first", "emptied first"])


def _save(path: Path, text: str, way: str) -> None:
    if way == "renamed":
        new = path.with_name(f".{path.name}.new")
        new.write_text(text)
        new.replace(path)
        return
    if way == "removed first":
        path.unlink()
    elif way == "emptied first":
        path.write_text("")
    path.write_text(text)


class Saves(RuleBasedStateMachine):
    """One module in use, and what it has to answer."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.home = Path(tempfile.mkdtemp(prefix="ms-", dir="/tmp"))  # short: a socket's path takes 107 bytes
        self.versions = dict.fromkeys(FILES, 0)
        self.broken: set[str] = set()
        self.served = dict(self.versions)
        self.context = running(self.home)
        self.run(self.begin())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    async def begin(self) -> None:
        self.daemon: Daemon = await self.context.__aenter__()
        self.directory = self.daemon.tools / "one"
        self.directory.mkdir()
        for name in FILES:
            (self.directory / name).write_text(GOOD[name].format(0))
        (self.home / "work").mkdir()
        self.client = await Client.through_shim(self.daemon, self.home / "work")
        await self.client.handshake()
        await self.client.text("tool_0")
        self.names = await self.client.tools()
        self.told = self.client.count(CHANGED)

    def teardown(self) -> None:
        self.run(self.end())
        self.loop.close()
        shutil.rmtree(self.home)

    async def end(self) -> None:
        await self.client.close()
        await self.context.__aexit__(None, None, None)
        assert "Traceback" not in self.daemon.output

    @rule(name=st.sampled_from(FILES), way=WAYS)
    def edit(self, name: str, way: str) -> None:
        self.versions[name] += 1
        _save(self.directory / name, GOOD[name].format(self.versions[name]), way)
        self.broken.discard(name)

    @rule(first=st.sampled_from(FILES), second=st.sampled_from(FILES))
    def edit_two(self, first: str, second: str) -> None:
        self.edit(first, "in place")
        self.edit(second, "renamed")

    @rule(data=st.data(), name=st.sampled_from(FILES), way=WAYS)
    def spoil(self, data: st.DataObject, name: str, way: str) -> None:
        _save(self.directory / name, data.draw(st.sampled_from(BROKEN[name])), way)
        self.broken.add(name)

    @rule(way=WAYS)
    def repair(self, way: str) -> None:
        for name in sorted(self.broken):
            _save(self.directory / name, GOOD[name].format(self.versions[name]), way)
        self.broken.clear()

    @rule(name=st.sampled_from(FILES))
    def touch(self, name: str) -> None:
        os.utime(self.directory / name)

    @rule()
    def litter(self) -> None:
        for name in (".near.py.swp", "near.py~", "4913", "notes.txt"):
            (self.directory / name).write_text("x")

    @rule()
    def kill_workers(self) -> None:
        self.run(self.kill())

    async def kill(self) -> None:
        def workers() -> set[int]:
            return {pid for pid in processes_below(self.daemon.pid) if b"spawner" not in _command(pid)}

        for pid in workers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await until(lambda: not workers())

    @rule()
    def call_at_once(self) -> None:
        """Many calls right after whatever was saved last; none may fail in a way that no file explains."""
        self.run(self.check(calls=10))

    @invariant()
    def answers_what_is_on_disk(self) -> None:
        self.run(self.check(calls=1))

    async def call(self, tool: str) -> dict[str, Any]:
        """The answer once it is of what is on disk: a machine that is slow may need more than one wait (D19)."""
        while "is still loading" in texts(result := await self.client.call(tool)):
            pass
        return result

    async def check(self, calls: int) -> None:
        if not self.broken:
            self.served = dict(self.versions)
        tool = f"tool_{self.served['tool.yaml']}"
        wanted = f"here {self.served['mcpptool.py']} near {self.served['near.py']}"
        results = await asyncio.gather(*(self.call(tool) for _ in range(calls)))
        for result in results:
            assert not result.get("isError"), result
            text, _, notice = texts(result).partition("\nNotice:")
            assert text == wanted
            assert bool(notice) == bool(self.broken), result
            assert not notice or any(f"{self.directory}/{name}" in notice for name in FILES)
        names = await self.client.tools()
        assert tool in names
        self.told += names != self.names
        self.names = names
        assert self.client.count(CHANGED) == self.told


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def test_saves_at_random() -> None:
    run_state_machine_as_test(
        Saves,
        settings=settings(
            max_examples=6,
            stateful_step_count=25,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate],  # a failure is of timing as often as not: there is nothing to shrink
        ),
    )
