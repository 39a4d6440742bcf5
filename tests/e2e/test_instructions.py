"""Instructions: what the registry and the modules say, joined, and never older than the last save."""

from __future__ import annotations

from typing import Any

from tests.e2e.conftest import Connect
from tests.harness import MODERN, Daemon, modern

BODY = "def execute(tool, arguments, context): return {'success': True, 'result': 1}\n"


async def test_registry_and_modules_are_joined_with_headings_in_both_eras(
    daemon: Daemon, connect: Connect
) -> None:
    for name in ("one", "two", "three"):
        daemon.module(name, BODY, f"tool_{name}", about=f"What {name} is for.")
    daemon.registry.write_text("instructions: Ask before you act.\nmodules:\n  - path: tools/*\n")
    client, other = await connect(), await connect(revision=None)
    await client.tools()
    text = (await client.handshake())["instructions"]
    other.revision = MODERN
    assert (await other.result("server/discover", modern()))["instructions"] == text
    for part in ("`help`", "Ask before you act.", "## one\nWhat one is for.", "## two", "## three"):
        assert part in text
    assert text.index("Ask") < text.index("## one") < text.index("## three") < text.index("## two")


async def test_instructions_follow_a_save(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", BODY, "tool", about="First words.")
    client = await connect()
    await client.tools()
    assert "First words." in (await client.handshake())["instructions"]
    daemon.manifest("one", "tool", about="Other words.")
    await client.tools()
    text = (await client.handshake())["instructions"]
    assert "Other words." in text
    assert "First words." not in text
    daemon.registry.write_text("instructions: From the registry.\nmodules:\n  - path: tools/*\n")
    await client.tools()
    assert "From the registry." in (await client.handshake())["instructions"]


async def test_instructions_have_a_limit_and_end_with_a_whole_module(
    daemon: Daemon, connect: Connect
) -> None:
    for number in range(30):
        daemon.module(f"m{number:02}", BODY, f"tool_{number}", about=f"{number:02} " * 100)
    client = await connect()
    await client.tools()
    text = (await client.handshake())["instructions"]
    assert len(text) <= 4000
    assert "## m00" in text
    assert "## m29" not in text
    assert "more modules" in text


async def test_who_we_are_has_a_version_and_an_icon_where_the_revision_knows_them(
    daemon: Daemon, connect: Connect
) -> None:
    shown: dict[str, Any] = {}
    for revision in ("2024-11-05", "2025-06-18", "2025-11-25"):
        client = await connect(revision=None)
        shown[revision] = (await client.handshake(revision))["serverInfo"]
    assert [("title" in each, "icons" in each) for each in shown.values()] == [
        (False, False),
        (True, False),
        (True, True),
    ]
    assert len({each["version"] for each in shown.values()}) == 1
    assert shown["2025-11-25"]["icons"][0]["src"].startswith("data:image/svg+xml")


async def test_a_handshake_waits_for_no_reload(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", BODY, "tool", about="About the first.")
    client = await connect()
    await client.text("tool")
    flag = daemon.home / "flag"
    waits = f"import os, time\nwhile not os.path.exists({str(flag)!r}):\n    time.sleep(0.01)\n"
    daemon.module("one", waits + BODY, "tool", about="About the second.")
    assert "About the first." in (await client.handshake())["instructions"]
    flag.touch()
    await daemon.control("mcppd/reload")
    assert "About the second." in (await client.handshake())["instructions"]
