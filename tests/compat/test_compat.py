"""Modules in every manner in which they are written for other hosts of this format: imported, called, saved."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from pathlib import Path

from tests.harness import texts

from .conftest import CHANGED, Host, import_registry

TOOLS = {
    *(
        "keeper_add",
        "keeper_list",
        "keeper_where",
        "bin_add",
        "bin_where",
        "two_args_join",
        "star_args_count",
    ),
    *("keyword_context_where", "reads_yaml_setting", "begin_work", "work_state"),
    *(f"many_{number:02}" for number in range(1, 37)),
}


async def test_all_modules_are_registered_and_live_at_once_and_told_once_and_not_twice(host: Host) -> None:
    await host.client.notified(CHANGED)
    listed = await host.client.tools()
    spaced = listed.keys() - TOOLS - {"help", "call_tool"}
    assert listed.keys() >= TOOLS
    assert {name.rpartition("_")[0] for name in spaced} == {"add_note", "list_all_notes"}
    assert len(await host.generations()) == 9
    assert host.client.count(CHANGED) == 1
    text = host.daemon.registry.read_text()
    assert text.startswith("# mine\nmodules:  # none yet\n")
    assert text.count("workers: 1\n") == 9
    assert "    pass_env: [READS_YAML_TOKEN]\n" in text
    assert "    timeout: 60\n" in text
    lines = host.printed.splitlines()
    at = f"{host.directory}/tools.yaml"
    assert lines[:3] == [
        f"{at} lists 10 modules.",
        f"  {at}:2:1: `version:` is not taken over: it means nothing here",
        f"  + task-keeper      3 tools   {host.file('task-keeper')}",
    ]
    assert "      its key `description:` means nothing here, and is not taken over" in lines
    assert any("its code reads READS_YAML_TOKEN" in line for line in lines)
    assert sum("is listed as" in line for line in lines) == 2
    assert "  . _unused" in lines
    assert f"9 modules are registered in {host.daemon.registry}." in lines
    assert "A daemon runs, and serves them from now on." in lines
    assert "imports" not in host.printed  # yaml is there, and what a module registers itself is found
    before = host.daemon.registry.read_bytes()
    status, printed, _ = await import_registry(host.daemon, host.directory / "tools.yaml")
    assert (status, host.daemon.registry.read_bytes()) == (0, before)
    assert f"Nothing is new, and {host.daemon.registry} is as it was." in printed


async def test_an_own_package_under_a_fixed_name_with_its_database_and_log_beside_it(host: Host) -> None:
    assert await host.value("keeper_add", title="one", note="n") == {"number": 1, "count": 1}
    assert await host.value("keeper_add", title="two") == {"number": 2, "count": 2}
    result = await host.client.call("keeper_list")
    shown, rows = result["content"]
    assert (shown["annotations"]["audience"], shown["text"]) == (["user"], "- one\n- two")
    assert json.loads(rows["text"]) == [[1, "one", "n"], [2, "two", None]]
    where = await host.value("keeper_where")
    directory = str(host.file("task-keeper"))
    assert (where["here"], where["package"]) == (directory, "task-keeper")
    assert (where["database"], where["loaded"]) == (
        f"{directory}/keeper.db",
        f"{directory}/store/database.py",
    )
    assert "keeper_add begins" in host.file("task-keeper/keeper.log").read_text()
    assert directory in await host.client.text("help", {"tool": "task-keeper"})


async def test_two_modules_with_one_fixed_name_do_not_disturb_each_other(host: Host) -> None:
    for number in range(1, 4):
        assert (await host.value("keeper_add", title="x"))["number"] == number
        assert await host.value("bin_add", what=f"w{number}") == [f"w{each}" for each in range(1, number + 1)]
        assert (await host.value("keeper_where"))["package"] == "task-keeper"
        assert await host.value("bin_where") == {"package": "bin-keeper", "shelf": "keeper_core.store.shelf"}


async def test_every_way_to_write_execute_and_get_info_with_yaml_siblings_and_variables(host: Host) -> None:
    result = await host.client.call("two_args_join", {"words": ["a", "b"], "by": "-"})
    assert texts(result) == "**2 words**, 0 left\na-b"
    assert await host.value("star_args_count") == [3, "star_args_count", {}, str(host.work)]
    assert await host.value("keyword_context_where") == {
        "workspace": str(host.work),
        "cwd": str(host.work),
        "module": str(host.file("keyword_context")),
        "scope": "local",
    }
    assert "joins words" in await host.client.text("help", {"tool": "two_args"})
    assert "local" in await host.client.text("help", {"tool": "keyword_context"})
    assert "given" in await host.client.text("help", {"tool": "star_args"})

    async def setting(name: str) -> str:
        return await host.client.text("reads_yaml_setting", {"name": name})

    assert await setting("color") == "green"
    assert json.loads(await setting("levels")) == [1, 2]
    assert (await setting("token"), await setting("timeout")) == ("sesame", "25")
    assert await setting("nothing") == "unset"
    log = host.daemon.home / "state" / "mcppd" / "modules" / "reads_yaml.log"
    assert "looked for color" in log.read_text()


async def test_thirty_six_tools_are_loaded_once_and_names_with_spaces_have_aliases_beside(host: Host) -> None:
    answers = await asyncio.gather(*(host.value(f"many_{number:02}", n=2) for number in range(1, 37)))
    assert answers == [{"product": 2 * number, "loads": 1} for number in range(1, 37)]
    names = {name.rpartition("_")[0]: name for name in await host.client.tools()}
    assert await host.value(names["add_note"], text="a") == 1
    assert await host.value("add note", text="b") == 2
    assert await host.value(names["list_all_notes"]) == ["a", "b"]


async def test_a_thread_lives_on_between_calls(host: Host) -> None:
    assert await host.client.text("begin_work", {"steps": 5}) == "begun"
    async with asyncio.timeout(20):
        while (state := await host.value("work_state"))["done"] < 5:
            pass  # each look is a call
    assert state == {"done": 5, "alive": True, "same": True}


async def test_what_a_module_writes_beside_itself_is_no_change_of_it(host: Host) -> None:
    before = await host.generations()
    for number in range(1, 21):
        assert (await host.value("keeper_add", title="x"))["count"] == number
        assert len(await host.value("bin_add", what="y")) == number
    await host.daemon.control("mcppd/reload")
    assert await host.generations() == before
    host.client.notifications.clear()  # of the import
    assert (await host.value("keeper_add", title="x"))["count"] == 21
    assert host.client.count(CHANGED) == 0
    with sqlite3.connect(host.file("task-keeper/keeper.db")) as connection:
        assert connection.execute("SELECT count(*) FROM tasks").fetchone() == (21,)
    connection.close()


async def test_a_save_is_live_wherever_the_code_lies_and_the_data_stays(host: Host) -> None:
    assert (await host.value("keeper_add", title="one"))["count"] == 1
    replace(host.file("task-keeper/store/database.py"), "return number, count", "return number, count * 100")
    assert (await host.value("keeper_add", title="two"))["count"] == 200
    replace(host.file("task-keeper/__init__.py"), "task-keeper", "changed")
    assert (await host.value("keeper_where"))["package"] == "changed"
    replace(host.file("reads_yaml/helper.py"), '"unset"', '"not there"')
    assert await host.client.text("reads_yaml_setting", {"name": "x"}) == "not there"
    host.file("reads_yaml/settings.yaml").write_text("color: red\n")  # data: read at each call
    assert await host.client.text("reads_yaml_setting", {"name": "color"}) == "red"
    replace(host.file("bin-keeper/store/shelf.py"), "splitlines()", "split()[::-1]")
    await host.value("bin_add", what="a")
    assert await host.value("bin_add", what="b") == ["b", "a"]
    assert await host.value("keeper_list") == [[1, "one", None], [2, "two", None]]


async def test_a_new_tool_is_told_and_a_module_that_is_switched_off_takes_nothing_with_it(host: Host) -> None:
    await host.client.notified(CHANGED)
    await host.client.tools()
    replace(host.file("two_args/tool.yaml"), "name: two_args_join", "name: two_args_glue")
    await host.client.notified(CHANGED, 2)
    assert "two_args_glue" in await host.client.tools()
    replace(host.daemon.registry, "/bin-keeper\n", "/bin-keeper\n    enabled: false\n")
    await host.client.notified(CHANGED, 3)
    assert "bin_add" not in await host.client.tools()
    assert (await host.value("keeper_add", title="x"))["count"] == 1


def replace(path: Path, old: str, new: str) -> None:
    """Save a file with something replaced, as editors do."""
    text = path.read_text()
    assert old in text
    draft = path.with_name(f".{path.name}.part")
    draft.write_text(text.replace(old, new))
    os.replace(draft, path)
