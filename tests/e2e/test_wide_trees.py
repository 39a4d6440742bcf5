"""What leads through a whole disk is told at its line and stops nobody: a glob, `watch:`, a module's own tree."""

from __future__ import annotations

import asyncio
import os
import shutil

import pytest

from mcppd.reloading.walks import ENTRIES_LIMIT
from tests.e2e.conftest import Connect
from tests.e2e.test_reload import VALUE
from tests.harness import LIMIT, Daemon, texts


async def _warned(daemon: Daemon, place: str) -> None:
    """Wait until a warning of a place is shown, or with an empty one none at all."""
    async with asyncio.timeout(LIMIT):
        while True:
            warnings = "\n".join((await daemon.control("mcppd/status"))["warnings"])
            if place in warnings and bool(place) == bool(warnings):
                return


@pytest.mark.slow
async def test_a_glob_of_the_whole_disk_is_a_fault_of_its_entry_and_the_others_are_served(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    daemon.registry.write_text("modules:\n  - path: tools/*\n  - path: /**/*/*/*/*\n")
    await _warned(daemon, f"{daemon.registry}:3:")
    for number in range(3):
        daemon.module("one", VALUE.format(value=f"new {number}"), "first")
        assert await client.text("first") == f"new {number}"
    daemon.module("two", VALUE.format(value="two"), "second")
    assert await client.text("second") == "two"
    daemon.registry.write_text("modules:\n  - path: tools/*\n")
    await _warned(daemon, "")


@pytest.mark.slow
async def test_what_a_glob_served_goes_on_where_a_save_makes_it_lead_through_too_much(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    daemon.registry.write_text("modules:\n  - path: /**/*\n")
    await _warned(daemon, f"{daemon.registry}:2:")
    assert await client.text("first") == "v1"
    daemon.module("one", VALUE.format(value="v2"), "first")
    assert await client.text("first") == "v2"
    daemon.registry.write_text("modules:\n  - path: tools/*\n")
    assert await client.text("first") == "v2"
    await _warned(daemon, "")


@pytest.mark.slow
async def test_data_files_that_are_a_whole_disk_are_a_fault_of_their_module(
    daemon: Daemon, connect: Connect
) -> None:
    for name in ("one", "two"):
        daemon.module(name, VALUE.format(value="v1"), f"{name}_tool")
    client = await connect()
    assert await client.text("one_tool") == "v1"
    daemon.registry.write_text(
        "modules:\n  - path: tools/*\n  - path: tools/one\n    watch: ['/**/*.nothing']\n"
    )
    answer = texts(await client.call("one_tool"))
    assert answer.startswith("v1\nNotice")
    assert f"{daemon.registry}:3:" in answer
    daemon.module("two", VALUE.format(value="v2"), "two_tool")
    assert await client.text("two_tool") == "v2"
    daemon.registry.write_text("modules:\n  - path: tools/*\n")
    assert await client.text("one_tool") == "v1"


@pytest.mark.slow
async def test_data_files_that_never_end_are_not_read(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", VALUE.format(value="v1"), "first")
    os.mkfifo(directory / "pipe.csv")
    os.mkfifo(directory / "pipe.py")
    (directory / "zero.csv").symlink_to("/dev/zero")
    daemon.registry.write_text("modules:\n  - path: tools/*\n    watch: [tools/*/*.csv]\n")
    client = await connect()
    assert await client.text("first") == "v1"
    daemon.module("one", VALUE.format(value="v2"), "first")
    assert await client.text("first") == "v2"


@pytest.mark.slow
@pytest.mark.parametrize("connect", ["socket"], indirect=True)
async def test_a_module_with_a_huge_tree_is_told_so_and_the_others_go_on(
    daemon: Daemon, connect: Connect
) -> None:
    for name in ("one", "two"):
        daemon.module(name, VALUE.format(value="v1"), f"{name}_tool")
    client = await connect()
    assert await client.text("one_tool") == "v1"
    growing = daemon.tools / "one" / "data"
    growing.mkdir()
    for number in range(ENTRIES_LIMIT):
        os.close(os.open(growing / f"{number}.bin", os.O_CREAT | os.O_WRONLY))
    daemon.module("one", VALUE.format(value="v2"), "one_tool")
    answer = texts(await client.call("one_tool"))
    assert answer.startswith("v1\nNotice")
    assert str(daemon.tools / "one") in answer
    for number in range(3):
        daemon.module("two", VALUE.format(value=f"new {number}"), "two_tool")
        assert await client.text("two_tool") == f"new {number}"
    shutil.rmtree(growing)
    assert await client.text("one_tool") == "v2"
