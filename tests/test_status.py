"""What the status and the list tell of a catalog."""

from __future__ import annotations

import orjson

from mcppd.core.catalog import Module, build_catalog, make_offer
from mcppd.core.items import make_item
from mcppd.core.strikes import Workforce
from mcppd.status import listing, status_of

ITEMS = (
    make_item("prompts", {"name": "p", "description": "d"}),
    make_item("resources", {"uri": "a:b", "name": "n", "file": "b.md"}),
    make_item("resourceTemplates", {"uriTemplate": "a:{b}", "name": "n"}),
)
TOOL = make_offer("t", {"name": "t", "description": "d", "inputSchema": {"type": "object"}})
CATALOG = build_catalog(
    [Module("one", "/one", offers=(TOOL,), items=ITEMS), Module("two", "/two", items=ITEMS)]
)


def test_the_status_names_what_each_module_has_and_what_is_shadowed() -> None:
    status = status_of(CATALOG, lambda _: Workforce(2, busy=1, waiting=3))
    one, two = status["modules"]
    assert (one["tools"], one["prompts"], one["resources"], one["resourceTemplates"]) == (
        ["t"], ["p"], ["a:b"], ["a:{b}"]
    )  # fmt: skip
    assert (two["tools"], two["prompts"], two["resources"], two["resourceTemplates"]) == (
        [],
        ["two__p"],
        [],
        [],
    )
    assert [
        (each["kind"], each["name"], each["module"], each["listed_as"]) for each in status["shadowed"]
    ] == [
        ("prompts", "p", "two", "two__p"),
        ("resources", "a:b", "two", None),
        ("resourceTemplates", "a:{b}", "two", None),
    ]
    orjson.dumps(status)


def test_the_list_has_every_kind_and_ours_last() -> None:
    found = listing(CATALOG)
    assert [tool["name"] for tool in found["tools"]] == ["t", "help", "call_tool"]
    assert [(each["name"], each["module"]) for each in found["prompts"]] == [("p", "one"), ("two__p", "two")]
    assert found["resources"] == [{"uri": "a:b", "name": "n", "mimeType": "text/markdown", "module": "one"}]
    assert [each["uriTemplate"] for each in found["resourceTemplates"]] == ["a:{b}"]
    orjson.dumps(found)
