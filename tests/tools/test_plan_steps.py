"""The bundled module `plan`: the steps of a task."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.plan_asking import Person, a_step, rows_of, timeless

pytestmark = pytest.mark.usefixtures("database")


def test_switching_to_a_step_puts_the_former_back(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a", "b", "c"])
    result = ada.ask("plan_step_switch", number=3)
    assert (result["step"]["status"], result["was"], result["former_step"]) == ("started", "planned", 1)
    assert ada.marks() == "pps"
    assert ada.ask("plan_step_switch", number=3)["former_step"] is None
    assert ada.marks() == "pps"


def test_a_step_that_is_complete_stays_so_when_another_is_started_or_added(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a", "b"])
    ada.ask("plan_step_done", number=1)
    ada.ask("plan_step_switch", number=2)
    assert ada.marks() == "cs"
    ada.ask("plan_step_done", number=2)
    ada.ask("plan_step_new", title="c")
    assert ada.marks() == "ccs"


def test_a_complete_step_is_started_again_when_that_is_asked_for(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a", "b"])
    ada.ask("plan_step_done", number=1)
    result = ada.ask("plan_step_switch", number=1)
    assert (result["was"], result["step"]["completed_at"]) == ("complete", None)
    assert ada.marks() == "sp"


def test_a_step_that_is_done_says_what_is_next_and_starts_nothing(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a", "b", "c"])
    result = ada.ask("plan_step_done", number=2)
    assert (result["active_step"]["number"], result["next_step"]["number"]) == (1, 3)
    result = ada.ask("plan_step_done", number=1)
    assert (result["active_step"], result["next_step"]["number"]) == (None, 3)
    assert result["counts"] == {"planned": 1, "started": 0, "complete": 2}
    assert ada.marks() == "ccp"
    result = ada.ask("plan_step_done", number=3)
    assert (result["active_step"], result["next_step"]) == (None, None)


def test_after_the_last_the_next_is_the_first_that_is_left(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a", "b", "c"])
    ada.ask("plan_step_switch", number=3)
    assert ada.ask("plan_step_done", number=3)["next_step"]["number"] == 1


def test_done_twice_is_done_once(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a"])
    first = ada.ask("plan_step_done", number=1)["step"]["completed_at"]
    monkeypatch.setattr("time.gmtime", lambda: (2100, 1, 1, 0, 0, 0, 0, 1, 0))
    assert ada.ask("plan_step_done", number=1)["step"]["completed_at"] == first


def test_a_new_step_is_started_only_if_nothing_else_is(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix")
    assert ada.ask("plan_step_new", title="a", description=" more\n")["step"]["description"] == "more"
    ada.ask("plan_step_new", title="b")
    assert ada.marks() == "sp"
    ada.ask("plan_step_done", number=1)
    ada.ask("plan_step_new", title="c")
    assert ada.marks() == "cps"


def test_a_step_can_be_added_to_a_task_that_isn_t_active(ada: Person) -> None:
    ada.ask("plan_task_new", name="one")
    ada.ask("plan_task_new", name="two")
    assert ada.ask("plan_step_new", title="a", task="one")["task_name"] == "one"
    assert (ada.marks(task="one"), ada.marks()) == ("s", "")
    ada.ask("plan_step_delete", number=1, task="one")
    assert ada.marks(task="one") == ""


def test_the_numbers_of_the_rest_stay_contiguous(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=list("abcde"))
    result = ada.ask("plan_step_delete", number=2)
    assert (result["deleted"]["title"], result["active_step"]["number"]) == ("b", 1)
    ada.ask("plan_step_delete", number=4)
    steps = ada.ask("plan_step_list")["steps"]
    assert [(step["number"], step["title"]) for step in steps] == [(1, "a"), (2, "c"), (3, "d")]
    assert ada.ask("plan_step_new", title="f")["step"]["number"] == 4
    assert "1 to 4" in ada.error("plan_step_delete", number=5)


def test_the_started_step_can_be_deleted_and_what_is_next_is_told(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a", "b", "c"])
    ada.ask("plan_step_switch", number=2)
    result = ada.ask("plan_step_delete", number=2)
    assert (result["active_step"], result["next_step"]["title"]) == (None, "c")
    assert result["next_step"]["number"] == 2
    assert ada.marks() == "pp"


def test_a_deleted_step_is_soft_deleted(ada: Person, database: Path) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a"])
    ada.ask("plan_step_notes", text="x")
    ada.ask("plan_step_delete", number=1)
    assert len(rows_of(database)["steps"]) == len(rows_of(database)["notes"]) == 1
    ada.ask("plan_step_new", title="b")
    assert ada.ask("plan_step_notes")["notes"] == []


def test_one_step_is_shown_the_started_one_by_default(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["a", "b"])
    ada.ask("plan_step_notes", text="of b", number=2)
    assert timeless(ada.ask("plan_step_show", number=2)) == {
        "project_name": "shop",
        "task_name": "fix",
        "step": a_step(2, "b", "planned"),
        "notes": [{"at": True, "text": "of b"}],
    }
    assert ada.ask("plan_step_show")["step"]["number"] == 1
    ada.ask("plan_step_done", number=1)
    for tool in ("plan_step_show", "plan_step_notes"):
        assert "2 is next" in ada.error(tool)


def test_what_needs_an_active_task_says_so(ada: Person, database: Path) -> None:
    for tool, arguments in (
        ("plan_task_show", {}),
        ("plan_task_notes", {"text": "x"}),
        ("plan_step_list", {}),
        ("plan_step_show", {"number": 1}),
        ("plan_step_switch", {"number": 1}),
        ("plan_step_done", {"number": 1}),
        ("plan_step_new", {"title": "x"}),
        ("plan_step_delete", {"number": 1}),
        ("plan_step_notes", {"text": "x", "number": 1}),
    ):
        assert "plan_task_new" in ada.error(tool, **arguments)
    assert rows_of(database) == {}


def test_a_number_that_isn_t_there_is_told_with_those_that_are(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix")
    assert "none yet" in ada.error("plan_step_done", number=1)
    ada.ask("plan_step_new", title="a")
    for tool in (
        "plan_step_show",
        "plan_step_switch",
        "plan_step_done",
        "plan_step_delete",
        "plan_step_notes",
    ):
        assert "1 to 1" in ada.error(tool, number=10**9)
