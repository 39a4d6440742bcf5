"""A pool with a real spawner and real workers, for tests: tools out of a text, and contexts of calls."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcppd.core.calls import AgentEnvironment, CallContext
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.modules import Module, Settings, make_offer
from mcppd.core.served import Tool
from mcppd.workers.pool import WorkerPool
from tests.harness import LIMIT

BODY = """
import os, pathlib, time

def execute(tool_name, arguments, context=None):
    if "until" in arguments:
        pathlib.Path(arguments["until"] + ".began").touch()
        while not os.path.exists(arguments["until"]):
            time.sleep(0.005)
    if arguments.get("log"):
        context["log"](arguments.get("level", "debug"), arguments["log"])
    return {"success": True, "result": {"pid": os.getpid(), "session": context["session_id"]}}
"""


class Told:
    """Hears what the pool has to tell."""

    def __init__(self) -> None:
        self.failed: list[Fault] = []
        self.updated: list[str] = []

    def joined(self, generation: Generation) -> None:
        pass

    def import_failed(self, generation: Generation, fault: Fault) -> bool:
        self.failed.append(fault)
        return False

    def resource_updated(self, generation: Generation, uri: str) -> None:
        self.updated.append(uri)


class Client:
    """What a call has for a client: answers its questions from a list, or holds them until it is told."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)  # exceptions are raised
        self.asked: list[Sequence[Any]] = []
        self.dropped = 0  # questions whose answer nobody waits for any more
        self.logged: list[tuple[str, Any]] = []
        self.progress: list[float] = []
        self.go = asyncio.Event()

    async def ask(self, questions: Sequence[Any]) -> list[Any]:
        self.asked.append(questions)
        try:
            if not self.answers:
                await self.go.wait()
                return ["later"] * len(questions)
        except asyncio.CancelledError:
            self.dropped += 1
            raise
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return [answer] * len(questions)

    def log(self, level: str, data: bytes) -> None:
        self.logged.append((level, json.loads(data)))

    def report(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append(progress)


def module_of(directory: Path, body: str = BODY, number: int = 1, **settings: Any) -> Module:
    """A module of one tool that needs only what is in the text."""
    entry = str(directory / "mcpptool.py")
    generation = Generation("one", number, str(directory), entry, "", {entry: body.encode()})
    return Module("one", str(directory), settings=Settings(**settings), generation=generation)


def tool_of(directory: Path, body: str = BODY, number: int = 1, **settings: Any) -> Tool:
    """A tool of such a module."""
    module = module_of(directory, body, number, **settings)
    return Tool("tool", "one__tool", "tool", module, make_offer("tool", {"name": "tool"}))


def context(
    workspace: Path,
    session: str = "s",
    agent: dict[str, str] | None = None,
    client: Client | None = None,
    level: str | None = "debug",
) -> CallContext:
    """What a call of a session carries."""
    environment = AgentEnvironment(dict(os.environ), agent or {})
    if client is None:
        return CallContext(session, "tester", "1", str(workspace), environment)
    return CallContext(
        session, "tester", "1", str(workspace), environment, client.report, client.log, level, client.ask
    )


async def run(pool: WorkerPool, tool: Tool, where: CallContext, **arguments: Any) -> Any:
    """What a tool returns."""
    async with asyncio.timeout(LIMIT):
        result = await pool.call_tool(tool, arguments, where)
    text = json.loads(result.content)[0]["text"]
    assert not result.is_error, text
    return json.loads(text)
