"""What a reload came to, module by module: what came, went and changed, in a line that stays short."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.core.catalog import Module, build_catalog, make_offer
from mcppd.core.errors import UnknownModuleError
from mcppd.core.generation import Generation
from mcppd.core.items import make_item
from mcppd.core.report_words import SHORT
from mcppd.core.reports import MARKS_SHOWN, MODULES_SHOWN, ModuleChange, Report
from mcppd.reloading.reports import compare, joined, only


def module(number: int, *keys: str, title: str = "") -> Module:
    """A module with a tool or an item for each key."""
    generation = Generation("m", number, "/m", "/m/mcpptool.py", "", {})
    offers, items = [], []
    for key in keys:
        known: dict[str, Any] = {"name": key, "title": title}
        if key.startswith("prompt "):
            items.append(make_item("prompts", {**known, "name": key.removeprefix("prompt ")}))
        elif "{" in key:
            items.append(make_item("resourceTemplates", {**known, "uriTemplate": key}))
        elif ":" in key:
            items.append(make_item("resources", {**known, "uri": key}))
        else:
            offers.append(make_offer(key, {**known, "inputSchema": {"type": "object"}}))
    return Module("m", "/m", generation=generation, offers=tuple(offers), items=tuple(items))


def test_prompts_and_resources_that_came_went_or_changed_are_named_after_the_tools() -> None:
    old = build_catalog([module(1, "gone", "prompt gone", "a:gone", "a:{gone}", "same", "prompt same")])
    new = build_catalog([module(2, "new", "prompt new", "a:new", "a:{new}", "same", "prompt same")])
    (change,) = compare(old, new)
    assert change.added == ("new", "prompt:new", "a:new", "a:{new}")
    assert change.removed == ("gone", "prompt:gone", "a:gone", "a:{gone}")
    assert change.changed == ()
    assert str(change) == ("m 1→2 +new +prompt:new +a:new +a:{new} -gone -prompt:gone -a:gone -a:{gone}")


def test_what_looks_otherwise_has_changed() -> None:
    keys = ("t", "prompt p", "a:r", "a:{r}")
    (change,) = compare(build_catalog([module(1, *keys)]), build_catalog([module(2, *keys, title="other")]))
    assert (change.added, change.removed) == ((), ())
    assert change.changed == ("t", "prompt:p", "a:r", "a:{r}")
    assert change.fields == dict.fromkeys(change.changed, ("title",))
    assert change.marks == ["~t (title)", "~prompt:p (title)", "~a:r (title)", "~a:{r} (title)"]


def test_nothing_that_changed_is_no_change() -> None:
    assert compare(build_catalog([module(1, "t", "a:r")]), build_catalog([module(1, "t", "a:r")])) == ()


def test_a_line_stays_short_and_the_json_is_whole() -> None:
    names = tuple(f"tool{number:03}" for number in range(100))
    change = ModuleChange("m", 1, 2, added=names, removed=("x" * 100,))
    assert change.marks[: MARKS_SHOWN + 1] == [
        *(f"+{name}" for name in names[:MARKS_SHOWN]),
        f"+{100 - MARKS_SHOWN} more",
    ]
    assert len(change.marks[-1]) == SHORT + 1
    assert change.marks[-1].startswith("-xx")
    assert change.added == names


def test_one_more_than_fits_is_named_itself() -> None:
    names = tuple(f"t{number}" for number in range(MARKS_SHOWN + 1))
    assert ModuleChange("m", 1, 2, changed=names).marks == [f"~{name}" for name in names]


def test_fields_are_named_as_far_as_there_is_room_and_the_json_has_them_all() -> None:
    fields = tuple(f"inputSchema.properties.p{number}" for number in range(9))
    change = ModuleChange("m", 1, 2, changed=("t", "u"), fields={"t": fields, "u": fields[:4]})
    assert change.marks[0] == f"~t ({', '.join(fields[:3])}, 6 more)"
    assert change.marks[1] == f"~u ({', '.join(fields[:4])})"
    assert change.as_json()["fields"]["t"] == list(fields)


def test_several_reloads_are_told_as_one() -> None:
    changes = (ModuleChange("m", 1, 3),)
    first = Report("12:00:00", 0.5, (ModuleChange("m", 1, 2),), True, 3, {"read": 0.2, "published": 0.3})
    second = Report("12:00:01", 0.25, (ModuleChange("m", 2, 3),), False, 0, {"waited": 0.05, "read": 0.2})
    whole = joined([first, second], changes)
    assert (whole.at, whole.seconds, whole.modules) == ("12:00:01", 0.75, changes)
    assert (whole.list_changed, whole.notified) == (True, 3)
    assert whole.stages == pytest.approx({"read": 0.4, "published": 0.3, "waited": 0.05})


def test_a_report_of_one_module_knows_the_names_near_to_one_that_is_not_there() -> None:
    old, new = build_catalog([module(1, "t")]), build_catalog([module(2, "t")])
    report = Report("", 0.0, compare(old, new), list_changed=False)
    assert only(report, "m", old, new) == report
    assert only(report, "m", old, build_catalog([])) == report  # it was there
    with pytest.raises(UnknownModuleError, match="did you mean m"):
        only(report, "M", old, new)


def test_a_line_has_a_few_modules_and_each_that_is_broken() -> None:
    changes = [ModuleChange(f"m{number}", 1, 2) for number in range(MODULES_SHOWN + 3)]
    broken = ModuleChange("last", 1, 1, fault="it is broken")
    line = str(Report("12:00:00", 0.1, (*changes, broken), list_changed=False))
    assert line == "; ".join(
        [
            *(f"m{number} 1→2" for number in range(MODULES_SHOWN)),
            "last BROKEN it is broken",
            "3 modules more (100 ms)",
        ]
    )
    whole = str(Report("12:00:00", 0.1, tuple(changes[: MODULES_SHOWN + 1]), list_changed=False))
    assert whole.count("→") == MODULES_SHOWN + 1  # "1 modules more" would be as long
