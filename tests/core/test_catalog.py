"""Names between modules, and what lists show."""

from __future__ import annotations

import json
from typing import Any

from mcppd.core.builtin import definitions
from mcppd.core.catalog import Catalog, Module, build_catalog, make_offer
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


def module(name: str, *tools: str, **options: Any) -> Module:
    offers = tuple(
        make_offer(tool, {"name": tool, "description": tool, "inputSchema": OBJECT}) for tool in tools
    )
    return Module(name, f"/modules/{name}", offers=offers, **options)


def listed(catalog: Catalog) -> list[str]:
    return [tool.name for tool in catalog.listed]


def test_the_first_module_keeps_the_plain_name() -> None:
    catalog = build_catalog([module("one", "search"), module("two", "search")])
    assert listed(catalog) == ["search", "two__search"]
    for name, owner in (("search", "one"), ("one__search", "one"), ("two__search", "two")):
        tool = catalog.find(name)
        assert tool is not None
        assert tool.module.name == owner


def test_a_shadowed_tool_gets_its_plain_name_back_when_the_other_goes() -> None:
    catalog = build_catalog([module("two", "search")])
    assert listed(catalog) == ["search"]
    tool = catalog.find("two__search")
    assert tool is not None
    assert not tool.is_shadowed


def test_reserved_names_are_listed_in_full() -> None:
    catalog = build_catalog([module("one", "help", "call_tool")])
    assert listed(catalog) == ["one__call_tool", "one__help"]
    assert catalog.find("help") is None


def test_a_plain_name_that_looks_like_a_full_one_shadows_nobody() -> None:
    catalog = build_catalog([module("a", "b__c"), module("b", "x"), module("one", "c"), module("b", "c")])
    assert len(set(listed(catalog))) == 4


def test_a_quarantined_tool_is_not_listed_but_found() -> None:
    bad = make_offer("bad", {"name": "bad"}, fault=Fault("no", "/modules/one/tool.yaml", 3))
    catalog = build_catalog([Module("one", "/modules/one", offers=(bad,))])
    assert listed(catalog) == []
    assert catalog.find("one__bad") is not None


def test_the_fingerprint_changes_with_what_is_shown_and_with_nothing_else() -> None:
    one = build_catalog([module("one", "a", "b")])
    assert one.fingerprint == build_catalog([module("one", "b", "a", scope="global")]).fingerprint
    assert one.fingerprint != build_catalog([module("one", "a")]).fingerprint


def test_lists_are_encoded_once_and_in_order_of_name() -> None:
    catalog = build_catalog([module("one", "b", "z", "a")])
    encoded = catalog.encoded("2025-11-25", definitions("someone", meta_tools=False))
    assert [name for name, _ in encoded] == ["a", "b", "help", "z"]
    assert [json.loads(text)["name"] for _, text in encoded] == ["a", "b", "help", "z"]
    assert catalog.encoded("2025-11-25", definitions("someone", meta_tools=False)) is encoded


def test_clients_that_never_list_again_are_offered_call_tool() -> None:
    for name in ("codex-mcp-client", "Qwen Code"):
        assert [each["name"] for each in definitions(name, meta_tools=False)] == ["help", "call_tool"]
    assert [each["name"] for each in definitions("claude-code", meta_tools=False)] == ["help"]
    assert len(definitions("claude-code", meta_tools=True)) == 2


def test_a_module_is_broken_while_its_last_good_version_answers_and_failed_without_one() -> None:
    fault = Fault("bad", "/f.py", 1)
    assert module("one").state == "ok"
    assert module("one", fault=fault).state == "failed"
    assert module("one", fault=fault).notice is None
    generation = Generation("one", 1, "/modules/one", "/modules/one/mcpptool.py", "", {})
    broken = module("one", fault=fault, generation=generation)
    assert broken.state == "broken"
    assert "/f.py:1" in str(broken.notice)
