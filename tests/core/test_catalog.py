"""Names between modules, and what lists show."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from mcppd.core.builtin import definitions
from mcppd.core.catalog import Catalog, Module, build_catalog, make_offer
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.items import ITEM_KINDS, Item, make_item
from mcppd.core.kinds import KINDS

OBJECT: dict[str, Any] = {"type": "object", "properties": {}}
PROMPT = make_item("prompts", {"name": "review"})
RESOURCE = make_item("resources", {"uri": "notes://all", "name": "all"})
TEMPLATE = make_item("resourceTemplates", {"uriTemplate": "notes://{id}", "name": "one"})
BAD = Fault("no", "/modules/one/tool.yaml", 3)


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
    assert one.fingerprints == build_catalog([module("one", "b", "a", scope="global")]).fingerprints
    assert one.fingerprints["tools"] != build_catalog([module("one", "a")]).fingerprints["tools"]


def test_each_kind_has_a_fingerprint_of_its_own() -> None:
    nothing = build_catalog([module("one", "a")]).fingerprints
    for item in (PROMPT, RESOURCE, TEMPLATE):
        with_item = build_catalog([module("one", "a", items=(item,))]).fingerprints
        assert [kind for kind in KINDS if with_item[kind] != nothing[kind]] == [item.kind]
        other = make_item(item.kind, {**item.definition, "title": "another"})
        changed = build_catalog([module("one", "a", items=(other,))]).fingerprints
        assert [kind for kind in KINDS if changed[kind] != with_item[kind]] == [item.kind]


def test_lists_are_encoded_once_and_in_order_of_name() -> None:
    catalog = build_catalog([module("one", "b", "z", "a")])
    encoded = catalog.encoded("tools", "2025-11-25", definitions("someone", meta_tools=False))
    assert [name for name, _ in encoded] == ["a", "b", "help", "z"]
    assert [json.loads(text)["name"] for _, text in encoded] == ["a", "b", "help", "z"]
    assert catalog.encoded("tools", "2025-11-25", definitions("someone", meta_tools=False)) is encoded


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


def prompts(*names: str) -> dict[str, Any]:
    return {"items": tuple(make_item("prompts", {"name": name}) for name in names)}


class TestPrompts:
    def test_the_first_module_keeps_the_plain_name(self) -> None:
        catalog = build_catalog([module("one", **prompts("review")), module("two", **prompts("review"))])
        assert [prompt.name for prompt in catalog.prompts] == ["review", "two__review"]
        for name, owner in (("review", "one"), ("one__review", "one"), ("two__review", "two")):
            prompt = catalog.find_prompt(name)
            assert prompt is not None
            assert (prompt.module.name, prompt.own_name) == (owner, "review")
        assert [prompt.is_shadowed for prompt in catalog.prompts] == [False, True]

    def test_a_tool_of_the_same_name_is_nothing_to_a_prompt(self) -> None:
        catalog = build_catalog([module("one", "review", **prompts("review", "help"))])
        assert [prompt.name for prompt in catalog.prompts] == ["help", "review"]
        assert listed(catalog) == ["review"]

    @pytest.mark.parametrize("name", ["a.b/c", "a::b", "x" * 100, "ä b"])
    def test_a_name_that_no_client_takes_gets_a_short_alias_and_answers_to_both(self, name: str) -> None:
        (prompt,) = build_catalog([module("one", **prompts(name))]).prompts
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,48}", prompt.name)
        assert prompt.advertised["name"] == prompt.name
        catalog = build_catalog([module("one", **prompts(name))])
        for known in (prompt.name, prompt.full_name, name):
            found = catalog.find_prompt(known)
            assert found is not None
            assert found.own_name == name

    def test_a_quarantined_one_is_not_listed_but_found(self) -> None:
        bad = make_item("prompts", {"name": "bad", "title": 5}, fault=BAD)
        catalog = build_catalog([module("one", items=(bad,)), module("two", **prompts("bad"))])
        assert [(prompt.name, prompt.module.name) for prompt in catalog.prompts] == [("bad", "two")]
        found = catalog.find_prompt("one__bad")
        assert found is not None
        assert found.item.fault is BAD

    def test_a_missing_required_argument_is_named(self) -> None:
        arguments = [{"name": "a", "required": True}, {"name": "b"}, {"name": "c", "required": True}]
        item = make_item("prompts", {"name": "p", "arguments": arguments})
        (prompt,) = build_catalog([module("one", items=(item,))]).prompts
        assert prompt.missing({"a": "x"}) == ["c"]
        assert prompt.missing({"a": "", "c": "", "d": ""}) == []

    def test_near_names_are_those_of_prompts(self) -> None:
        catalog = build_catalog([module("one", "reviews", **prompts("review"))])
        assert catalog.nearest_prompts("revue") == ["review"]


def resource(uri: str, **more: Any) -> Item:
    return make_item("resources", {"uri": uri, "name": uri, **more})


def template(text: str, **more: Any) -> Item:
    return make_item("resourceTemplates", {"uriTemplate": text, "name": text, **more})


def owner_of(catalog: Catalog, uri: str) -> tuple[str, str, dict[str, str]] | None:
    found = catalog.find_resource(uri)
    return None if found is None else (found[0].key, found[0].module.name, found[1])


class TestResources:
    def test_a_uri_belongs_to_the_first_module_and_the_other_is_shadowed(self) -> None:
        one = module("one", items=(resource("a://x", title="first"),))
        two = module("two", items=(resource("a://x", title="second"), resource("a://y")))
        catalog = build_catalog([one, two])
        assert [each.key for each in catalog.resources] == ["a://x", "a://y"]
        assert owner_of(catalog, "a://x") == ("a://x", "one", {})
        assert [(each.key, each.module.name) for each in catalog.shadowed] == [("a://x", "two")]
        assert catalog.owner_of(catalog.shadowed[0]) is catalog.resources[0]
        assert owner_of(build_catalog([two]), "a://x") == ("a://x", "two", {})

    def test_a_resource_goes_before_a_template_and_templates_in_registry_order(self) -> None:
        one = module("one", items=(template("a://{id}"), template("a://{+path}")))
        two = module("two", items=(resource("a://x"), template("b://{id}")))
        catalog = build_catalog([one, two])
        assert owner_of(catalog, "a://x") == ("a://x", "two", {})
        assert owner_of(catalog, "a://y%20z") == ("a://{id}", "one", {"id": "y z"})
        assert owner_of(catalog, "a://y/z") == ("a://{+path}", "one", {"path": "y/z"})
        assert owner_of(catalog, "b://1") == ("b://{id}", "two", {"id": "1"})
        assert owner_of(catalog, "c://1") is None
        assert [each.key for each in catalog.templates] == ["a://{+path}", "a://{id}", "b://{id}"]

    def test_a_quarantined_one_is_found_where_nothing_else_is(self) -> None:
        bad = make_item("resources", {"uri": "a://x", "name": 5}, fault=BAD)
        alone = build_catalog([module("one", items=(bad,))])
        assert alone.resources == ()
        found = alone.find_resource("a://x")
        assert found is not None
        assert found[0].item.fault is BAD
        with_template = build_catalog([module("one", items=(bad, template("a://{id}")))])
        assert owner_of(with_template, "a://x") == ("a://{id}", "one", {"id": "x"})
        with_good = build_catalog([module("one", items=(bad,)), module("two", items=(resource("a://x"),))])
        assert owner_of(with_good, "a://x") == ("a://x", "two", {})
        assert with_good.shadowed == ()

    def test_a_quarantined_template_matches_nothing(self) -> None:
        bad = make_item("resourceTemplates", {"uriTemplate": "a://{id", "name": "n"}, fault=BAD)
        catalog = build_catalog([module("one", items=(bad,))])
        assert catalog.templates == ()
        assert catalog.find_resource("a://x") is None

    def test_a_template_is_found_by_its_text(self) -> None:
        catalog = build_catalog([module("one", items=(TEMPLATE,))])
        assert catalog.find_template("notes://{id}") is catalog.templates[0]
        assert catalog.find_template("notes://1") is None


def test_what_no_client_knows_of_an_item_is_passed_on_and_what_is_ours_is_not() -> None:
    shown = {
        "name": "n",
        "_meta": {"a": [None, 1]},
        "annotations": {"priority": 1, "x": 1},
        "x-own": {"b": 2},
    }
    items = (
        make_item("prompts", {**shown, "arguments": [{"name": "a", "enum": ["b"], "x": 1}], "file": "f"}),
        make_item("resources", {**shown, "uri": "a://b", "file": "f.md", "mimeType": "x/y"}),
        make_item("resourceTemplates", {**shown, "uriTemplate": "a://{b}", "variables": {"b": {"enum": []}}}),
    )
    catalog = build_catalog([module("one", items=items)])
    ours = {
        "prompts": {**shown, "arguments": [{"name": "a", "x": 1}]},
        "resources": {**shown, "uri": "a://b", "mimeType": "x/y"},
        "resourceTemplates": {**shown, "uriTemplate": "a://{b}"},
    }
    for kind in ITEM_KINDS:
        ((_, text),) = catalog.encoded(kind, "2026-07-28")
        assert json.loads(text) == ours[kind]
        assert catalog.encoded(kind, "2026-07-28") is catalog.encoded(kind, "2026-07-28")
