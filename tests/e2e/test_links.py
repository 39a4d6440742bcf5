"""Links on the way to what is served: the watcher alone sees what they lead to, and that they lead elsewhere."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.e2e.conftest import Connect
from tests.harness import Daemon

BODY = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'VALUE'}\n"


async def _is_live(daemon: Daemon, connect: Connect, number: int) -> None:
    """The save is noticed without a call, once, and then answers."""
    await daemon.said(f"reload: one {number - 1}→{number} ", 1)
    client = await connect()
    assert await client.text("first") == f"v{number}"
    assert f"→{number + 1} " not in daemon.output


def _point(link: Path, target: Path | str) -> None:
    new = link.with_name(f"{link.name}.new")
    new.symlink_to(target)
    os.replace(new, link)


async def _in_use(daemon: Daemon, connect: Connect) -> None:
    client = await connect()
    assert await client.text("first") == "v1"


async def test_files_that_are_links_to_elsewhere(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", BODY.replace("VALUE", "v1"), "first")
    other = daemon.home / "dotfiles"
    other.mkdir()
    for name in ("mcpptool.py", "tool.yaml"):
        shutil.move(directory / name, other / name)
        (directory / name).symlink_to(other / name)
    await _in_use(daemon, connect)
    (other / "mcpptool.py").write_text(BODY.replace("VALUE", "v2"))
    await _is_live(daemon, connect, 2)
    (other / "new.py").write_text(BODY.replace("VALUE", "v3"))
    (other / "new.py").replace(other / "mcpptool.py")
    await _is_live(daemon, connect, 3)
    (other / "v4.py").write_text(BODY.replace("VALUE", "v4"))
    _point(directory / "mcpptool.py", other / "v4.py")
    await _is_live(daemon, connect, 4)


async def test_a_directory_of_links_through_one_link_as_a_config_map_has_them(
    daemon: Daemon, connect: Connect
) -> None:
    for version in ("v1", "v2", "v3"):
        directory = daemon.module("one", BODY.replace("VALUE", version), "first")
        shutil.move(directory, daemon.home / version)
    directory.mkdir()
    for version in ("v1", "v2", "v3"):
        shutil.move(daemon.home / version, directory / f"..{version}")
    _point(directory / "..data", "..v1")
    for name in ("mcpptool.py", "tool.yaml"):
        (directory / name).symlink_to(f"..data/{name}")
    await _in_use(daemon, connect)
    for number in (2, 3):
        _point(directory / "..data", f"..v{number}")
        await _is_live(daemon, connect, number)


async def test_a_link_far_above_the_module(daemon: Daemon, connect: Connect) -> None:
    for version in ("v1", "v2"):
        directory = daemon.module("one", BODY.replace("VALUE", version), "first")
        (daemon.home / version / "deep").mkdir(parents=True)
        shutil.move(directory, daemon.home / version / "deep" / "one")
    current = daemon.home / "current"
    current.symlink_to(daemon.home / "v1")
    daemon.registry.write_text(f"modules:\n  - {current}/deep/one\n")
    await _in_use(daemon, connect)
    _point(current, daemon.home / "v2")
    await _is_live(daemon, connect, 2)
    (daemon.home / "v2" / "deep" / "one" / "mcpptool.py").write_text(BODY.replace("VALUE", "v3"))
    await _is_live(daemon, connect, 3)


async def test_a_registry_that_is_a_link(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", BODY.replace("VALUE", "v1"), "first")
    dotfiles = daemon.home / "dotfiles"
    dotfiles.mkdir()
    shutil.move(daemon.registry, dotfiles / "tools.yaml")
    daemon.registry.symlink_to(dotfiles / "tools.yaml")
    await _in_use(daemon, connect)
    client = await connect()
    client.notifications.clear()
    (dotfiles / "tools.yaml").write_text("modules: []\n")
    await client.notified("notifications/tools/list_changed")
    assert sorted(await client.tools()) == ["help"]
    (dotfiles / "other.yaml").write_text("modules: [tools/one]\n")
    client.notifications.clear()
    _point(daemon.registry, dotfiles / "other.yaml")
    await client.notified("notifications/tools/list_changed")
    assert sorted(await client.tools()) == ["first", "help"]
