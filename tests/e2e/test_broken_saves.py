"""A broken save in each of its ways: the old version answers, everybody is told where it broke, and of its repair."""

from __future__ import annotations

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Client, Daemon, texts

GOOD = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'VALUE'}\n"
TOOL = "- {name: first, inputSchema: {type: object}}"
MESSAGE = "notifications/message"

BREAKS = {
    "Python's syntax": ("mcpptool.py", "x = 1\ndef execute(:\n", "mcpptool.py:2:"),
    "an exception at import": ("mcpptool.py", "x = 1\ny = x / 0\n" + GOOD, "mcpptool.py:2"),
    "an exit at import": ("mcpptool.py", "import sys\nsys.exit(3)\n" + GOOD, "mcpptool.py:2"),
    "a death at import": ("mcpptool.py", "import os\nos._exit(3)\n" + GOOD, "tools/one"),
    "no execute": ("mcpptool.py", "def other():\n    pass\n", "mcpptool.py"),
    "YAML's syntax": ("tool.yaml", "name: one\ntools: [\n", "tool.yaml:3:1"),
    "a bad schema": (
        "tool.yaml",
        "name: one\ntools:\n- {name: first, inputSchema: {type: objekt}}\n",
        "tool.yaml:3",
    ),
    "a manifest of another shape": ("tool.yaml", "name: one\ntools: 5\n", "tool.yaml:2:"),
}


async def _log(client: Client, count: int) -> tuple[str, str]:
    """(level, text) of the newest of so many log messages."""
    params = (await client.notified(MESSAGE, count))[-1]["params"]
    assert params["logger"] == "one"
    return params["level"], params["data"]


@pytest.mark.parametrize(("name", "text", "place"), BREAKS.values(), ids=BREAKS)
async def test_a_broken_save_is_told_everywhere_and_its_repair_too(
    daemon: Daemon, connect: Connect, name: str, text: str, place: str
) -> None:
    directory = daemon.module("one", GOOD.replace("VALUE", "good"), "first")
    (directory / "tool.yaml").write_text(f"name: one\ntools:\n{TOOL}\n")
    client, silent, picky = await connect(), await connect(), await connect()
    await client.result("logging/setLevel", {"level": "info"})
    await picky.result("logging/setLevel", {"level": "error"})
    assert await client.text("first") == "good"
    good = (directory / name).read_text()
    (directory / name).write_text(text)

    level, told = await _log(client, 1)
    assert level == "warning"
    assert place in told
    answer = texts(await client.call("first"))
    assert answer.startswith("good\nNotice:")
    assert place in answer
    [module] = (await daemon.control("mcppd/status"))["modules"]
    assert module["state"] == "broken"
    assert place in f"{module['fault']['file']}:{module['fault']['line']}:{module['fault']['column']}:"
    assert place in await client.text("help")

    (directory / name).write_text(good)
    level, told = await _log(client, 2)
    assert (level, told) == ("info", "module 'one' is repaired")
    assert texts(await client.call("first")) == "good"
    [module] = (await daemon.control("mcppd/status"))["modules"]
    assert (module["state"], module["fault"]) == ("ok", None)
    assert "Notice" not in await client.text("help")
    assert place not in await client.text("help")
    assert [each.count(MESSAGE) for each in (client, silent, picky)] == [2, 0, 0]


async def test_a_module_that_can_not_answer_at_all_is_an_error(daemon: Daemon, connect: Connect) -> None:
    client = await connect()
    await client.result("logging/setLevel", {"level": "error"})
    daemon.module("one", "def execute(:\n", "first")
    level, told = await _log(client, 1)
    assert level == "error"
    assert "mcpptool.py:1" in told


async def test_a_registry_that_can_not_be_read_is_told(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", GOOD, "first")
    client = await connect()
    await client.result("logging/setLevel", {"level": "warning"})
    assert await client.text("first") == "VALUE"
    daemon.registry.write_text("modules: [\n")
    [told] = await client.notified(MESSAGE)
    assert told["params"]["level"] == "warning"
    assert f"{daemon.registry}:2" in told["params"]["data"]
    assert await client.text("first") == "VALUE"
