"""The bundled module `plan`: who calls, in which project, and what is told about it all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.plan_asking import Person
from tools.plan import mcpptool

pytestmark = pytest.mark.usefixtures("database")


def test_a_user_is_their_login_until_they_say_otherwise(ada: Person, bob: Person) -> None:
    assert ada.ask("plan_user_show") == {
        "project_name": "shop",
        "id": 1,
        "login": "ada",
        "display_name": "ada",
    }
    ada.ask("plan_user_set", alias="Ada L.")
    assert ada.ask("plan_user_show")["display_name"] == "Ada L."
    assert bob.ask("plan_user_show")["display_name"] == "bob"
    assert ada.ask("plan_task_new", name="x")["task"]["owner_name"] == "Ada L."


def test_the_user_is_that_of_the_process_whatever_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os
    import pwd

    for name in ("USER", "LOGNAME", "USERNAME"):
        monkeypatch.setenv(name, "mallory")
    answer = mcpptool.execute("plan_user_show", {}, {"workspace_dir": str(tmp_path)})
    assert answer["result"]["login"] == pwd.getpwuid(os.getuid()).pw_name


def test_a_project_is_named_after_its_directory_until_somebody_says_otherwise(
    ada: Person, bob: Person, tmp_path: Path
) -> None:
    assert ada.ask("plan_project_show") == {
        "project_name": "shop",
        "id": 1,
        "name": "shop",
        "path": str(tmp_path / "shop"),
        "description": "",
    }
    result = ada.ask("plan_project_set", name="The shop")
    assert (result["project_name"], result["name"], result["description"]) == ("The shop", "The shop", "")
    ada.ask("plan_project_set", description=" Sells. ")
    seen = bob.ask("plan_project_show")
    assert (seen["name"], seen["description"]) == ("The shop", "Sells.")
    assert ada.ask("plan_project_set", description="")["description"] == ""
    assert ada.error("plan_project_set")
    assert ada.ask("plan_task_status")["project_name"] == "The shop"


def test_a_link_to_a_workspace_is_the_same_project(
    ada: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.ask("plan_task_new", name="fix")
    (tmp_path / "link").symlink_to("shop")
    linked = Person(tmp_path / "link")
    assert linked.ask("plan_task_status")["active_task"]["name"] == "fix"
    monkeypatch.chdir(tmp_path / "link")  # as it is in a call
    assert linked.ask("plan_project_show")["path"] == str(tmp_path / "shop")


def test_a_project_whose_name_is_no_text_has_one_all_the_same(tmp_path: Path) -> None:
    import os

    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xffshop"))
    assert Person(odd).ask("plan_project_show")["name"] == r"\xffshop"


def test_the_root_is_a_project_too() -> None:
    assert Person(Path("/")).ask("plan_project_show")["name"] == "/"


def test_readme_is_a_text_and_needs_no_database(ada: Person, database: Path) -> None:
    answer = ada.answer("plan_readme")
    assert answer.keys() == {"success", "result"}
    assert "plan_task_status" in answer["result"]
    assert not database.exists()


def test_help_says_how_it_is_used_and_where_the_database_lies(
    tmp_path: Path, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = {"workspace_dir": str(tmp_path)}
    info = mcpptool.get_info(context)
    assert (info["project"], info["database"]) == (str(tmp_path), str(database))
    assert "plan_task_status" in info["how"]
    assert not database.exists()
    monkeypatch.setenv("MCPPD_PLAN_DB", "plan.db")
    assert "absolute" in mcpptool.get_info(context)["database"]


def test_an_unknown_tool_is_an_error(tmp_path: Path) -> None:
    assert mcpptool.execute("plan_nothing", {}, {"workspace_dir": str(tmp_path)})["success"] is False
