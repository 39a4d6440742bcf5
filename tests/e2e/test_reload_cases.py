"""What people report of reloads elsewhere: half lists, hangs, threads that stay, what nobody saved (CASES C, D, E)."""

from __future__ import annotations

import asyncio
import os
import subprocess
from pathlib import Path

from tests.e2e.conftest import Connect
from tests.e2e.test_reload import CHANGED, VALUE
from tests.harness import Daemon, processes_below, texts, until

HANGS = "import time\nwhile True:\n    time.sleep(0.01)\n"
WITH_A_THREAD = """
import threading, time
held = bytearray(1_000_000)
threading.Thread(target=lambda: time.sleep(3600), daemon=True).start()
def execute(tool_name, arguments, context=None):
    return {{"success": True, "result": "v{number}"}}
"""


async def test_no_list_in_between_is_empty_or_half(daemon: Daemon, connect: Connect) -> None:
    """C6: while modules are saved, each list is of one version of each, and no other module is missing in it."""
    for name in ("one", "two", "three"):
        daemon.module(name, VALUE.format(value="v"), f"{name}_a0", f"{name}_b0")
    lister, client = await connect(), await connect()
    assert await client.text("one_a0") == "v"
    seen: list[frozenset[str]] = []
    is_over = False

    async def keep_listing() -> None:
        while not is_over:
            seen.append(frozenset(await lister.tools()))

    listing = asyncio.create_task(keep_listing())
    for number in range(1, 9):
        daemon.manifest("one", f"one_a{number}", f"one_b{number}")
        assert f"one_a{number}" in await client.tools()
        if number == 4:
            await daemon.control("mcppd/reload", {"module": "two"})
    is_over = True
    await listing
    others = {"two_a0", "two_b0", "three_a0", "three_b0", "help"}
    for names in seen:
        numbers = {name[-1] for name in names - others}
        assert names == others | {f"one_{letter}{number}" for letter in "ab" for number in numbers}
        assert len(numbers) == 1
    assert len(set(seen)) > 1


async def test_a_touch_is_no_reload_and_no_notification_whoever_asks(
    daemon: Daemon, connect: Connect
) -> None:
    """C11, C14: nothing is told, also where a reload is asked for."""
    directory = daemon.module("one", VALUE.format(value="same"), "first")
    client = await connect()
    assert await client.text("first") == "same"
    client.notifications.clear()
    before = await daemon.control("mcppd/status")
    for path in (*directory.iterdir(), daemon.registry, directory):
        os.utime(path)
        path.chmod(path.stat().st_mode)
        assert (await daemon.control("mcppd/reload"))["modules"] == []
    (directory / "mcpptool.py").write_bytes((directory / "mcpptool.py").read_bytes())
    assert await client.text("first") == "same"
    after = await daemon.control("mcppd/status")
    assert after["last_reload"] == before["last_reload"]
    assert after["modules"][0]["generation"] == before["modules"][0]["generation"]
    daemon.module("one", VALUE.format(value="other"), "first")
    assert await client.text("first") == "other"
    assert client.count(CHANGED) == 0


async def test_an_import_that_hangs_leaves_the_last_good_version_and_nobody_waits_for_it(
    daemon: Daemon, connect: Connect
) -> None:
    """D11: other modules are saved and answer meanwhile."""
    daemon.registry.write_text("modules:\n  - path: tools/*\n    import_timeout: 4\n")
    daemon.module("one", VALUE.format(value="good"), "first")
    daemon.module("two", VALUE.format(value="v0"), "second")
    client = await connect()
    assert await client.text("first") == "good"
    assert await client.text("second") == "v0"
    daemon.module("one", HANGS + VALUE.format(value="never"), "first")
    for number in (1, 2):
        daemon.module("two", VALUE.format(value=f"v{number}"), "second")
        assert await client.text("second") == f"v{number}"
    assert texts(await client.call("first")).startswith(
        "good\n"
    )  # and says that a newer save is still loading
    async with asyncio.timeout(20):
        while "one" not in str((await daemon.control("mcppd/reload"))["modules"]):
            pass
    answer = texts(await client.call("first"))
    assert answer.startswith("good\nNotice")
    assert str(daemon.tools / "one") in answer
    daemon.module("one", VALUE.format(value="repaired"), "first")
    assert await client.text("first") == "repaired"


async def test_versions_with_threads_and_memory_of_their_own_leave_none(
    daemon: Daemon, connect: Connect
) -> None:
    """D6: an old version goes with its worker."""
    daemon.module("one", WITH_A_THREAD.format(number=0), "first")
    client = await connect()
    assert await client.text("first") == "v0"
    proc = Path(f"/proc/{daemon.pid}")
    before = len(os.listdir(proc / "fd")), len(os.listdir(proc / "task"))
    for number in range(1, 41):
        daemon.module("one", WITH_A_THREAD.format(number=number), "first")
        assert await client.text("first") == f"v{number}"
    await until(lambda: len(processes_below(daemon.pid)) <= 3)  # the spawner, its worker, and one to come
    assert len(os.listdir(proc / "fd")) <= before[0] + 4
    assert len(os.listdir(proc / "task")) <= before[1] + 4


async def test_what_other_programs_write_beside_a_module_reloads_nothing(
    daemon: Daemon, connect: Connect
) -> None:
    """E10: repositories, environments, packages of other languages, caches, locks."""
    directory = daemon.module("one", VALUE.format(value="same"), "first")
    client = await connect()
    assert await client.text("first") == "same"
    client.notifications.clear()
    before = daemon.output.count("reload: ")
    for name in (".git/index.lock", ".git/x.py", "node_modules/a/b.py", ".venv/lib/c.py", "venv/pyvenv.cfg"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text("x = 1\n")
    (directory / "venv" / "d.py").write_text("x = 1\n")
    for name in (
        ".mcpptool.py.swp",
        ".mcpptool.py.swx",
        "4913",
        "mcpptool.py~",
        "#mcpptool.py#",
        "mcpptool.py.bak",
    ):
        (directory / name).write_text("def execute(:\n")
        (directory / name).unlink()
    (directory / ".#mcpptool.py").symlink_to("somebody@somewhere.1")
    subprocess.run(["touch", str(directory / "__pycache__")], check=True)
    assert await client.text("first") == "same"
    assert (await daemon.control("mcppd/reload"))["modules"] == []
    assert daemon.output.count("reload: ") == before
    assert client.count(CHANGED) == 0
