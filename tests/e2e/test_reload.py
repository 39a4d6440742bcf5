"""Save, and every agent has it: what is added, edited, broken, repaired and removed on disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.e2e.conftest import Connect
from tests.harness import Daemon, processes_below, texts, until

CHANGED = "notifications/tools/list_changed"
VALUE = """
def execute(tool_name, arguments, context=None):
    return {{"success": True, "result": {value!r}}}
"""


async def test_a_tool_added_to_a_manifest_is_announced_once_and_callable(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first")
    clients = [await connect(), await connect()]
    for client in clients:
        assert sorted(await client.tools()) == ["first", "help"]
    for client in clients:
        client.notifications.clear()
    daemon.manifest("one", "first", "second")
    for client in clients:
        await client.notified(CHANGED)
        assert sorted(await client.tools()) == ["first", "help", "second"]
        assert await client.text("second") == "v1"
    assert [client.count(CHANGED) for client in clients] == [1, 1]


async def test_an_edited_body_is_live_at_the_next_call_without_a_notification(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first")
    client = await connect()
    assert await client.text("first") == "v1"
    client.notifications.clear()
    for value in ("v2", "v3", "v4"):  # the same size, mostly in the same second
        daemon.module("one", VALUE.format(value=value), "first")
        assert await client.text("first") == value
    assert client.count(CHANGED) == 0


async def test_a_helper_two_imports_away_is_live_at_the_next_call(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module(
        "one",
        """
        from .near import value
        def execute(tool_name, arguments, context=None):
            return {"success": True, "result": value()}
        """,
        "first",
    )
    (directory / "near.py").write_text("from far import FAR\ndef value():\n    return FAR\n")
    (directory / "far.py").write_text("FAR = 'far 1'\n")
    client = await connect()
    assert await client.text("first") == "far 1"
    (directory / "far.py").write_text("FAR = 'far 2'\n")
    assert await client.text("first") == "far 2"


async def test_a_helper_outside_the_module_is_live_at_the_next_call(daemon: Daemon, connect: Connect) -> None:
    shared = daemon.home / "shared"
    shared.mkdir()
    (shared / "common.py").write_text("VALUE = 'shared 1'\n")
    daemon.module(
        "one",
        f"""
        import sys
        sys.path.insert(0, {str(shared)!r})
        import common
        def execute(tool_name, arguments, context=None):
            return {{"success": True, "result": common.VALUE}}
        """,
        "first",
    )
    client = await connect()
    assert await client.text("first") == "shared 1"
    (shared / "common.py").write_text("VALUE = 'shared 2'\n")
    assert await client.text("first") == "shared 2"


async def test_a_syntax_error_leaves_the_old_answer_with_a_notice(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", VALUE.format(value="good"), "first")
    client = await connect()
    assert await client.text("first") == "good"
    client.notifications.clear()
    (directory / "mcpptool.py").write_text("def execute(:\n")
    answer = texts(await client.call("first"))
    assert answer.startswith("good\nNotice:")
    assert f"{directory}/mcpptool.py:1" in answer
    for worker in processes_below(daemon.pid):
        if "spawner" not in (await _command(worker)):
            os.kill(worker, 9)
    again = await client.call("first")
    if again.get("isError"):  # the kill was seen while this call ran
        again = await client.call("first")
    assert texts(again).startswith("good\nNotice:")
    status = await daemon.control("mcppd/status")
    [module] = status["modules"]
    assert (module["state"], module["fault"]["line"]) == ("broken", 1)
    assert "BROKEN" in await client.text("help")
    daemon.module("one", VALUE.format(value="repaired"), "first")
    assert await client.text("first") == "repaired"
    assert client.count(CHANGED) == 0


async def test_an_exception_at_import_leaves_the_old_answer_with_a_notice(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="good"), "first")
    client = await connect()
    assert await client.text("first") == "good"
    directory = daemon.module("one", "x = 1\nraise ValueError('no')\n" + VALUE.format(value="bad"), "first")
    answer = texts(await client.call("first"))
    assert answer.startswith("good\nNotice:")
    assert f"{directory}/mcpptool.py:2" in answer


async def test_a_broken_manifest_leaves_the_old_tools_with_a_notice(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", VALUE.format(value="good"), "first")
    client = await connect()
    assert await client.text("first") == "good"
    (directory / "tool.yaml").write_text("name: one\ntools: [\n")
    assert sorted(await client.tools()) == ["first", "help"]
    assert "tool.yaml:" in texts(await client.call("first"))
    daemon.manifest("one", "first")
    assert await client.text("first") == "good"


async def test_a_module_broken_from_the_start_is_listed_and_says_what_is_wrong(
    daemon: Daemon, connect: Connect
) -> None:
    directory = daemon.module("one", "import nothing_of_this_name\n" + VALUE.format(value="x"), "first")
    client = await connect()
    assert "first" in await client.tools()
    assert f"{directory}/mcpptool.py:1" in await client.failure("first")
    daemon.module("one", VALUE.format(value="repaired"), "first")
    assert await client.text("first") == "repaired"


async def test_a_version_that_was_never_called_is_fallen_back_to(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="good"), "first")
    client = await connect()
    assert "first" in await client.tools()
    daemon.module("one", "raise ValueError('no')\n" + VALUE.format(value="bad"), "first")
    assert texts(await client.call("first")).startswith("good\nNotice:")


async def test_on_broken_fail_makes_calls_fail(daemon: Daemon, connect: Connect) -> None:
    daemon.registry.write_text("modules:\n  - path: tools/*\n    on_broken: fail\n")
    directory = daemon.module("one", VALUE.format(value="good"), "first")
    client = await connect()
    assert await client.text("first") == "good"
    (directory / "mcpptool.py").write_text("def execute(:\n")
    assert "mcpptool.py:1" in await client.failure("first")


async def test_a_directory_added_under_the_glob_and_removed_again(daemon: Daemon, connect: Connect) -> None:
    client = await connect()
    assert sorted(await client.tools()) == ["help"]
    client.notifications.clear()
    daemon.module("late", VALUE.format(value="here"), "late_tool")
    await client.notified(CHANGED)
    assert await client.text("late_tool") == "here"
    client.notifications.clear()
    shutil.rmtree(daemon.tools / "late")
    await client.notified(CHANGED)
    assert sorted(await client.tools()) == ["help"]
    error = await client.error("tools/call", {"name": "late_tool"})
    assert error["code"] == -32602
    assert "removed by the reload" in error["message"]


async def test_touching_a_file_reloads_nothing(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", VALUE.format(value="same"), "first")
    client = await connect()
    assert await client.text("first") == "same"
    before = await daemon.control("mcppd/status")
    for file in directory.iterdir():
        os.utime(file)
    assert await client.text("first") == "same"
    after = await daemon.control("mcppd/status")
    assert after["modules"][0]["generation"] == before["modules"][0]["generation"]
    assert after["last_reload"] == before["last_reload"]


async def test_a_call_in_flight_ends_on_the_code_it_began_with(daemon: Daemon, connect: Connect) -> None:
    body = """
    import os, pathlib, time
    def execute(tool_name, arguments, context=None):
        if arguments.get("wait"):
            pathlib.Path("running").touch()
            while not pathlib.Path("go").exists():
                time.sleep(0.01)
        return {"success": True, "result": f"VERSION {os.getpid()}"}
    """
    daemon.module("one", body.replace("VERSION", "old"), "first")
    client = await connect(cwd=daemon.home / "work")
    slow = client.ask("tools/call", {"name": "first", "arguments": {"wait": True}})
    await until((daemon.home / "work" / "running").exists)
    daemon.module("one", body.replace("VERSION", "new"), "first")
    assert (await client.text("first")).startswith("new")
    (daemon.home / "work" / "go").touch()
    version, pid = texts((await slow)["result"]).split()
    assert version == "old"
    await until(lambda: not Path(f"/proc/{pid}").exists())


async def test_of_two_saves_the_newer_wins_over_a_slow_import(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="first"), "tool")
    client = await connect()
    assert await client.text("tool") == "first"
    daemon.module("one", "import time\ntime.sleep(1.5)\n" + VALUE.format(value="slow"), "tool")
    call = client.ask("tools/call", {"name": "tool"})
    daemon.module("one", VALUE.format(value="newest"), "tool")
    await call
    assert await client.text("tool") == "newest"


async def test_a_module_that_was_not_called_is_not_imported(daemon: Daemon, connect: Connect) -> None:
    mark = daemon.home / "imported"
    for number in range(5):
        daemon.module(
            f"m{number}", f"open({str(mark)!r}, 'w').close()\n" + VALUE.format(value="x"), f"tool{number}"
        )
    client = await connect()
    assert len(await client.tools()) == 6
    await client.result("ping")
    assert not mark.exists()
    assert await client.text("tool3") == "x"
    assert mark.exists()


async def test_a_parameter_and_the_code_that_uses_it_are_never_seen_apart(
    daemon: Daemon, connect: Connect
) -> None:
    schema = {
        "type": "object",
        "properties": {"old": {"type": "string"}},
        "required": ["old"],
        "additionalProperties": False,
    }
    daemon.module(
        "one",
        "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': arguments['old']}\n",
        {"name": "tool", "description": "t", "inputSchema": schema},
    )
    client = await connect()
    assert await client.text("tool", {"old": "a"}) == "a"
    schema = {
        "type": "object",
        "properties": {"new": {"type": "string"}},
        "required": ["new"],
        "additionalProperties": False,
    }
    daemon.module(
        "one",
        "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': arguments['new']}\n",
        {"name": "tool", "description": "t", "inputSchema": schema},
    )
    assert await client.text("tool", {"new": "b"}) == "b"
    assert "$" in await client.failure("tool", {"old": "a"})


async def test_a_reload_says_what_it_changed(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="v1"), "first", "second")
    client = await connect()
    await client.tools()
    daemon.module("one", VALUE.format(value="v2"), "first", {"name": "third", "description": "new"})
    await client.tools()
    report = (await daemon.control("mcppd/status"))["last_reload"]
    [change] = report["modules"]
    assert (change["name"], change["added"], change["removed"]) == ("one", ["third"], ["second"])
    assert change["new"] > change["old"]
    assert report["notified"] == 1
    assert (await daemon.control("mcppd/reload"))["modules"] == []


async def test_the_registry_itself_is_live(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="one"), "first")
    client = await connect()
    assert "first" in await client.tools()
    daemon.registry.write_text("modules: [\n")
    assert await client.text("first") == "one"
    status = await daemon.control("mcppd/status")
    assert f"{daemon.registry}:" in status["registry_fault"]
    daemon.registry.write_text("modules: []\n")
    assert sorted(await client.tools()) == ["help"]


async def test_a_client_that_never_lists_again_reaches_new_tools(daemon: Daemon, connect: Connect) -> None:
    client = await connect(name="codex-mcp-client")
    assert sorted(await client.tools()) == ["call_tool", "help"]
    daemon.module("late", VALUE.format(value="here"), "late_tool")
    assert await client.text("call_tool", {"name": "late_tool", "arguments": {}}) == "here"
    shutil.rmtree(daemon.tools / "late")
    assert "late_tool" in await client.failure("call_tool", {"name": "late_tool"})


async def test_a_name_that_a_new_module_takes_is_its_own_from_the_next_call_on(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("middle", VALUE.format(value="middle"), "shared")
    client = await connect()
    assert await client.text("shared") == "middle"
    for _ in range(5):
        directory = daemon.module("before", VALUE.format(value="before"), "shared")
        assert await client.text("shared") == "before"
        shutil.rmtree(directory)
        assert await client.text("shared") == "middle"


async def _command(pid: int) -> str:
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().decode().replace("\0", " ")


async def test_a_bad_option_in_the_registry_leaves_the_module_as_it_was(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="good"), "first", "secret")
    daemon.registry.write_text(
        "modules:\n  - path: tools/one\n    tools: {deny: [secret]}\n  - path: tools/*\n"
    )
    client = await connect()
    assert sorted(await client.tools()) == ["first", "help"]
    daemon.registry.write_text(
        "modules:\n  - path: tools/one\n    tools: {deny: [secret]}\n    timeout: 5s\n  - path: tools/*\n"
    )
    answer = texts(await client.call("first"))
    assert answer.startswith("good\nNotice:")
    assert f"{daemon.registry}:4" in answer
    assert sorted(await client.tools()) == ["first", "help"]
    assert (await client.error("tools/call", {"name": "secret"}))["code"] == -32602


async def test_the_entry_of_one_module_holds_over_a_glob_before_it(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="one"), "first")
    daemon.module("two", VALUE.format(value="two"), "second")
    daemon.registry.write_text("modules:\n  - path: tools/*\n  - {path: tools/one, enabled: false}\n")
    client = await connect()
    assert sorted(await client.tools()) == ["help", "second"]


async def test_a_mistake_in_one_tool_of_a_manifest_takes_no_working_tool_away(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", VALUE.format(value="good"), "first", "second")
    client = await connect()
    assert await client.text("second") == "good"
    client.notifications.clear()
    daemon.manifest("one", "first", {"name": "second", "description": "s", "inputSchema": {"type": "objekt"}})
    assert sorted(await client.tools()) == ["first", "help", "second"]
    answer = texts(await client.call("second"))
    assert answer.startswith("good\nNotice:")
    assert "objekt" in answer
    daemon.manifest("one", "first")
    assert sorted(await client.tools()) == ["first", "help"]
    assert client.count(CHANGED) == 1


async def test_a_registry_that_names_a_file_costs_nobody_time(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="one"), "first")
    daemon.registry.write_text(
        "modules:\n  - path: tools/*\n  - path: tools/one/mcpptool.py\n  - path: tools/nosuch\n"
    )
    client = await connect()
    assert await client.text("first") == "one"
    answered = client.ask("tools/list")
    assert (await answered)["result"]
    states = {module["name"]: module for module in (await daemon.control("mcppd/status"))["modules"]}
    assert states["mcpptool.py"]["state"] == "failed"
    assert "not a directory" in states["mcpptool.py"]["fault"]["message"]
    assert "does not exist" in states["nosuch"]["fault"]["message"]


async def test_an_initialize_that_fails_is_told_and_the_tools_still_work(
    daemon: Daemon, connect: Connect
) -> None:
    body = "def initialize():\n    raise RuntimeError('no database')\n" + VALUE.format(value="works")
    daemon.module("one", body, "first")
    client = await connect()
    assert await client.text("first") == "works"
    assert "no database" in str((await daemon.control("mcppd/status"))["modules"][0]["warnings"])
    assert "no database" in await client.text("help")


async def test_a_reload_names_what_is_broken_though_nothing_changed(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.module("one", VALUE.format(value="good"), "first")
    client = await connect()
    assert await client.text("first") == "good"
    (directory / "mcpptool.py").write_text("def execute(:\n")
    assert "Notice" in texts(await client.call("first"))
    [broken] = (await daemon.control("mcppd/reload"))["modules"]
    assert "mcpptool.py:1" in broken["fault"]


async def test_a_stop_in_the_middle_of_a_reload_is_a_stop(daemon: Daemon, connect: Connect) -> None:
    daemon.module("one", VALUE.format(value="good"), "first")
    client = await connect()
    assert await client.text("first") == "good"
    mark = daemon.home / "importing"
    slow = f"import time\nopen({str(mark)!r}, 'w').close()\ntime.sleep(30)\n"
    daemon.module("one", slow + VALUE.format(value="slow"), "first")
    await until(mark.exists)
    assert await daemon.stop() == 0
