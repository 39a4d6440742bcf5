"""What a module lists at run time: the good entries are kept, the others told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcppd.serving import live_entries
from mcppd.serving.live_entries import read_entries

GOOD = {"uri": "note://a", "name": "a"}


def read(value: Any) -> tuple[list[dict[str, Any]], str | None]:
    return read_entries(json.dumps(value).encode())


def test_good_entries_are_as_the_module_gave_them() -> None:
    whole = {**GOOD, "title": "A", "size": 3, "annotations": {"priority": 0.5}, "ours": [1]}
    assert read([GOOD, whole]) == ([GOOD, whole], None)
    assert read([]) == ([], None)


def test_an_entry_without_a_name_is_called_by_its_uri() -> None:
    assert read([{"uri": "note://a"}, {"uri": "note://b", "name": None}]) == (
        [{"uri": "note://a", "name": "note://a"}, {"uri": "note://b", "name": "note://b"}],
        None,
    )


def test_members_without_a_value_are_left_out() -> None:
    assert read([{**GOOD, "title": None}]) == ([GOOD], None)


@pytest.mark.parametrize(
    "bad",
    [
        "note://a",
        None,
        7,
        {},
        {"name": "a"},
        {"uri": 7, "name": "a"},
        {"uri": "no uri", "name": "a"},
        {"uri": "", "name": "a"},
        {**GOOD, "mimeType": 7},
        {**GOOD, "size": -1},
        {**GOOD, "size": 10**30},
        {**GOOD, "annotations": {"priority": 7}},
        {**GOOD, "icons": [{"mimeType": "image/png"}]},
        {**GOOD, "_meta": 1},
    ],
    ids=json.dumps,
)
def test_a_bad_entry_is_left_out_alone_and_told_by_its_place(bad: Any) -> None:
    good, fault = read([GOOD, bad, {"uri": "note://b", "name": "b"}])
    assert [each["uri"] for each in good] == ["note://a", "note://b"]
    assert fault is not None
    assert "[1]" in fault


@pytest.mark.parametrize("value", [None, {}, "x", 7, True])
def test_what_is_no_list_is_told(value: Any) -> None:
    good, fault = read(value)
    assert good == []
    assert fault is not None


def test_of_many_bad_entries_a_few_are_told_and_counted() -> None:
    _, fault = read([None] * 20)
    assert fault is not None
    assert "[2]" in fault
    assert "[3]" not in fault
    assert "17 more" in fault


def test_more_than_the_limit_are_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_entries, "LISTED_LIMIT", 2)
    good, fault = read([{"uri": f"note://{number}", "name": "n"} for number in range(3)])
    assert len(good) == 2
    assert fault is not None
