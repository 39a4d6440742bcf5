"""A module whose own run changes the files it is made of is not reloaded for ever; a person's saves always count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, texts, until

COUNTS = """
import pathlib
STAMP = pathlib.Path(__file__).with_name("stamp.py")
STAMP.write_text(f"X = {STAMP.stat().st_size + len(STAMP.read_text())} {'#' * STAMP.stat().st_size}")
def execute(tool_name, arguments, context=None):
    return {"success": True, "result": "VALUE"}
"""

PLAIN = """
def execute(tool_name, arguments, context=None):
    return {"success": True, "result": "before"}
"""

SLEEPS = "import time\ntime.sleep(1)\n"


async def _at_rest(daemon: Daemon, directory: Path) -> None:
    """The module reloads itself no more, and that is told."""
    await until(lambda: f"{directory}/stamp.py" in daemon.output)
    status = await daemon.control("mcppd/status")
    assert any(f"{directory}/stamp.py" in warning for warning in status["warnings"])


@pytest.mark.slow
async def test_a_module_that_writes_a_source_of_its_own_when_imported(
    daemon: Daemon, connect: Connect
) -> None:
    directory = daemon.module("one", COUNTS.replace("VALUE", "v1"), "first")
    (directory / "stamp.py").write_text("X = 0\n")
    client = await connect()
    await client.result("logging/setLevel", {"level": "warning"})
    assert texts(await client.call("first")) == "v1"
    [told] = await client.notified("notifications/message")
    assert "stamp.py" in told["params"]["data"]
    await _at_rest(daemon, directory)
    before = daemon.output.count("reload: one")
    assert before <= 8
    assert await client.text("first") == "v1"
    assert daemon.output.count("reload: one") == before
    (directory / "mcpptool.py").write_text(COUNTS.replace("VALUE", "v2"))
    assert await client.text("first") == "v2"


@pytest.mark.parametrize("body", [f"{SLEEPS}{COUNTS}", f"{COUNTS}{SLEEPS}"], ids=["late", "early"])
async def test_a_module_that_takes_long_to_import_and_writes_a_source_of_its_own(
    daemon: Daemon, connect: Connect, body: str
) -> None:
    directory = daemon.module("one", PLAIN, "first")
    (directory / "stamp.py").write_text("X = 0\n")
    client = await connect()
    assert texts(await client.call("first")) == "before"
    (directory / "mcpptool.py").write_text(body)
    await _at_rest(daemon, directory)
    await until(lambda: "reload: one" in daemon.output.split("stamp.py")[-1])
    assert await client.text("first") == "VALUE"


@pytest.mark.slow
async def test_a_module_that_writes_a_data_file_at_each_call(daemon: Daemon, connect: Connect) -> None:
    daemon.registry.write_text("modules:\n  - {path: tools/one, watch: ['tools/one/*.txt']}\n")
    body = """
    import os, pathlib
    STATE = pathlib.Path(__file__).with_name("state.txt")
    def execute(tool_name, arguments, context=None):
        new = STATE.with_suffix(".new")
        new.write_text(arguments["text"])
        os.replace(new, STATE)
        return {"success": True, "result": "done"}
    """
    directory = daemon.module("one", body, "first")
    (directory / "state.txt").write_text("0")
    client = await connect()
    number = 0
    while "changes this file itself" not in str((await daemon.control("mcppd/status"))["warnings"]):
        number += 1
        assert await client.text("first", {"text": str(number)}) == "done"
    before = daemon.output.count("reload: one")
    assert await client.text("first", {"text": "last"}) == "done"
    assert await client.text("first", {"text": "very last"}) == "done"
    assert daemon.output.count("reload: one") == before
    await daemon.control("mcppd/reload")
    assert (await daemon.control("mcppd/status"))["warnings"] == []


@pytest.mark.slow
async def test_quick_saves_of_a_person_always_count(daemon: Daemon, connect: Connect) -> None:
    body = (
        "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'VALUE'}\n"
    )
    daemon.module("one", body, "first")
    client = await connect()
    for number in range(10):
        daemon.module("one", body.replace("VALUE", str(number)), "first")
        assert await client.text("first") == str(number)
    assert (await daemon.control("mcppd/status"))["warnings"] == []
