"""What a call says before its answer: progress and log messages, to who asked for them, while it runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import MODERN, Daemon, modern, texts

MESSAGE = "notifications/message"
PROGRESS = "notifications/progress"
SLOW = """
import os, time
def execute(tool, arguments, context):
    context["report_progress"](1, 3, "first")
    context["log"]("warning", "first")
    while not os.path.exists(arguments["flag"]):
        time.sleep(0.01)
    context["report_progress"](2, 3, "second")
    return {"success": True, "result": "done"}
"""


@pytest.mark.slow
async def test_prompts_and_resources_log_too(daemon: Daemon, connect: Connect) -> None:
    body = """
    def get_prompt(name, arguments, context):
        context["log"]("error", "from a prompt")
        return "p"
    def read_resource(uri, variables, context):
        context["log"]("error", "from a resource")
        return "r"
    """
    daemon.module("one", body, prompts=[{"name": "p"}], resources=[{"uri": "a:r", "name": "r"}])
    client = await connect()
    await client.result("prompts/get", {"name": "p"})
    await client.result("resources/read", {"uri": "a:r"})
    assert [each["params"]["data"] for each in await client.notified(MESSAGE, 2)] == [
        "from a prompt",
        "from a resource",
    ]


@pytest.mark.slow
async def test_secrets_of_a_module_are_in_no_message(daemon: Daemon, connect: Connect) -> None:
    body = """
    import os
    def execute(tool, arguments, context):
        context["log"]("error", "the keys are " + os.environ["KEY_ONE"] + " and " + os.environ["KEY_TWO"])
        return {"success": True, "result": "done"}
    """
    daemon.module("one", body, "leaks")
    daemon.registry.write_text(
        "modules:\n  - path: tools/*\n    env: {KEY_ONE: sesame-one}\n    pass_env: [KEY_TWO]\n"
    )
    client = await connect(env={"KEY_TWO": "sesame-two"})
    assert await client.text("leaks") == "done"
    [message] = await client.notified(MESSAGE)
    assert "sesame" not in message["params"]["data"]
    assert "sesame" not in daemon.output


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", MODERN])
async def test_what_a_call_says_arrives_while_it_runs(
    daemon: Daemon, connect: Connect, revision: str
) -> None:
    daemon.module("slow", SLOW, "slow")
    client = await connect(revision=None if revision == MODERN else revision)
    client.revision = revision
    flag = daemon.home / "flag"
    meta: dict[str, Any] = {"progressToken": "mine", "io.modelcontextprotocol/logLevel": "info"}
    params = {"name": "slow", "arguments": {"flag": str(flag)}, "_meta": meta}
    running = client.ask("tools/call", modern(**params) if revision == MODERN else params)
    [first] = await client.notified(PROGRESS)
    assert first["params"].items() >= {"progressToken": "mine", "progress": 1, "total": 3}.items()
    assert ("message" in first["params"]) == (revision != "2024-11-05")
    await client.notified(MESSAGE)
    assert not running.done()
    flag.touch()
    assert texts((await running)["result"]) == "done"
    assert [each["params"]["progress"] for each in await client.notified(PROGRESS, 2)] == [1, 2]


@pytest.mark.slow
async def test_nothing_is_said_to_who_asked_for_nothing_and_nothing_made_up_keeps_a_call_alive(
    daemon: Daemon, connect: Connect
) -> None:
    body = """
    import time
    def execute(tool, arguments, context):
        for step in range(10):
            context["report_progress"](step)
            time.sleep(0.05)
        return {"success": True, "result": "done"}
    """
    daemon.module("slow", body, "slow")
    client = await connect()
    assert await client.text("slow") == "done"
    assert (client.count(PROGRESS), client.count(MESSAGE)) == (0, 0)


@pytest.mark.slow
async def test_progress_in_a_tight_loop_is_monotonic_and_its_last_is_sent(
    daemon: Daemon, connect: Connect
) -> None:
    body = """
    def execute(tool, arguments, context):
        for step in range(20_000):
            context["report_progress"](step // 2)
            context["report_progress"](step, 19_999)
        return {"success": True, "result": "done"}
    """
    daemon.module("loop", body, "loop")
    client = await connect()
    assert texts(await client.call("loop", _meta={"progressToken": 7})) == "done"
    steps = [each["params"]["progress"] for each in client.notifications if each["method"] == PROGRESS]
    assert steps == sorted(set(steps))
    assert steps[-1] == 19_999
    assert len(steps) < 2000
    assert await client.result("ping") == {}
    assert client.notifications[-1]["params"]["progress"] == 19_999  # nothing came after the answer


@pytest.mark.slow
async def test_a_ping_is_answered_while_calls_run(daemon: Daemon, connect: Connect) -> None:
    body = """
    import os, time
    def execute(tool, arguments, context):
        while not os.path.exists(arguments["flag"]):
            if tool == "sleeps":
                time.sleep(0.01)
        return {"success": True, "result": "done"}
    """
    daemon.module("slow", body, "spins", "sleeps")
    client = await connect(revision=None)
    assert await client.result("ping") == {}  # before any handshake
    await client.handshake()
    flag = {"flag": str(daemon.home / "flag")}
    running = [client.ask("tools/call", {"name": name, "arguments": flag}) for name in ("spins", "sleeps")]
    for _ in range(20):
        assert await client.result("ping") == {}
    assert not any(each.done() for each in running)
    daemon.module("slow", "import time\ntime.sleep(1)\n" + body, "spins", "sleeps")
    assert await client.result("ping") == {}  # a reload is under way
    (daemon.home / "flag").touch()
    for each in running:
        assert texts((await each)["result"]) == "done"
