"""The manifest: one bad tool never takes the others with it."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.limits import Limits, ToolLimits
from mcppd.core.manifest import Manifest, ToolDefinition, parse_manifest
from mcppd.core.yaml import read_yaml

HEAD = "name: demo\ntools:\n"
GOOD = "- {name: good, description: fine, inputSchema: {type: object}}\n"


def parse(text: str) -> Manifest:
    return parse_manifest(read_yaml(text.encode(), "tool.yaml"))


def fault_of(text: str) -> Fault:
    with pytest.raises(FaultError) as caught:
        parse(text)
    return caught.value.fault


def tool_of(body: str) -> ToolDefinition:
    """The tool of a manifest that has another, good one, which must be there whatever the body is."""
    manifest = parse(HEAD + body + "\n" + GOOD)
    assert manifest.tools[-1].name == "good"
    assert manifest.tools[-1].fault is None
    return manifest.tools[0]


def test_a_whole_manifest_is_read() -> None:
    manifest = parse(
        "name: demo\nscope: global\nabout: what it does\ntimeout: 2.5\ntools:\n"
        "- name: a\n  title: A\n  timeout: 5\n  output: 1M\n"
        "  description: d\n  inputSchema: {type: object}\n  x-unknown: [1]\n"
        "- name: b\n  portable: false\n  _meta: {x: null}\n"
        "prompts: [{name: p}]\nresources: []\nresourceTemplates:\n"
    )
    assert (manifest.name, manifest.scope, manifest.about, manifest.limits.timeout) == (
        "demo",
        "global",
        "what it does",
        2.5,
    )
    first, second = manifest.tools
    schema = {"type": "object"}
    assert first.definition == {
        "name": "a", "title": "A", "description": "d", "inputSchema": schema, "x-unknown": [1]
    }  # fmt: skip
    assert second.definition == {"name": "b", "_meta": {"x": None}}
    assert [(tool.name, tool.portable, tool.file, tool.line) for tool in manifest.tools] == [
        ("a", True, "tool.yaml", 6),
        ("b", False, "tool.yaml", 13),
    ]
    assert [tool.limits for tool in manifest.tools] == [ToolLimits(5.0, 2**20), ToolLimits()]
    assert [(item.kind, item.key) for item in manifest.items] == [("prompts", "p")]
    assert (manifest.faults, manifest.warnings) == ((), ())


def test_the_least_manifest_has_the_defaults() -> None:
    manifest = parse("name: x\ntools: []\nscope:\nabout: ~\ntimeout: null\n")
    assert manifest == Manifest("x", "local", None, (), Limits(), (), (), ())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("[]", 1),
        ("x", 1),
        ("tools: []", 1),
        ("a: 1\nname:\ntools: []", 2),
        ("tools: []\nname: ''", 2),
        ("tools: []\nname: ' '", 2),
        ("tools: []\nname: 12", 2),
        ("tools: []\nname: [a]", 2),
        ("name: x", 1),
        ("name: x\ntools:", 2),
        ("name: x\ntools: {a: 1}", 2),
        ("name: x\ntools: a", 2),
        ("name: [", 1),
    ],
)
def test_a_manifest_that_serves_nothing_is_refused_where_it_is_wrong(text: str, line: int) -> None:
    fault = fault_of(text)
    assert (fault.file, fault.line) == ("tool.yaml", line)


def test_an_unknown_key_is_a_warning_that_names_the_nearest() -> None:
    manifest = parse("name: x\ntools: []\ntimeot: 5\nzzz: 1\n")
    near, far = manifest.warnings
    assert (near.line, far.line) == (3, 4)
    assert "'timeout'" in near.message
    assert "resourceTemplates" in far.message
    assert manifest.faults == ()


def test_a_replaced_surrogate_is_a_warning() -> None:
    manifest = parse('name: x\ntools: [{name: a, description: "\\ud800"}]\n')
    assert manifest.tools[0].definition["description"] == "\ufffd"
    assert len(manifest.warnings) == 1


class TestOptions:
    @pytest.mark.parametrize(
        ("text", "limit"),
        [
            ("1", 1.0),
            ("0.5", 0.5),
            ("0", 0.0),
            ("-3", 0.0),
            (".inf", 0.0),
            ("-.inf", 0.0),
            ("9" * 390, 0.0),
            ("~", None),
        ],
    )
    def test_a_time_limit_is_a_number_of_seconds(self, text: str, limit: float | None) -> None:
        manifest = parse(f"name: x\ntools: []\ntimeout: {text}")
        assert manifest.limits.timeout == limit
        assert type(manifest.limits.timeout) is type(limit)
        assert manifest.faults == ()

    @pytest.mark.parametrize(
        "line", ["timeout: true", "timeout: '5'", "timeout: .nan", "timeout: [5]", "timeout: 5s"]
    )
    def test_a_time_limit_that_is_none_is_a_fault_and_the_tools_stay(self, line: str) -> None:
        manifest = parse(HEAD + GOOD + line)
        assert manifest.limits.timeout is None
        assert [(fault.line, fault.column) for fault in manifest.faults] == [(4, 10)]
        assert [tool.fault for tool in manifest.tools] == [None]

    def test_every_limit_of_a_module_is_read(self) -> None:
        said = (
            "timeout: 1, import_timeout: 2, memory: 1.5G, processes: 3, output: 10K, workers: 1, queue: 0"
        ).replace(", ", "\n")
        manifest = parse(f"name: x\ntools: []\n{said}\n")
        assert manifest.limits == Limits(1.0, 10240, None, 2.0, 3 * 2**29, 3, 1, 0)
        assert (manifest.faults, manifest.warnings) == ((), ())

    @pytest.mark.parametrize(
        "line", ["memory: 1", "workers: 0", "queue: -1", "output: much", "processes: 1.5"]
    )
    def test_a_limit_that_is_none_is_a_fault_and_what_holds_elsewhere_holds(self, line: str) -> None:
        manifest = parse(HEAD + GOOD + line)
        assert manifest.limits == Limits()
        assert [(fault.line, fault.column) for fault in manifest.faults] == [(4, line.index(":") + 3)]

    @pytest.mark.parametrize(
        "line", ["scope: Global", "scope: [local]", "scope: 1", "about: 5", "about: {a: b}"]
    )
    def test_a_bad_scope_or_about_is_a_fault_and_the_tools_stay(self, line: str) -> None:
        manifest = parse(HEAD + GOOD + line)
        assert (manifest.scope, manifest.about) == ("local", None)
        assert [fault.line for fault in manifest.faults] == [4]
        assert [tool.fault for tool in manifest.tools] == [None]


class TestTools:
    @pytest.mark.parametrize(
        "body",
        [
            "- a",
            "-",
            "- 5",
            "- [name]",
            "- {}",
            "- {description: x}",
            "- {name: }",
            "- {name: ''}",
            "- {name: ' '}",
            "- {name: 12}",
            "- {name: true}",
            "- {name: [a]}",
        ],
    )
    def test_a_tool_without_a_name_is_a_fault_of_the_manifest(self, body: str) -> None:
        manifest = parse(HEAD + body + "\n" + GOOD)
        assert [tool.name for tool in manifest.tools] == ["good"]
        assert [fault.line for fault in manifest.faults] == [3]

    @pytest.mark.parametrize("said", ["timeout: soon", "output: 5"])
    def test_a_limit_of_a_tool_that_is_none_is_a_fault_and_the_tool_stays(self, said: str) -> None:
        manifest = parse(HEAD + f"- {{name: a, {said}}}\n")
        assert [(tool.name, tool.fault, tool.limits) for tool in manifest.tools] == [
            ("a", None, ToolLimits())
        ]
        assert [(fault.line, fault.column) for fault in manifest.faults] == [(3, 13 + said.index(":") + 2)]

    def test_the_characters_that_clients_are_promised_are_read(self) -> None:
        promised = [1000, 0, "1000", True, None]
        meta = "\n".join(
            f"- {{name: t{at}, _meta: {{anthropic/maxResultSizeChars: {json.dumps(each)}}}}}"
            for at, each in enumerate(promised)
        )
        manifest = parse(HEAD + meta)
        assert [tool.limits.chars for tool in manifest.tools] == [1000, None, None, None, None]
        assert all("_meta" in tool.definition for tool in manifest.tools)

    def test_a_name_that_is_there_twice_belongs_to_the_first(self) -> None:
        manifest = parse(HEAD + "- {name: a, title: first}\n- {name: b}\n- {name: a, title: second}\n" + GOOD)
        assert [tool.name for tool in manifest.tools] == ["a", "b", "good"]
        assert manifest.tools[0].definition["title"] == "first"
        assert [(fault.line, fault.column) for fault in manifest.faults] == [(5, 4)]

    @pytest.mark.parametrize(
        "body",
        [
            "description: 5",
            "description: [a]",
            "title: true",
            "inputSchema: []",
            "inputSchema: x",
            "inputSchema: true",
            "outputSchema: 5",
            "annotations: yes",
            "annotations: {readOnlyHint: yes}",
            "annotations: {title: 5}",
            "icons: x",
            "icons: [x]",
            "icons: [{mimeType: image/png}]",
            "icons: [{src: 5}]",
            "_meta: []",
            "icons: [{src: a, sizes: 48x48}]",
            "icons: [{src: a, sizes: [48]}]",
            "icons: [{src: a, theme: blue}]",
            "execution: [a]",
            "execution: {taskSupport: maybe}",
            "portable: 1",
            "portable: 'false'",
            "x: .nan",
            "inputSchema: {default: .inf}",
            "inputSchema: {enum: [1, -.inf]}",
            "inputSchema: {maximum: 1e999}",
            f"inputSchema: {{maximum: {2**64}}}",
            f"x: [[{-(2**63) - 1}]]",
        ],
    )
    def test_a_bad_tool_is_quarantined_and_the_others_stay(self, body: str) -> None:
        tool = tool_of(f"- name: bad\n  {body}")
        assert tool.name == "bad"
        assert tool.fault is not None
        assert (tool.fault.file, tool.fault.line, tool.fault.source) == ("tool.yaml", 4, f"  {body}")

    @pytest.mark.parametrize(
        "body",
        [
            "inputSchema: {}",
            "description: ''",
            "annotations: {}",
            "annotations: {other: 1}",
            "icons: []",
            "_meta: {}",
            "icons: [{src: a, sizes: [48x48, any], theme: dark}]",
            "execution: {taskSupport: optional}",
            f"x: [{2**64 - 1}, {-(2**63)}, 1.5e300]",
            "outputSchema: {type: array}",
            "'on': 2024-01-01",
        ],
    )
    def test_what_clients_take_is_kept_as_written(self, body: str) -> None:
        tool = tool_of(f"- name: a\n  {body}")
        assert tool.fault is None
        assert tool.definition == {"name": "a"} | read_yaml(body.encode(), "f").value

    def test_a_missing_input_schema_is_no_fault(self) -> None:
        assert tool_of("- name: a").fault is None

    def test_the_fault_stands_at_the_value_deep_inside(self) -> None:
        fault = tool_of("- name: a\n  inputSchema:\n    properties:\n      x:\n        default: .nan").fault
        assert fault is not None
        assert (fault.line, fault.column) == (7, 18)
        assert "inputSchema.properties.x.default" in fault.message

    def test_keys_without_a_value_are_dropped_where_clients_refuse_null(self) -> None:
        tool = tool_of(
            "- {name: a, title: , annotations: {title: , readOnlyHint: true}, portable: , description: ~,"
            " icons: [{src: a, theme: }], inputSchema: {default: null, enum: [null]}, _meta: {x: null}}"
        )
        assert tool.fault is None
        assert tool.portable
        assert tool.definition == {
            "name": "a",
            "annotations": {"readOnlyHint": True},
            "icons": [{"src": "a"}],
            "inputSchema": {"default": None, "enum": [None]},
            "_meta": {"x": None},
        }

    def test_tools_that_share_a_schema_by_an_alias_do_not_share_the_value(self) -> None:
        manifest = parse(HEAD + "- {name: a, inputSchema: &s {type: object}}\n- {name: b, inputSchema: *s}\n")
        first, second = (tool.definition["inputSchema"] for tool in manifest.tools)
        assert first == second
        assert first is not second


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=5)  # those that JSON doesn't escape
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
KEYS = [
    "name",
    "description",
    "title",
    "inputSchema",
    "annotations",
    "icons",
    "portable",
    "execution",
    "_meta",
    "x",
]
tools = st.dictionaries(st.sampled_from(KEYS), values) | values
TOP = ["scope", "about", "timeout", "prompts", "resources", "other"]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(tools, max_size=4), st.dictionaries(st.sampled_from(TOP), values))
def test_whatever_stands_in_a_manifest_the_good_tool_is_served(items: list[Any], top: dict[str, Any]) -> None:
    whole = top | {"name": "x", "tools": [*items, {"name": "the good one"}]}
    text = orjson.dumps(whole) if _fits(whole) else str(_yaml(whole)).encode()
    manifest = parse_manifest(read_yaml(text, "f"))
    good = [tool for tool in manifest.tools if tool.fault is None]
    assert "the good one" in [tool.name for tool in good]
    assert len({tool.name for tool in manifest.tools}) == len(manifest.tools)
    assert len(manifest.tools) + len(manifest.faults) >= len(items) + 1
    orjson.dumps([tool.definition for tool in good])


def _fits(value: Any) -> bool:
    try:
        return bool(orjson.loads(orjson.dumps(value)) == value)
    except orjson.JSONEncodeError:
        return False


def _yaml(value: Any) -> str:
    """JSON, with what YAML can say besides."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_yaml(key)}: {_yaml(member)}" for key, member in value.items()) + "}"
        case list():
            return "[" + ", ".join(_yaml(member) for member in value) + "]"
        case float() if value != value:  # noqa: PLR0124
            return ".nan"
        case float() if value in (float("inf"), float("-inf")):
            return ".inf" if value > 0 else "-.inf"
        case int() if not isinstance(value, bool):
            return str(value)
        case _:
            return orjson.dumps(value).decode()


@pytest.mark.parametrize("key", ["input_schema", "parameters", "properties"])
def test_a_schema_under_a_wrong_key_is_a_warning_with_its_line(key: str) -> None:
    text = f"name: m\ntools:\n- name: a\n  {key}: {{}}\n"
    (warning,) = parse_manifest(read_yaml(text.encode(), "tool.yaml")).warnings
    assert warning.line == 4
