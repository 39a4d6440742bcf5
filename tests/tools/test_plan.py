"""The bundled module `plan`: tasks, and that nobody meets what is another's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.plan_asking import Person, a_step, rows_of, timeless

pytestmark = pytest.mark.usefixtures("database")


def test_a_new_task_is_active_and_its_first_step_started(ada: Person) -> None:
    result = timeless(ada.ask("plan_task_new", name="fix", title="Fix it", steps=["one", "two", "three"]))
    assert result == {
        "project_name": "shop",
        "task": {
            "name": "fix",
            "title": "Fix it",
            "owner": "ada",
            "owner_name": "ada",
            "active": True,
            "created_at": True,
            "archived_at": False,
            "counts": {"planned": 2, "started": 1, "complete": 0},
        },
        "steps": [a_step(1, "one", "started"), a_step(2, "two", "planned"), a_step(3, "three", "planned")],
    }


def test_no_steps_are_invented(ada: Person) -> None:
    result = ada.ask("plan_task_new", name="fix")
    assert result["steps"] == []
    assert result["task"]["title"] == "fix"
    assert ada.ask("plan_task_status")["active_step"] is None


def test_a_name_is_taken_once_also_by_an_archived_task(ada: Person) -> None:
    ada.ask("plan_task_new", name="one")
    ada.ask("plan_task_new", name="two")
    assert "plan_task_switch" in ada.error("plan_task_new", name="one")
    ada.ask("plan_task_archive", name="one")
    assert "archived" in ada.error("plan_task_new", name="one", steps=["x"])
    assert ada.ask("plan_task_status")["active_task"]["name"] == "two"


@pytest.mark.parametrize("name", [" ", "\t\n", "a\nb", "a\0b", "\ud83d", "\u202ea", "\u00a0"])
def test_a_name_that_is_none_is_refused_and_leaves_nothing(ada: Person, database: Path, name: str) -> None:
    assert ada.error("plan_task_new", name=name)
    assert ada.error("plan_user_set", alias=name)
    assert ada.error("plan_project_set", name=name)
    assert rows_of(database) == {}


def test_space_around_a_name_and_the_spelling_of_a_letter_make_no_other_name(ada: Person) -> None:
    ada.ask("plan_task_new", name=" cafe\u0301 ")
    assert ada.ask("plan_task_show", name="caf\u00e9")["task"]["name"] == "caf\u00e9"
    assert ada.error("plan_task_new", name="caf\u00e9")
    ada.ask("plan_task_new", name="CAFÉ")  # upper case does


def test_a_name_that_changes_length_in_its_one_spelling_is_held_against_the_limit(ada: Person) -> None:
    ada.ask("plan_task_new", name="x" * 100)
    assert ada.error("plan_task_new", name="\u0958" * 100)  # one that is always spelled as two


def test_a_blank_step_refuses_the_whole_task(ada: Person, database: Path) -> None:
    assert "step 2" in ada.error("plan_task_new", name="fix", steps=["one", "  "])
    assert rows_of(database) == {}


def test_a_text_that_begins_with_dashes_is_text(ada: Person) -> None:
    ada.ask("plan_task_new", name="--fix", title="--title", steps=["--step"])
    ada.ask("plan_task_notes", text="--note")
    ada.ask("plan_step_notes", text="-- note")
    ada.ask("plan_step_new", title="--new", description="--more")
    shown = ada.ask("plan_task_show", name="--fix")
    assert shown["task"]["title"] == "--title"
    assert [step["title"] for step in shown["steps"]] == ["--step", "--new"]
    assert shown["steps"][1]["description"] == "--more"
    assert [note["text"] for note in shown["notes"]] == ["--note"]
    assert [note["text"] for note in ada.ask("plan_step_notes")["notes"]] == ["-- note"]


def test_a_name_of_digits_is_a_name_and_never_an_id(ada: Person, bob: Person) -> None:
    bob.ask("plan_task_new", name="of bob")  # the id 1
    ada.ask("plan_task_new", name="first")
    ada.ask("plan_task_new", name="1")
    for tool in ("plan_task_show", "plan_task_switch"):
        assert ada.ask(tool, name="1")["task"]["name"] == "1"
        assert ada.error(tool, name="2")
    assert ada.ask("plan_step_new", title="x", task="1")["task_name"] == "1"
    assert ada.ask("plan_task_notes", text="x", name="1")["task_name"] == "1"


def test_half_a_character_in_a_text_is_marked_and_the_rest_kept(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["cut \ud83d"])
    ada.ask("plan_task_notes", text="whole \ud83d\ude00 and half \ude00")
    shown = ada.ask("plan_task_show")
    assert shown["steps"][0]["title"] == "cut \ufffd"
    assert shown["notes"][0]["text"] == "whole \U0001f600 and half \ufffd"


def test_tasks_are_listed_in_the_order_they_came(ada: Person) -> None:
    for name in ("b", "a", "c"):
        ada.ask("plan_task_new", name=name)
    ada.ask("plan_task_archive", name="a")
    listed = ada.ask("plan_task_list")["tasks"]
    assert [(task["name"], task["active"]) for task in listed] == [("b", False), ("c", True)]
    with_archived = ada.ask("plan_task_list", show_archived=True)["tasks"]
    assert [(task["name"], task["archived_at"] is None) for task in with_archived] == [
        ("b", True),
        ("a", False),
        ("c", True),
    ]


def test_everybody_s_tasks_are_seen_with_show_all_only(ada: Person, bob: Person, tmp_path: Path) -> None:
    ada.ask("plan_task_new", name="fix")
    bob.ask("plan_user_set", alias="Bob B.")
    bob.ask("plan_task_new", name="fix")
    bob.ask("plan_task_new", name="more")
    Person(tmp_path / "elsewhere").ask("plan_task_new", name="other project")
    assert [task["owner"] for task in ada.ask("plan_task_list")["tasks"]] == ["ada"]
    everybody = ada.ask("plan_task_list", show_all=True)["tasks"]
    assert [(task["owner_name"], task["name"], task["active"]) for task in everybody] == [
        ("ada", "fix", True),
        ("Bob B.", "fix", False),
        ("Bob B.", "more", True),
    ]
    assert "Bob B." in ada.shown("plan_task_list", show_all=True)
    bob.ask("plan_task_archive", name="fix")
    assert len(ada.ask("plan_task_list", show_all=True)["tasks"]) == 2
    assert len(ada.ask("plan_task_list", show_all=True, show_archived=True)["tasks"]) == 3


def test_a_mistyped_name_is_answered_with_the_nearest(ada: Person, bob: Person) -> None:
    ada.ask("plan_task_new", name="Fix-Login")
    bob.ask("plan_task_new", name="fix-logic")
    error = ada.error("plan_task_show", name="fix-logn")
    assert "'Fix-Login'" in error
    assert "fix-logic" not in error


def test_the_status_says_what_is_active_and_what_is_next(ada: Person) -> None:
    assert ada.ask("plan_task_status") == {
        "project_name": "shop",
        "active_task": None,
        "active_step": None,
        "next_step": None,
        "counts": {"planned": 0, "started": 0, "complete": 0},
    }
    ada.ask("plan_task_new", name="fix", title="Fix it", steps=["one", "two", "three"])
    ada.ask("plan_step_done", number=2)
    assert timeless(ada.ask("plan_task_status")) == {
        "project_name": "shop",
        "active_task": {"name": "fix", "title": "Fix it"},
        "active_step": a_step(1, "one", "started"),
        "next_step": a_step(3, "three", "planned"),
        "counts": {"planned": 1, "started": 1, "complete": 1},
    }


def test_switching_leaves_the_steps_as_they_are(ada: Person) -> None:
    ada.ask("plan_task_new", name="one", steps=["a", "b"])
    ada.ask("plan_step_switch", number=2)
    ada.ask("plan_task_new", name="two", steps=["c"])
    result = ada.ask("plan_task_switch", name="one")
    assert (result["task"]["active"], result["was_archived"]) == (True, False)
    assert (result["active_step"]["number"], result["next_step"]["number"]) == (2, 1)
    assert (ada.marks(task="one"), ada.marks(task="two")) == ("ps", "s")
    assert ada.ask("plan_task_switch", name="one")["task"]["active"]  # again: the same


def test_the_active_task_can_t_be_archived(ada: Person) -> None:
    ada.ask("plan_task_new", name="one")
    assert "leave it as it is" in ada.error("plan_task_archive", name="one")
    assert ada.ask("plan_task_list")["tasks"][0]["archived_at"] is None


def test_archiving_twice_is_archiving_once(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.ask("plan_task_new", name="one")
    ada.ask("plan_task_new", name="two")
    first = ada.ask("plan_task_archive", name="one")["task"]["archived_at"]
    assert first is not None
    monkeypatch.setattr("time.gmtime", lambda: (2100, 1, 1, 0, 0, 0, 0, 1, 0))
    assert ada.ask("plan_task_archive", name="one")["task"]["archived_at"] == first


def test_an_archived_task_is_read_but_not_changed_until_it_is_switched_to(ada: Person) -> None:
    ada.ask("plan_task_new", name="one", steps=["a"])
    ada.ask("plan_task_notes", text="kept")
    ada.ask("plan_task_new", name="two")
    ada.ask("plan_task_archive", name="one")
    assert ada.marks(task="one") == "s"
    assert ada.ask("plan_task_show", name="one")["notes"][0]["text"] == "kept"
    assert len(ada.ask("plan_task_notes", name="one")["notes"]) == 1
    for tool, arguments in (
        ("plan_task_notes", {"text": "x", "name": "one"}),
        ("plan_step_new", {"title": "x", "task": "one"}),
        ("plan_step_delete", {"number": 1, "task": "one"}),
    ):
        assert "plan_task_switch" in ada.error(tool, **arguments)
    assert ada.ask("plan_task_switch", name="one")["was_archived"] is True
    assert ada.ask("plan_task_show")["task"]["archived_at"] is None
    ada.ask("plan_step_new", title="x")


def test_notes_are_appended_and_always_returned(ada: Person) -> None:
    ada.ask("plan_task_new", name="one")
    ada.ask("plan_task_new", name="two")
    assert ada.ask("plan_task_notes")["notes"] == []
    ada.ask("plan_task_notes", text="first\n\n- a list")
    result = ada.ask("plan_task_notes", text=" second ")
    assert [note["text"] for note in result["notes"]] == ["first\n\n- a list", "second"]
    assert ada.ask("plan_task_notes", text="there", name="one")["task_name"] == "one"
    assert len(ada.ask("plan_task_notes")["notes"]) == 2
    assert "blank" in ada.error("plan_task_notes", text=" \n")


def test_notes_never_reach_a_task_of_that_name_in_another_project(ada: Person, tmp_path: Path) -> None:
    there = Person(tmp_path / "elsewhere")
    ada.ask("plan_task_new", name="fix")
    there.ask("plan_task_new", name="fix")
    there.ask("plan_task_notes", text="there", name="fix")
    ada.ask("plan_task_notes", text="here", name="fix")
    assert [note["text"] for note in there.ask("plan_task_notes", name="fix")["notes"]] == ["there"]
    assert [note["text"] for note in ada.ask("plan_task_notes", name="fix")["notes"]] == ["here"]
