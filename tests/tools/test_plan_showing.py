"""What people see of the bundled module `plan`, and what its manifest tells agents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcppd.core.manifest import parse_manifest
from mcppd.core.yaml import read_yaml
from tests.tools.plan_asking import MODULE, TOOLS, Person
from tools.plan import mcpptool, texts
from tools.plan.marking import code, line, quote
from tools.plan.readme import README
from tools.plan.showing import SHOWN

READING = {
    *("plan_task_list", "plan_task_show", "plan_task_status", "plan_step_list", "plan_step_show"),
    *("plan_user_show", "plan_project_show", "plan_readme"),
}
DESTRUCTIVE = {"plan_step_delete", "plan_user_set", "plan_project_set"}
NASTY = "a](http://evil) [b](c)\n# d\n- [x] 9. e\n```\n<img src=x> *f* `g` _h_ &lt; \\"


@pytest.fixture(autouse=True)
def _database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("MCPPD_PLAN_DB", str(tmp_path / "plan.db"))
    yield
    mcpptool.DATABASE.close()


# displays


def test_steps_are_shown_with_their_marks(ada: Person) -> None:
    shown = ada.shown("plan_task_new", name="fix", title="Fix it", steps=["one", "two", "three"])
    assert shown == "New task **`fix`** Fix it, now active\n\n- [>] 1. one\n- [ ] 2. two\n- [ ] 3. three"
    ada.ask("plan_step_done", number=1)
    assert ada.shown("plan_step_list") == (
        "Steps of `fix` · 1 of 3 steps complete\n\n- [x] 1. one\n- [ ] 2. two\n- [ ] 3. three"
    )


def test_the_status_reads_in_one_glance(ada: Person) -> None:
    assert "no active task" in ada.shown("plan_task_status")
    ada.ask("plan_task_new", name="fix", title="Fix it", steps=["one", "two"])
    assert (
        ada.shown("plan_task_status") == "**shop**: **`fix`** Fix it · 0 of 2 steps complete\n\n- [>] 1. one"
    )
    done = ada.shown("plan_step_done", number=1)
    assert done.endswith(
        "Nothing is started. Next (`plan_step_switch` with number 2 starts it):\n\n- [ ] 2. two"
    )
    assert ada.shown("plan_step_done", number=2).endswith("Every step is complete.")


def test_the_list_says_what_is_active_and_what_is_archived(ada: Person) -> None:
    assert "No tasks" in ada.shown("plan_task_list")
    ada.ask("plan_task_new", name="one", steps=["a"])
    ada.ask("plan_task_new", name="two")
    ada.ask("plan_task_archive", name="one")
    first, second = ada.shown("plan_task_list", show_archived=True).splitlines()[-2:]
    assert re.fullmatch(
        r"- \*\*`one`\*\* · 0 of 1 step complete · archived \d{4}-\d\d-\d\d \d\d:\d\d UTC", first
    )
    assert second == "- **`two`** · no steps · active"


def test_notes_are_shown_as_they_were_written(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix", steps=["one"])
    assert "There are none." in ada.shown("plan_task_notes")
    assert ada.shown("plan_task_notes", text="# a\n\n- *b*").endswith(" UTC:\n\n> # a\n>\n> - *b*")
    assert ada.shown("plan_step_notes", text="c").endswith(" UTC:\n\n> c")
    ada.ask("plan_step_new", title="two", description="d\ne")
    assert ada.shown("plan_step_show", number=2) == "Step 2 of `fix`\n\n- [ ] 2. two\n\n> d\n> e"


def test_no_text_of_anybody_s_breaks_what_is_around_it(ada: Person) -> None:
    ada.ask("plan_task_new", name="fix`` `x", title=NASTY, steps=[NASTY])
    ada.ask("plan_step_new", title=NASTY, description=NASTY)
    ada.ask("plan_task_notes", text=NASTY)
    ada.ask("plan_step_notes", text=NASTY)
    ada.ask("plan_user_set", alias="[x](y)*z*")
    ada.ask("plan_project_set", name="*p* [q](r)", description=NASTY)
    asked: list[tuple[str, dict[str, Any]]] = [
        *((tool, {}) for tool in sorted(READING - {"plan_readme"})),
        *((f"plan_{what}_notes", {}) for what in ("task", "step")),
        ("plan_task_list", {"show_all": True}),
        ("plan_step_switch", {"number": 2}),
        ("plan_step_done", {"number": 2}),
        ("plan_task_new", {"name": "more", "title": NASTY, "steps": [NASTY]}),
        ("plan_task_switch", {"name": "fix`` `x"}),
        ("plan_task_archive", {"name": "more"}),
        ("plan_step_delete", {"number": 1}),
    ]
    for tool, arguments in asked:
        for each in ada.shown(tool, **arguments).splitlines():
            if not each.startswith(">"):
                assert not re.search(r"(?<!\\)\]\(|(?<!\\)<|^#|^```|\*f\*", each), (tool, each)
                assert not re.match(r"- \[.\] 9\.", each), (tool, each)


TEXTS = st.text(max_size=40) | st.text(alphabet="ab \n\r\t`*_[]()<>\\~#>-&;!|\u2028\u200d\u202e", max_size=30)


@given(TEXTS)
def test_a_text_on_one_line_is_on_one_line_and_has_no_mark_left(text: str) -> None:
    shown = line(text)
    assert len(shown.splitlines()) <= 1
    assert not re.search(r"[`*\[\]<~]", re.sub(r"\\.", "", shown))
    plain = re.sub(r"\\(.)", r"\1", shown)
    assert plain.split() == "".join(c if c.isprintable() or c == "\u200d" else " " for c in text).split()


@given(TEXTS)
def test_code_is_ended_by_nothing_within_it(text: str) -> None:
    shown = code(text)
    found = re.match(r"`+", shown)
    assert found or not text.strip()
    if found:
        inner = shown[found.end() : -found.end()]
        assert shown.endswith(found[0])
        assert found[0] not in re.findall(r"`+", inner)
        assert "\n" not in shown


@given(TEXTS)
def test_every_line_of_a_quotation_is_quoted(text: str) -> None:
    assert all(each.startswith(">") for each in quote(text).splitlines())


def test_common_names_have_no_backslash() -> None:
    for text in ("snake_case_name", "fix-login", "a & b", "1 > 0", "C#", "a|b", "mail@example.com", "50 %"):
        assert line(text) == text


# the manifest


def test_the_manifest_is_read_without_a_fault() -> None:
    file = MODULE / "tool.yaml"
    read = parse_manifest(read_yaml(file.read_bytes(), str(file)))
    assert (read.name, read.scope, read.faults, read.warnings) == ("plan", "local", (), ())
    assert [tool.fault for tool in read.tools] == [None] * 19


def test_the_manifest_is_one_that_every_client_takes() -> None:
    for name, tool in TOOLS.items():
        assert re.fullmatch(r"plan_[a-z_]{0,40}", name)
        assert tool["title"]
        assert 0 < len(tool["description"].encode()) < 1024
        schema = tool["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft7Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        for value in schema["properties"].values():
            assert isinstance(value["type"], str)
            assert value["description"]
            limits = {"string": "maxLength", "integer": "maximum", "array": "maxItems", "boolean": "default"}
            assert limits[value["type"]] in value


def test_each_description_says_when_to_use_the_tool_and_what_comes_back() -> None:
    for tool in TOOLS.values():
        assert re.search(r"\bUse it\b", tool["description"])
        assert re.search(r"\bReturns\b", tool["description"])


def test_the_hints_are_true() -> None:
    for name, tool in TOOLS.items():
        hints = tool["annotations"]
        assert hints["readOnlyHint"] is (name in READING)
        assert hints["openWorldHint"] is False
        assert hints.get("destructiveHint", False) is (name in DESTRUCTIVE)
        if name in mcpptool.TOOLS:
            assert (mcpptool.TOOLS[name].writes is False) is (name in READING)


def test_manifest_code_displays_and_readme_are_of_the_same_tools() -> None:
    assert mcpptool.TOOLS.keys() == SHOWN.keys() == TOOLS.keys() - {"plan_readme"}
    assert set(re.findall(r"plan_[a-z]+_[a-z]+|plan_readme", README)) == TOOLS.keys()


def test_what_a_description_says_comes_back_does(ada: Person) -> None:
    calls: dict[str, dict[str, Any]] = {
        "plan_task_new": {"name": "fix", "steps": ["a", "b"]},
        "plan_step_new": {"title": "c"},
        "plan_step_switch": {"number": 2},
        "plan_step_done": {"number": 2},
        "plan_step_notes": {"text": "x", "number": 1},
        "plan_step_delete": {"number": 3},
        "plan_step_show": {"number": 1},
        "plan_task_notes": {"text": "x"},
        "plan_task_switch": {"name": "fix"},
        "plan_user_set": {"alias": "Ada"},
        "plan_project_set": {"name": "x"},
    }
    ada.ask("plan_task_new", name="other")
    calls["plan_task_archive"] = {"name": "other"}
    for tool in [*calls, *sorted(READING - {"plan_readme"} - calls.keys())]:
        result = ada.ask(tool, **calls.get(tool, {}))
        told = TOOLS[tool]["description"].partition("Returns ")[2]
        for name in re.findall(r"`([a-z_]+)`", told):
            assert name in result, (tool, name)
        assert {name for name in result if name != "project_name"} <= set(re.findall(r"[a-z_]+", told)), tool


def test_schema_and_code_agree_on_the_longest_name() -> None:
    names = [
        schema["properties"][name]
        for schema in (tool["inputSchema"] for tool in TOOLS.values())
        for name in ("name", "task", "alias")
        if name in schema["properties"]
    ]
    assert {name["maxLength"] for name in names} == {texts.MAX_NAME}
