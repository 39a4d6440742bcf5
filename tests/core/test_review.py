"""A review says what is wrong at its place, and only what is."""

from __future__ import annotations

import textwrap

import pytest

from mcppd.core.catalog import Module, build_catalog, make_offer
from mcppd.core.documents import Document
from mcppd.core.manifest import parse_manifest
from mcppd.core.registry import parse_registry
from mcppd.core.review import Finding, review_manifest, review_names, review_registry
from mcppd.core.review_tools import steps_of
from mcppd.core.schema_text import path_text
from mcppd.core.yaml import read_yaml

GOOD = "{name: a, description: d, inputSchema: {type: object}}"


def document_of(text: str, file: str = "tool.yaml") -> Document:
    return read_yaml(textwrap.dedent(text).encode(), file)


def review(tools: str, head: str = "name: m") -> list[Finding]:
    document = document_of(f"{head}\ntools:\n{textwrap.dedent(tools)}")
    return list(review_manifest(document, parse_manifest(document)))


def names(*manifests: str) -> list[Finding]:
    """What becomes of the names in modules that are served together."""
    documents = {f"/{at}": document_of(text, f"/{at}") for at, text in enumerate(manifests)}
    modules = []
    for directory, document in documents.items():
        manifest = parse_manifest(document)
        offers = tuple(make_offer(tool.name, tool.definition) for tool in manifest.tools)
        modules.append(Module(manifest.name, directory, offers=offers, items=manifest.items))
    return list(review_names(build_catalog(modules), documents))


def place(finding: Finding) -> tuple[bool, int | None, int | None]:
    return finding.is_error, finding.fault.line, finding.fault.column


def text_at(finding: Finding) -> str:
    """What stands at a finding's place, to the end of the line."""
    fault = finding.fault
    assert fault.source is not None
    assert fault.column is not None
    return fault.source[fault.column - 1 :]


@pytest.mark.parametrize(
    "tool",
    [
        GOOD,
        "{name: a, description: d, inputSchema: {type: object, properties: {b: {type: string}}}}",
        "{name: a, description: d, inputSchema: {type: object}, outputSchema: {type: object}}",
        "{name: a, title: T, description: d, inputSchema: {type: object}, annotations: {readOnlyHint: true}}",
    ],
)
def test_a_good_tool_leaves_nothing_to_say(tool: str) -> None:
    assert review(f"- {tool}") == []
    assert names(f"name: m\ntools: [{tool}]") == []


A = "name: a, description: d"
OBJECT = "inputSchema: {type: object}"


@pytest.mark.parametrize(
    ("tool", "at"),
    [
        (f"{{{A}, inputSchema: {{type: objekt}}}}", "objekt"),
        (f"{{{A}, inputSchema: {{type: array}}}}", "array"),
        (f"{{{A}, inputSchema: {{properties: {{b: {{$ref: 'http://x/y'}}}}}}}}", "'http"),
        (f"{{{A}, inputSchema: {{properties: {{'b c': {{pattern: '('}}}}}}}}", "'('"),
        (f"{{{A}, {OBJECT}, outputSchema: {{type: x}}}}", "x}"),
        ("{name: a, description: 7}", "7"),
        ("{title: nameless}", "{title"),
    ],
)
def test_an_error_in_a_tool_is_told_where_it_is(tool: str, at: str) -> None:
    (found,) = review(f"- {tool}")
    assert found.is_error
    assert text_at(found).startswith(at)


@pytest.mark.parametrize(
    ("tool", "at"),
    [
        (f"{{name: a, {OBJECT}}}", "{name"),
        (f"{{name: a, description: ' ', {OBJECT}}}", "{name"),
        (f"{{name: a, {OBJECT}, description: {'é' * 1024}}}", "description"),
        (f"{{{A}}}", "{name"),
        (f"{{{A}, inputSchema: {{}}}}", "inputSchema"),
        (f"{{{A}, inputSchema: {{type: object, anyOf: [{{}}]}}}}", "[{}]"),
        (f"{{{A}, inputSchema: {{type: object, properties: {{b c: {{}}}}}}}}", "{}}"),
        (f"{{{A}, {OBJECT}, outputSchema: {{type: array}}}}", "outputSchema"),
        (
            f"{{{A}, {OBJECT}, outputSchema: {{type: object, properties: {{b: {{pattern: '(?i)x'}}}}}}}}",
            "{pattern",
        ),
    ],
)
def test_what_clients_refuse_in_a_tool_is_a_warning_where_it_is(tool: str, at: str) -> None:
    (found,) = review(f"- {tool}")
    assert not found.is_error
    assert text_at(found).startswith(at)


def test_a_description_just_below_the_limit_is_not_too_long() -> None:
    assert review(f"- {{name: a, inputSchema: {{type: object}}, description: {'d' * 2047}}}") == []


def test_one_bad_tool_is_reviewed_beside_the_others() -> None:
    found = review(f"- {GOOD}\n- {{name: b, inputSchema: {{type: 5}}, description: d}}\n- {{name: c}}")
    assert [(each.is_error, each.fault.line) for each in found] == [(True, 4), (False, 5), (False, 5)]


def test_what_clients_get_in_a_form_they_take_is_told_apart_from_what_they_refuse_to_the_end() -> None:
    tool = "{name: a, description: d, inputSchema: {type: object, anyOf: [{}], properties: {b c: {}}}"
    mended, left = review(f"- {tool}}}")
    assert ("a form they take" in mended.fault.message, "a form they take" in left.fault.message) == (
        True,
        False,
    )
    as_written = review(f"- {tool}, portable: false}}")
    assert [place(each) for each in as_written] == [place(mended), place(left)]
    assert not any("a form they take" in each.fault.message for each in as_written)


def test_what_the_root_of_arguments_may_not_have_an_output_may() -> None:
    output = "outputSchema: {type: object, oneOf: [{}], properties: {a b: {}}}"
    assert review(f"- {{name: a, description: d, inputSchema: {{type: object}}, {output}}}") == []


def test_manifest_and_yaml_warnings_come_with_the_rest() -> None:
    found = review(f"- {GOOD}", head="name: yes\nabout: 012\nscop: local")
    assert sorted(place(each) for each in found) == [
        (False, 1, 7),
        (False, 2, 8),
        (False, 3, 1),
        (True, 2, 8),
    ]


def test_a_module_name_that_clients_cannot_have_is_told() -> None:
    (found,) = review(f"- {GOOD}", head="name: my module")
    assert place(found) == (False, 1, 7)


@pytest.mark.parametrize(
    ("name", "listed"),
    [
        ("a.b", True),
        ("a" * 41, True),
        ("a" * 40, False),
        ("a" * 65, True),
        ("7up", True),
        ("_a", True),
        ("help", True),
        ("call_tool", True),
        ("a-b_C9", False),
    ],
)
def test_a_name_that_is_listed_otherwise_or_shortened_is_told_at_the_name(name: str, listed: bool) -> None:
    found = names(f"name: m\ntools:\n- description: d\n  name: {name}")
    assert [place(each) for each in found] == ([(False, 4, 9)] if listed else [])


def test_a_shadowed_tool_is_told_where_it_stands_with_both_names() -> None:
    first, second = f"name: one\ntools: [{GOOD}]", f"name: two\ntools:\n- {GOOD}"
    (found,) = names(first, second)
    assert (found.is_error, found.fault.file, found.fault.line) == (False, "/1", 3)
    assert "'one'" in found.fault.message
    assert "two__a" in found.fault.message


def test_prompts_are_named_as_tools_are_but_for_the_names_of_ours() -> None:
    prompts = "".join(f"- {{{{name: {name}, description: d}}}}\n" for name in ("help", "a.b", "{}"))
    text = f"name: {{}}\nprompts:\n{prompts}"
    found = names(text.format("one", "c" * 41), text.format("two", "d"))
    assert sorted((each.fault.file or "", each.fault.line) for each in found) == [
        ("/0", 4), ("/0", 5), ("/1", 3), ("/1", 4)
    ]  # fmt: skip
    assert any("listed as two__help" in each.fault.message for each in found)


@pytest.mark.parametrize("kind", ["resources: [{uri: 'a:b', ", "resourceTemplates: [{uriTemplate: 'a:{b}', "])
def test_a_uri_that_another_module_has_is_told_where_it_stands(kind: str) -> None:
    text = f"{kind}name: n, description: d}}]"
    (found,) = names(f"name: one\n{text}", f"name: two\n{text}")
    assert (found.is_error, found.fault.file, found.fault.line) == (False, "/1", 2)
    assert text_at(found).startswith("'a:")
    assert "'one'" in found.fault.message


@pytest.mark.parametrize(
    ("item", "is_error", "at"),
    [
        ("prompts: [{name: a}]", False, "{name"),
        ("prompts: [{name: a, description: ' '}]", False, "{name"),
        (f"prompts: [{{name: a, description: {'d' * 2048}}}]", False, "description"),
        ("prompts: [{name: a, description: 5}]", True, "5}"),
        ("resources: [{uri: 'a:b', name: n}]", False, "{uri"),
        ("resources: [{uri: 'a b', name: n}]", True, "'a b'"),
        ("resources: [{uri: 'a:b', name: n, description: d, file: ../x}]", True, "../x"),
        ("resources: [{uri: 'a:b', name: n, description: d, path: x}]", False, "path"),
        ("resourceTemplates: [{uriTemplate: 'a:{b}', name: n}]", False, "{uriTemplate"),
        (
            "resourceTemplates: [{uriTemplate: 'a:{b}', name: n, description: d, variables: {c: }}]",
            False,
            "c: ",
        ),
        ("resourceTemplates: [{uriTemplate: 'a:{b', name: n}]", True, "'a:{b'"),
        ("prompts: [{description: d}]", True, "{description"),
        ("prompts: 5", True, "5"),
    ],
)
def test_what_is_wrong_with_an_item_is_told_where_it_is(item: str, is_error: bool, at: str) -> None:
    document = document_of(f"name: m\ntools: []\n{item}\n")
    (found,) = review_manifest(document, parse_manifest(document))
    assert found.is_error is is_error
    assert text_at(found).startswith(at)


def test_instructions_that_are_cut_are_told() -> None:
    document = document_of(f"instructions: {'x' * 4000}\nmodules: []\n", "tools.yaml")
    registry = parse_registry(document, directory="/d", environ={}, home="/h")
    assert [place(each) for each in review_registry(document, registry)] == [(False, 1, 1)]


def test_a_registry_is_reviewed() -> None:
    text = "modules:\n- path: a\n  workers: 0\n- path: b\n  enable: true\nenv: {A: '1', B: yes}\n- "[:-3]
    document = document_of(text, "tools.yaml")
    registry = parse_registry(document, directory="/d", environ={}, home="/h")
    found = [place(each) for each in review_registry(document, registry)]
    assert found == [(True, 3, 12), (False, 5, 3), (False, 6, 18)]


@pytest.mark.parametrize(
    "path", [(), ("a",), ("a", 0, "b c"), ('q"\\u', "$ref", 12), ("properties", "x-y", "items", 3)]
)
def test_the_path_of_a_sentence_about_a_schema_is_read_back(path: tuple[str | int, ...]) -> None:
    assert steps_of(f"{path_text(path)}: it is. [0] wrong") == path


def test_a_path_that_was_cut_leads_as_far_as_it_can_be_read() -> None:
    assert steps_of(f"{path_text(('a' * 20,) * 20)}: wrong")[:2] == ("a" * 20, "a" * 20)
