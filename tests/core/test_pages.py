"""Pages and their cursors."""

from __future__ import annotations

import json

import pytest

from mcppd.core.errors import ProtocolError
from mcppd.core.pages import page_of

ITEMS = [(f"tool{number:02}", json.dumps({"name": f"tool{number:02}"}).encode()) for number in range(20)]


def test_everything_is_one_page_by_default() -> None:
    page = page_of("tools", ITEMS, None)
    assert len(json.loads(page.items)) == 20
    assert page.next_cursor is None


def test_pages_of_a_limit_hold_everything_once() -> None:
    seen, cursor = [], None
    while True:
        page = page_of("tools", ITEMS, cursor, 100)
        seen += [tool["name"] for tool in json.loads(page.items)]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == [name for name, _ in ITEMS]


def test_an_item_larger_than_a_page_is_a_page_of_its_own() -> None:
    page = page_of("tools", ITEMS, None, 1)
    assert len(json.loads(page.items)) == 1
    assert page.next_cursor is not None


def test_a_cursor_holds_over_a_reload() -> None:
    cursor = page_of("tools", ITEMS, None, 100).next_cursor
    after = page_of("tools", ITEMS[10:], cursor)
    assert json.loads(after.items)[0]["name"] == "tool10"


def test_an_empty_list_is_an_empty_page() -> None:
    assert page_of("tools", [], None).items == b"[]"


@pytest.mark.parametrize("cursor", ["nonsense", "Zm9v", "\udc80", "====", "ä"], ids=ascii)
def test_a_cursor_of_nobody_is_refused(cursor: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        page_of("tools", ITEMS, cursor)
    assert caught.value.code == -32602
