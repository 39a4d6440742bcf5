"""What a reload says of itself: generations and digests, what came and went, which fields, how long, who was told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.e2e.conftest import Connect
from tests.e2e.test_reload import CHANGED, VALUE
from tests.harness import Client, Daemon, texts

WHO = {"type": "object", "properties": {"who": {"type": "string"}}}


async def test_a_reload_names_generations_digests_fields_stages_and_sessions(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first", "second")
    daemon.module("two", VALUE.format(value="v1"), "other")
    clients = [await connect(), await connect()]
    for client in clients:
        assert await client.text("first") == "v1"
    known = {each["name"]: each for each in (await daemon.control("mcppd/status"))["modules"]}
    third = {"name": "third", "description": "new"}
    more = "def get_prompt(*_):\n    return ''\ndef read_resource(*_):\n    return ''\n"
    daemon.module(
        "one",
        more + VALUE.format(value="v2"),
        {"name": "first", "description": "other", "inputSchema": WHO},
        third,
        prompts=[{"name": "review"}],
        resources=[{"uri": "note://a", "name": "a"}],
        resourceTemplates=[{"uriTemplate": "note://{x}", "name": "x"}],
    )
    for client in clients:
        await client.notified(CHANGED)
    status = await daemon.control("mcppd/status")
    report = status["last_reload"]
    [change] = report["modules"]
    served = {each["name"]: each for each in status["modules"]}
    assert (change["name"], change["fault"]) == ("one", None)
    assert (change["old"], change["old_digest"]) == (known["one"]["generation"], known["one"]["digest"])
    assert (change["new"], change["new_digest"]) == (served["one"]["generation"], served["one"]["digest"])
    assert change["old_digest"] != change["new_digest"]
    assert served["two"]["generation"] == known["two"]["generation"]
    assert change["added"] == ["third", "prompt:review", "note://a", "note://{x}"]
    assert change["removed"] == ["second"]
    assert change["changed"] == ["first"]
    assert change["fields"] == {"first": ["description", "inputSchema.properties.who"]}
    assert (report["list_changed"], report["notified"]) == (True, 2)
    assert next(iter(report["stages"])) == "noticed"
    assert {"read", "judged", "prepared", "published", "notified"} <= report["stages"].keys()
    assert abs(sum(report["stages"].values()) - report["seconds"]) < 1e-6
    assert all(seconds >= 0 for seconds in report["stages"].values())


async def test_a_command_that_comes_after_the_watcher_tells_what_the_last_reload_did(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    daemon.module("one", VALUE.format(value="v2"), "first")
    assert await client.text("first") == "v2"
    report = await daemon.control("mcppd/reload")
    assert (report["modules"], report["notified"]) == ([], 0)
    assert [each["name"] for each in report["before"]["modules"]] == ["one"]
    assert report["before"] == (await daemon.control("mcppd/status"))["last_reload"]
    assert await client.text("first") == "v2"


async def test_the_first_call_after_a_reload_command_is_of_the_saved_code(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="v0"), "first")
    client = await connect()
    assert await client.text("first") == "v0"
    for number in range(1, 6):
        daemon.module("one", VALUE.format(value=f"v{number}"), "first")
        report = await daemon.control("mcppd/reload")
        [change] = (report if report["modules"] else report["before"])["modules"]
        assert (change["old"], change["new"]) == (change["new"] - 1, change["new"])
        assert await client.text("first") == f"v{number}"


async def test_one_module_is_reported_where_one_is_asked_for(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first")
    directory = daemon.module("two", VALUE.format(value="v1"), "second")
    client = await connect()
    assert await client.text("second") == "v1"
    (directory / "mcpptool.py").write_text("def execute(:\n")
    assert "Notice" in texts(await client.call("second"))
    assert (await daemon.control("mcppd/reload", {"module": "one"}))["modules"] == []
    [broken] = (await daemon.control("mcppd/reload", {"module": "two"}))["modules"]
    assert (broken["name"], broken["fault"] is not None) == ("two", True)
    error = await _refused(daemon, "tow")
    assert "'tow'" in error
    assert "did you mean two" in error


async def test_a_package_that_was_installed_repairs_the_module_that_a_reload_is_asked_of(
    daemon: Daemon, connect: Connect
) -> None:
    """What a module of its own interpreter finds elsewhere is not watched; the command has it tried again."""
    packages = daemon.home / "packages"
    packages.mkdir()
    body = f"""
    import os
    if not os.path.exists({str(packages / "installed")!r}):
        raise ImportError("no package installed")
    """
    for name in ("one", "two"):
        daemon.module(name, VALUE.format(value="v1"), f"{name}_tool")
    client = await connect()
    for name in ("one", "two"):
        assert await client.text(f"{name}_tool") == "v1"
        daemon.module(name, _dedented(body) + VALUE.format(value="v2"), f"{name}_tool")
        assert texts(await client.call(f"{name}_tool")).startswith("v1\nNotice")
    (packages / "installed").touch()
    report = await daemon.control("mcppd/reload", {"module": "one"})
    assert [(each["name"], each["fault"]) for each in report["modules"]] == [("one", None)]
    assert await client.text("one_tool") == "v2"
    assert texts(await client.call("two_tool")).startswith("v1\nNotice")  # nobody asked for that
    await daemon.control("mcppd/reload")
    assert await client.text("two_tool") == "v2"


async def test_help_tells_what_the_last_reload_did(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first")
    client = await connect()
    await client.tools()
    daemon.manifest("one", {"name": "first", "description": "other", "inputSchema": WHO}, "second")
    await client.notified(CHANGED)
    said = await client.text("help")
    assert "Last reload: " in said
    assert "+second" in said
    assert "~first (description, inputSchema.properties.who)" in said


def _dedented(body: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in body.splitlines())


async def _refused(daemon: Daemon, name: str) -> str:
    client = await Client.on_socket(Path(f"{daemon.socket}.control"))
    try:
        error = await client.error("mcppd/reload", {"module": name})
    finally:
        await client.close()
    return str(error["message"])


async def test_what_failed_at_its_import_is_imported_again_by_a_reload_and_told_as_it_is(
    daemon: Daemon, connect: Connect, tmp_path: Path
) -> None:
    needed = tmp_path / "needed"
    daemon.module("one", f"open({str(needed)!r}).close()\n" + VALUE.format(value="v1"), "first")
    client = await connect()
    assert "No such file" in await client.failure("first")
    for asked in ({"module": "one"}, {}):
        report = await daemon.control("mcppd/reload", asked)
        [change] = report["modules"]
        assert "No such file" in change["fault"]
        [module] = (await daemon.control("mcppd/status"))["modules"]
        assert (module["state"], "No such file" in str(module["fault"])) == ("failed", True)
    needed.touch()  # nothing of the module's own: no save is seen
    report = await daemon.control("mcppd/reload", {"module": "one"})
    assert [(each["name"], each["fault"]) for each in report["modules"]] == [("one", None)]
    assert await client.text("first") == "v1"


async def test_a_reload_of_what_is_no_name_is_refused(daemon: Daemon) -> None:
    client = await Client.on_socket(Path(f"{daemon.socket}.control"))
    names: tuple[Any, ...] = ([1], 1, {}, False)
    for name in names:
        assert "a string" in (await client.error("mcppd/reload", {"module": name}))["message"]
    await client.close()
