"""Prompts, resources and templates of a manifest: one bad one never takes the others with it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcppd.core.items import Item, needs
from mcppd.core.kinds import Kind
from mcppd.core.manifest import Manifest, parse_manifest
from mcppd.core.manifest_items import MAX_ENUM, uri_fault
from mcppd.core.yaml import read_yaml

HEADS: dict[Kind, str] = {
    "prompts": "name: bad",
    "resources": "uri: bad://x\n  name: n",
    "resourceTemplates": "uriTemplate: bad://{id}/{+path}\n  name: n",
}
GOOD: dict[Kind, str] = {
    "prompts": "- {name: good, description: d}",
    "resources": "- {uri: 'good://x', name: n, description: d}",
    "resourceTemplates": "- {uriTemplate: 'good://{x}', name: n, description: d}",
}


def parse(text: str) -> Manifest:
    return parse_manifest(read_yaml(text.encode(), "/m/tool.yaml"))


def item_of(kind: Kind, body: str) -> Item:
    """The item of a manifest that has another, good one, and a good tool, which must be there whatever the body is."""
    manifest = parse(f"name: m\ntools: [{{name: t}}]\n{kind}:\n- {HEADS[kind]}\n  {body}\n{GOOD[kind]}\n")
    first, last = manifest.items
    assert (last.kind, last.key.partition(":")[0], last.fault) == (kind, "good", None)
    assert [tool.fault for tool in manifest.tools] == [None]
    assert (first.kind, manifest.faults) == (kind, ())
    return first


def test_every_kind_is_read_in_the_order_of_the_file() -> None:
    manifest = parse("""\
name: m
resourceTemplates: [{uriTemplate: "a://{x}/{+y}", name: T, variables: {x: {enum: [b, c]}, y: {}}, mimeType: x/y}]
resources: [{uri: "z://", name: Z, size: 0}, {uri: "a://", name: A, file: docs/./a.md, annotations: {priority: 1}}]
prompts:
- name: p
  title: P
  arguments: [{name: a, required: true, enum: [x, y]}, {name: b, title: B, description: d}]
  icons: [{src: "data:"}]
""")
    assert (manifest.tools, manifest.faults, manifest.warnings) == ((), (), ())
    assert [(item.kind, item.key, item.file) for item in manifest.items] == [
        ("prompts", "p", None),
        ("resources", "z://", None),
        ("resources", "a://", "docs/a.md"),
        ("resourceTemplates", "a://{x}/{+y}", None),
    ]
    prompt, _, static, template = manifest.items
    assert prompt.enums == {"a": ("x", "y")}
    assert template.enums == {"x": ("b", "c")}
    assert prompt.shown["arguments"] == [
        {"name": "a", "required": True}, {"name": "b", "title": "B", "description": "d"}
    ]  # fmt: skip
    assert static.shown == {
        "uri": "a://", "name": "A", "annotations": {"priority": 1}, "mimeType": "text/markdown"
    }  # fmt: skip
    assert template.shown == {"uriTemplate": "a://{x}/{+y}", "name": "T", "mimeType": "x/y"}


@pytest.mark.parametrize(
    ("file", "mime"),
    [("a.json", "application/json"), ("a.png", "image/png"), ("b/c.TXT", "text/plain"), ("LICENSE", None)],
)
def test_the_media_type_of_a_file_is_known_by_its_name(file: str, mime: str | None) -> None:
    assert item_of("resources", f"file: {file}").shown.get("mimeType") == mime
    assert item_of("resources", f"file: {file}\n  mimeType: own/type").shown["mimeType"] == "own/type"


@pytest.mark.parametrize(
    ("kind", "body", "told"),
    [
        ("prompts", "title: 5", "title"),
        ("prompts", "description: [a]", "description"),
        ("prompts", "icons: [{mimeType: image/png}]", "icons[0]"),
        ("prompts", "_meta: []", "_meta"),
        ("prompts", "arguments: {a: b}", "arguments"),
        ("prompts", "arguments: [a]", "arguments[0]"),
        ("prompts", "arguments: [{description: x}]", "arguments[0]"),
        ("prompts", "arguments: [{name: a}, {name: a}]", "arguments[1].name"),
        ("prompts", "arguments: [{name: ''}]", "arguments[0].name"),
        ("prompts", "arguments: [{name: a, required: 1}]", "arguments[0].required"),
        ("prompts", "arguments: [{name: a, enum: [b, 5]}]", "arguments[0].enum[1]"),
        ("prompts", f"arguments: [{{name: a, enum: [{'x, ' * (MAX_ENUM + 1)}]}}]", "arguments[0].enum"),
        ("prompts", "x: .nan", "x"),
        ("resources", "size: -1", "size"),
        ("resources", "size: true", "size"),
        ("resources", "size: 1.5", "size"),
        ("resources", "mimeType: 5", "mimeType"),
        ("resources", "annotations: {audience: user}", "annotations.audience"),
        ("resources", "annotations: {audience: [me]}", "annotations.audience[0]"),
        ("resources", "annotations: {priority: 1.1}", "annotations.priority"),
        ("resources", "annotations: {priority: true}", "annotations.priority"),
        ("resources", "annotations: {lastModified: 5}", "annotations.lastModified"),
        ("resources", "file: /etc/passwd", "file"),
        ("resources", "file: ../other/x", "file"),
        ("resources", "file: a/../../x", "file"),
        ("resources", "file: .", "file"),
        ("resources", "file: ''", "file"),
        ("resources", "file: docs/", "file"),
        ("resources", 'file: "a\\0b"', "file"),
        ("resources", f"file: {'a/' * 512}b", "file"),
        ("resourceTemplates", "variables: [id]", "variables"),
        ("resourceTemplates", "variables: {id: [a]}", "variables.id"),
        ("resourceTemplates", "variables: {id: {enum: a}}", "variables.id.enum"),
        ("resourceTemplates", "variables: {id: {enum: [5]}}", "variables.id.enum[0]"),
    ],
)
def test_a_bad_one_is_quarantined_at_its_place_and_the_others_stay(kind: Kind, body: str, told: str) -> None:
    fault = item_of(kind, body).fault
    assert fault is not None
    line = 5 if kind == "prompts" else 6
    assert (fault.file, fault.line) == ("/m/tool.yaml", line)
    assert fault.column is not None
    assert fault.column > 3
    assert f"`{told}`" in fault.message
    assert "bad" in fault.message


@pytest.mark.parametrize(
    ("kind", "entry", "column"),
    [
        ("resources", "{uri: 'nocolon', name: n}", 9),
        ("resources", "{uri: 'a b:c', name: n}", 9),
        ("resources", "{uri: 'a:', name: n}", 9),
        ("resources", "{uri: 'a:b c', name: n}", 9),
        ("resources", "{uri: '5:b', name: n}", 9),
        ("resources", "{uri: 'http:///x', name: n}", 9),
        ("resources", "{uri: 'https:x', name: n}", 9),
        ("resources", "{uri: 'a:b'}", 3),
        ("resourceTemplates", "{uriTemplate: 'a:{b', name: n}", 17),
        ("resourceTemplates", "{uriTemplate: 'a:b', name: n}", 17),
        ("resourceTemplates", "{uriTemplate: 'a:{b,c}', name: n}", 17),
        ("resourceTemplates", "{uriTemplate: 'a:{b}', title: n}", 3),
    ],
)
def test_a_bad_uri_is_told_where_it_stands(kind: Kind, entry: str, column: int) -> None:
    (item,) = parse(f"name: m\n{kind}:\n- {entry}\n").items
    assert item.fault is not None
    assert (item.fault.line, item.fault.column) == (3, column)


@pytest.mark.parametrize(
    "uri", ["a:b", "file:///x", "test://static-text", "urn:x:y", "http://host", "A+b.-1:ä"]
)
def test_a_good_uri_is_taken(uri: str) -> None:
    (item,) = parse(f"name: m\nresources: [{{uri: '{uri}', name: n}}]").items
    assert (item.key, item.fault) == (uri, None)


@pytest.mark.parametrize(
    ("uri", "hint"),
    [
        ("my notes", "notes://my-notes"),
        ("a://b c/ä", "a://b%20c/%C3%A4"),
        ("!", "notes://all"),
        ("a:", "notes://a"),
    ],
)
def test_what_may_be_meant_by_a_bad_uri_is_said_and_would_be_taken(uri: str, hint: str) -> None:
    told = uri_fault(uri)
    assert told is not None
    assert told.endswith(hint)
    assert uri_fault(hint) is None


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("entry", ["x", "", "5", "[a]", "{}", "{title: a}"])
def test_one_that_nobody_could_ask_for_is_a_fault_of_the_manifest(kind: Kind, entry: str) -> None:
    manifest = parse(f"name: m\n{kind}:\n- {entry}\n{GOOD[kind]}\n")
    assert [item.fault for item in manifest.items] == [None]
    assert [fault.line for fault in manifest.faults] == [3]


@pytest.mark.parametrize("value", ["''", "' '", "5", "[a]", "true", ""])
@pytest.mark.parametrize(("kind", "key"), [("prompts", "name"), ("resources", "uri")])
def test_a_key_that_is_none_is_a_fault_of_the_manifest(kind: Kind, key: str, value: str) -> None:
    manifest = parse(f"name: m\n{kind}:\n- {{{key}: {value}, title: t}}\n{GOOD[kind]}\n")
    assert [item.fault for item in manifest.items] == [None]
    assert [fault.line for fault in manifest.faults] == [3]


@pytest.mark.parametrize("kind", HEADS)
def test_a_key_that_is_there_twice_belongs_to_the_first(kind: Kind) -> None:
    body = f"- {HEADS[kind]}\n  title: first\n- {HEADS[kind]}\n  title: second\n{GOOD[kind]}\n"
    manifest = parse(f"name: m\n{kind}:\n{body}")
    assert [item.definition.get("title") for item in manifest.items] == ["first", None]
    assert len(manifest.faults) == 1
    assert "in line 3 already" in manifest.faults[0].message


@pytest.mark.parametrize("value", ["x", "{a: b}", "5", "true"])
@pytest.mark.parametrize("kind", HEADS)
def test_a_kind_that_is_no_list_is_a_fault_and_the_rest_is_served(kind: Kind, value: str) -> None:
    manifest = parse(f"name: m\ntools: [{{name: t}}]\n{kind}: {value}\n")
    assert [tool.name for tool in manifest.tools] == ["t"]
    assert manifest.items == ()
    assert [(fault.line, fault.column) for fault in manifest.faults] == [(3, len(kind) + 3)]


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("prompts", "inputSchema: {}"),
        ("prompts", "parameters: []"),
        ("resources", "mime_type: x/y"),
        ("resources", "path: x"),
        ("resources", "variables: {}"),
        ("resourceTemplates", "mimetype: x/y"),
        ("resourceTemplates", "file: x"),
        ("resourceTemplates", "arguments: []"),
        ("resourceTemplates", "variables: {other: {}}"),
    ],
)
def test_what_was_meant_for_something_else_is_a_warning_with_its_line(kind: Kind, body: str) -> None:
    (warning,) = parse(f"name: m\n{kind}:\n- {HEADS[kind]}\n  {body}\n").warnings
    assert warning.line == (4 if kind == "prompts" else 5)


def test_what_mcpptool_must_have_follows_from_what_is_offered() -> None:
    head = "name: m\n"
    prompt, static = "prompts: [{name: p}]\n", "resources: [{uri: 'a:b', name: n, file: f}]\n"
    template, dynamic = (
        "resourceTemplates: [{uriTemplate: 'a:{b}', name: n}]\n",
        "resources: [{uri: 'a:b', name: n}]\n",
    )
    bad = "prompts: [{name: p, title: 5}]\n"
    for text, wanted in [
        (static, ()),
        (bad, ()),
        (prompt, ("get_prompt",)),
        (dynamic, ("read_resource",)),
        (static + template, ("read_resource",)),
        ("tools: [{name: t}]\n" + prompt + dynamic + template, ("execute", "get_prompt", "read_resource")),
    ]:
        manifest = parse(head + text)
        assert needs(manifest.tools, manifest.items) == wanted


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
MEMBERS = [
    *("name", "uri", "uriTemplate", "title", "description", "arguments", "mimeType", "size", "annotations"),
    *("icons", "_meta", "file", "variables", "x"),
]
items = st.dictionaries(st.sampled_from(MEMBERS), values) | values


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(items, max_size=4), st.sampled_from([*HEADS]))
def test_whatever_stands_in_a_list_the_good_one_is_served(found: list[Any], kind: Kind) -> None:
    good = read_yaml(GOOD[kind].encode(), "f").value[0]
    manifest = parse_manifest(read_yaml(orjson.dumps({"name": "m", kind: [*found, good]}), "/m/tool.yaml"))
    whole = [item for item in manifest.items if item.fault is None]
    assert good in [item.definition for item in whole]
    assert len(manifest.items) + len(manifest.faults) == len(found) + 1
    orjson.dumps([item.shown for item in whole])
