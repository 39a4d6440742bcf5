"""Ways of saving, and ways of being imported: one save is one reload, and the next call has it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, texts

BODY = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'VALUE'}\n"


def in_place(path: Path, text: str) -> None:
    path.write_text(text)


def renamed(path: Path, text: str) -> None:
    new = path.with_suffix(".tmp")
    new.write_text(text)
    new.chmod(0o644)
    new.replace(path)


def with_a_backup(path: Path, text: str) -> None:
    """As vim does where it may: a swap file, 4913, the old file moved away, the new one written."""
    swap, probe, backup = (
        path.with_name(f".{path.name}.swp"),
        path.with_name("4913"),
        path.with_name(f"{path.name}~"),
    )
    swap.write_text("swap")
    probe.touch()
    probe.unlink()
    path.rename(backup)
    path.write_text(text)
    backup.unlink()
    swap.unlink()


def with_a_lock(path: Path, text: str) -> None:
    """As emacs does: a lock link, the old file copied, the new one written in place."""
    lock = path.with_name(f".#{path.name}")
    lock.symlink_to("someone@somewhere")
    shutil.copy(path, path.with_name(f"{path.name}~"))
    path.write_text(text)
    lock.unlink()


def by_sed(path: Path, text: str) -> None:
    old = path.read_text().split("'")[-2]
    new = text.split("'")[-2]
    subprocess.run(["sed", "-i", f"s/{old}/{new}/", str(path)], check=True)


def copied_and_moved(path: Path, text: str) -> None:
    other = path.parent.parent.parent / "copy"
    other.write_text(text)
    subprocess.run(["cp", str(other), f"{path}.new"], check=True)
    subprocess.run(["mv", f"{path}.new", str(path)], check=True)


WAYS = [in_place, renamed, with_a_backup, with_a_lock, by_sed, copied_and_moved]


@pytest.mark.parametrize("save", WAYS, ids=[way.__name__ for way in WAYS])
async def test_one_save_is_one_reload_in_every_editors_way(
    daemon: Daemon, connect: Connect, save: Callable[[Path, str], None]
) -> None:
    path = daemon.module("one", BODY.replace("VALUE", "v0"), "first") / "mcpptool.py"
    client = await connect()
    assert await client.text("first") == "v0"
    for number in (1, 2):
        before = daemon.output.count("reload: one")
        save(path, BODY.replace("VALUE", f"v{number}"))
        await daemon.said("reload: one", before + 1)  # the watcher alone sees it
        answer = await client.call("first")
        assert texts(answer) == f"v{number}"
        assert daemon.output.count("reload: one") == before + 1
        assert "BROKEN" not in daemon.output


@pytest.mark.slow
async def test_what_editors_leave_behind_reloads_nothing(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", BODY, "first")
    client = await connect()
    assert await client.text("first") == "VALUE"
    before = daemon.output.count("reload: one")
    for name in (
        ".mcpptool.py.swp",
        "4913",
        "mcpptool.py~",
        ".#mcpptool.py",
        "__pycache__/mcpptool.cpython-311.pyc",
    ):
        (directory / name).parent.mkdir(exist_ok=True)
        (directory / name).write_bytes(b"\0")
    for name in (".git", "node_modules", ".venv"):
        (directory / name).mkdir()
        (directory / name / "x.py").write_text("x = 1")
    assert await client.text("first") == "VALUE"
    assert "first" in await client.tools()
    assert daemon.output.count("reload: one") == before


async def test_a_module_behind_a_link_is_live_when_the_link_is_pointed_elsewhere(
    daemon: Daemon, connect: Connect
) -> None:
    for name in ("v1", "v2"):
        directory = daemon.module("one", BODY.replace("VALUE", name), "first")
        shutil.move(directory, daemon.home / name)
    link = daemon.tools / "one"
    link.symlink_to(daemon.home / "v1")
    client = await connect()
    assert await client.text("first") == "v1"
    new = daemon.home / "new"
    new.symlink_to(daemon.home / "v2")
    os.replace(new, link)
    assert await client.text("first") == "v2"
    (daemon.home / "v2" / "mcpptool.py").write_text(BODY.replace("VALUE", "v3"))
    assert await client.text("first") == "v3"


@pytest.mark.slow
async def test_siblings_named_like_the_standard_library_harm_nobody(daemon: Daemon, connect: Connect) -> None:
    body = """
    from .json import MINE
    import json, logging
    def execute(tool_name, arguments, context=None):
        return {"success": True, "result": [MINE, json.dumps([1]), logging.INFO]}
    """
    directory = daemon.module("shadow", body, "shadow")
    for name in ("json", "logging", "asyncio"):
        (directory / f"{name}.py").write_text("MINE = 'mine'\n")
    daemon.module("plain", "import json\n" + BODY.replace("'VALUE'", "json.dumps({})"), "plain")
    client = await connect()
    assert await client.text("shadow") == '["mine","[1]",20]'
    assert await client.text("plain") == "{}"
    assert "shadow" in await client.tools()


async def test_two_modules_with_the_same_file_names_never_see_each_other(
    daemon: Daemon, connect: Connect
) -> None:
    for name in ("one", "two"):
        body = """
        import utils
        from .utils import NAME
        def execute(tool_name, arguments, context=None):
            return {"success": True, "result": [NAME, utils.NAME]}
        """
        directory = daemon.module(name, body, f"tool_{name}")
        (directory / "utils.py").write_text(f"NAME = {name!r}\n")
    client = await connect()
    assert await client.text("tool_one") == '["one","one"]'
    assert await client.text("tool_two") == '["two","two"]'


async def test_lone_surrogates_from_anywhere_reach_the_wire_replaced(
    daemon: Daemon, connect: Connect
) -> None:
    body = """
    def execute(tool_name, arguments, context=None):
        context["report_progress"](1, 2, "p\\ud800")
        if tool_name == "fails":
            return {"success": False, "error": "e\\ud800"}
        if tool_name == "raises":
            raise ValueError("r\\ud800")
        return {"success": True, "result": arguments, "display": "d\\ud800"}
    """
    description = (
        'name: odd\ntools:\n  - {name: echoes, description: "x\\ud800"}\n  - name: fails\n  - name: raises\n'
    )
    directory = daemon.module("odd", body)
    (directory / "tool.yaml").write_text(description)
    client = await connect()
    assert (await client.tools())["echoes"]["description"] == "x\ufffd"
    result = await client.call("echoes", {"given": "\ud83d"}, _meta={"progressToken": 1})
    assert [item["text"] for item in result["content"]] == ["d\ufffd", '{"given":"\ufffd"}']
    [progress] = await client.notified("notifications/progress")
    assert progress["params"]["message"] == "p\ufffd"
    assert "e\ufffd" in await client.failure("fails")
    assert "r\ufffd" in await client.failure("raises")
