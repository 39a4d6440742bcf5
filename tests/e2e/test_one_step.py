"""Renames, moves and swaps: what belongs together in a save is one step for everybody, announced once."""

from __future__ import annotations

import asyncio

from tests.e2e.conftest import Connect
from tests.harness import Client, Daemon, texts

CHANGED = "notifications/tools/list_changed"
BODY = """
def execute(tool_name, arguments, context=None):
    return {'success': True, 'result': 'VALUE ' + tool_name}
"""


async def _called_while(daemon: Daemon, client: Client, names: tuple[str, ...], save: object) -> list[str]:
    """Everything that calls of these tools said, before, during and after a save."""
    said: list[str] = []
    is_over = False

    async def keep_calling() -> None:
        while not is_over:
            for name in names:
                response = await client.response("tools/call", {"name": name, "arguments": {}})
                said.append(
                    texts(response["result"]) if "result" in response else response["error"]["message"]
                )

    task = asyncio.create_task(keep_calling())
    before = daemon.output.count("reload: ")
    assert callable(save)
    save()
    await daemon.said("reload: ", before + 1)
    is_over = True
    await task
    assert daemon.output.count("reload: ") == before + 1
    return said


async def test_a_tool_that_is_renamed(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", BODY, "old")
    client = await connect()
    assert await client.text("old") == "VALUE old"
    client.notifications.clear()
    said = await _called_while(daemon, client, ("old", "new"), lambda: daemon.manifest("one", "new"))
    assert await client.text("new") == "VALUE new"
    assert sorted(await client.tools()) == ["help", "new"]
    error = await client.error("tools/call", {"name": "old"})
    assert "removed by the reload" in error["message"]
    assert client.count(CHANGED) == 1
    served = [each for each in said if each.startswith("VALUE")]
    assert served == sorted(
        served, reverse=True
    )  # once the new one is there, the old one is never seen again


async def test_a_tool_that_is_moved_between_modules(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", BODY.replace("VALUE", "one"), "stays", "moves")
    daemon.module("two", BODY.replace("VALUE", "two"), "other")
    client = await connect()
    assert await client.text("moves") == "one moves"
    assert await client.text("other") == "two other"
    client.notifications.clear()

    def move() -> None:
        daemon.manifest("one", "stays")
        daemon.manifest("two", "other", "moves")

    said = await _called_while(daemon, client, ("moves",), move)
    assert await client.text("moves") == "two moves"
    assert sorted(await client.tools()) == ["help", "moves", "other", "stays"]
    assert client.count(CHANGED) <= 1
    assert set(said) <= {"one moves", "two moves"}


async def test_two_modules_that_swap_their_names(daemon: Daemon, connect: Connect) -> None:
    for name in ("one", "two"):
        daemon.module(name, BODY.replace("VALUE", f"in {name}"), "tool")
    client = await connect()
    assert await client.text("one__tool") == "in one tool"
    assert await client.text("two__tool") == "in two tool"
    client.notifications.clear()

    def swap() -> None:
        for directory, name in (("one", "two"), ("two", "one")):
            path = daemon.tools / directory / "tool.yaml"
            path.write_text(path.read_text().replace(f"name: {directory}", f"name: {name}"))

    said = await _called_while(daemon, client, ("one__tool", "two__tool"), swap)
    assert await client.text("one__tool") == "in two tool"
    assert await client.text("two__tool") == "in one tool"
    assert set(said) <= {"in one tool", "in two tool"}


async def test_a_module_directory_that_is_renamed(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", BODY, "first")
    client = await connect()
    assert await client.text("first") == "VALUE first"
    client.notifications.clear()
    directory.rename(daemon.tools / "two")
    assert await client.text("first") == "VALUE first"
    [module] = (await daemon.control("mcppd/status"))["modules"]
    assert (module["directory"], module["state"]) == (str(daemon.tools / "two"), "ok")
    assert client.count(CHANGED) == 0
    assert daemon.output.count("reload: ") == 1
    daemon.module("two", BODY.replace("VALUE", "edited"), "first")
    assert await client.text("first") == "edited first"


async def test_saves_that_are_taken_back_end_in_what_is_on_the_disk(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", BODY, "first")
    client = await connect()
    assert await client.text("first") == "VALUE first"
    good = (directory / "mcpptool.py").read_text()
    for text in (
        "def broken(:\n",
        good.replace("VALUE", "OTHER"),
        "import time\ntime.sleep(1)\n" + good,
        good,
    ):
        (directory / "mcpptool.py").write_text(text)
        await asyncio.sleep(0.03)
    assert await client.text("first") == "VALUE first"
    status = await daemon.control("mcppd/status")
    assert status["modules"][0]["state"] == "ok"
