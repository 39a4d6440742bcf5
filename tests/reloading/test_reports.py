"""What a reload came to, module by module: what came, went and changed, in a line that stays short."""

from __future__ import annotations

from typing import Any

from mcppd.core.catalog import Module, build_catalog, make_offer
from mcppd.core.generation import Generation
from mcppd.core.items import make_item
from mcppd.core.reports import MARKS_SHOWN, SHORT, ModuleChange
from mcppd.reloading.reports import compare


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
    assert change.marks == ["~t", "~prompt:p", "~a:r", "~a:{r}"]


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
