"""Both eras and all revisions get the same from the same tool; progress and logs come as long as they may."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mcppd.core.eras import LEGACY
from tests.e2e.conftest import Connect
from tests.harness import MODERN, Client, Daemon, modern, texts

BODY = """
import threading, time
from pathlib import Path

def execute(tool_name, arguments, context):
    report, log = context["report_progress"], context["log"]
    if tool_name == "rich":
        return {"success": True, "result": {"n": arguments}, "display": "**shown**"}
    if tool_name == "steps":
        for step in (1, 2, 2, 1, 3):
            report(step, 3, f"step {step}")
        threading.Thread(target=late, args=(report, log, arguments["done"])).start()
        return {"success": True, "result": "done"}
    if tool_name == "stubborn":
        report(1)
        Path(arguments["begun"]).touch()
        while not Path(arguments["go"]).exists():
            time.sleep(0.01)
        return {"success": True, "result": "late"}
    for level in ("debug", "info", "warning", "error"):
        log(level, {"said": level})
    return {"success": True, "result": "logged"}

def late(report, log, done):
    while not Path(done).exists():
        time.sleep(0.01)
    try:
        report(9)
        log("error", "late")
    except Exception:
        pass
    Path(done + ".over").touch()
"""
TOOLS = ["rich", "steps", "stubborn", "logs"]
PROGRESS = "notifications/progress"
LOGGED = "notifications/message"


@pytest.fixture
def module(daemon: Daemon) -> Daemon:
    daemon.module("m", BODY, *TOOLS, scope="global")
    return daemon


async def modern_client(connect: Connect) -> Client:
    client = await connect(revision=None)
    client.revision = MODERN
    return client


async def test_a_call_comes_to_the_same_in_every_revision(module: Daemon, connect: Connect) -> None:
    call = {"name": "rich", "arguments": {"a": [1, None, "ä"]}}
    contents = []
    for revision in LEGACY:
        client = await connect(revision=revision)
        contents.append((await client.result("tools/call", call))["content"])
    client = await modern_client(connect)
    contents.append((await client.result("tools/call", modern(**call)))["content"])
    assert len(contents) == 5
    assert all(content == contents[0] for content in contents)
    assert contents[0][0]["text"] == "**shown**"


async def test_what_is_declared_is_declared_in_every_era(module: Daemon, connect: Connect) -> None:
    declared = []
    for revision in LEGACY:
        client = await connect(revision=None)
        declared.append((await client.handshake(revision))["capabilities"])
    declared.append(
        (await (await modern_client(connect)).result("server/discover", modern()))["capabilities"]
    )
    for capabilities in declared:
        for kind in ("tools", "prompts", "resources"):
            assert capabilities[kind]["listChanged"] is True
        assert capabilities["resources"]["subscribe"] is True
        assert "logging" in capabilities
    assert ["completions" in each for each in declared] == [False, True, True, True, True]


async def test_progress_comes_with_its_token_grows_and_ends_with_the_answer(
    module: Daemon, connect: Connect, tmp_path: Any
) -> None:
    client = await connect()
    done = str(tmp_path / "done")
    call = {"name": "steps", "arguments": {"done": done}}
    assert texts(await client.result("tools/call", call)) == "done"
    assert client.count(PROGRESS) == 0  # without a token
    assert texts(await client.result("tools/call", {**call, "_meta": {"progressToken": "t"}})) == "done"
    steps = [each["params"] for each in client.notifications if each["method"] == PROGRESS]
    assert [step["progressToken"] for step in steps] == ["t"] * len(steps)
    assert [step["progress"] for step in steps] == sorted({step["progress"] for step in steps})
    assert steps[-1]["progress"] == 3
    seen = client.count(PROGRESS)
    (tmp_path / "done").touch()
    while not (tmp_path / "done.over").exists():
        await asyncio.sleep(0.01)
    assert texts(await client.result("tools/call", {"name": "rich", "arguments": {}}))
    assert (client.count(PROGRESS), client.count(LOGGED)) == (seen, 0)  # nothing of an ended call


async def test_progress_ends_with_a_cancel(module: Daemon, connect: Connect, tmp_path: Any) -> None:
    client = await connect()
    begun, go = tmp_path / "begun", tmp_path / "go"
    arguments = {"begun": str(begun), "go": str(go)}
    waiting = client.ask(
        "tools/call", {"name": "stubborn", "arguments": arguments, "_meta": {"progressToken": 1}}, ident="c"
    )
    await client.notified(PROGRESS)
    client.notify("notifications/cancelled", {"requestId": "c"})
    assert await client.result("ping") == {}
    go.touch()
    assert texts(await client.result("tools/call", {"name": "logs", "arguments": {}})) == "logged"
    assert client.count(PROGRESS) == 1
    assert not waiting.done()


async def test_logs_come_at_the_level_of_the_session(module: Daemon, connect: Connect) -> None:
    client = await connect()

    async def logged() -> list[Any]:
        client.notifications.clear()
        assert texts(await client.result("tools/call", {"name": "logs", "arguments": {}})) == "logged"
        messages = [each["params"] for each in client.notifications if each["method"] == LOGGED]
        assert all(each["data"] == {"said": each["level"]} for each in messages)
        assert all(each["logger"] == "logs" for each in messages)
        return [each["level"] for each in messages]

    assert await logged() == ["info", "warning", "error"]
    for level, expected in (
        ("debug", ["debug", "info", "warning", "error"]),
        ("error", ["error"]),
        ("alert", []),
    ):
        assert await client.result("logging/setLevel", {"level": level}) == {}
        assert await logged() == expected


async def test_logs_come_at_the_level_of_a_modern_request(module: Daemon, connect: Connect) -> None:
    client = await modern_client(connect)
    for level, expected in ((None, 0), ("warning", 2), ("debug", 4)):
        client.notifications.clear()
        meta = {} if level is None else {"io.modelcontextprotocol/logLevel": level}
        result = await client.result("tools/call", modern(name="logs", arguments={}, _meta=meta))
        assert texts(result) == "logged"
        assert client.count(LOGGED) == expected
