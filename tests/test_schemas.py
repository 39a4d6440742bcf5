"""The JSON Schemas that editors use say what the parsers say: the same keys, the same files good and bad."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from mcppd.core import manifest, registry
from mcppd.core.errors import FaultError
from mcppd.core.yaml import read_yaml

ROOT = Path(__file__).parents[1]
SCHEMAS = ROOT / "mcppd" / "schemas"


def schema_of(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return schema


REGISTRY, MANIFEST = schema_of("registry"), schema_of("manifest")
ENTRY = REGISTRY["definitions"]["entry"]
TOOL = MANIFEST["definitions"]["tool"]


def is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    return Draft7Validator(schema).is_valid(value)


def value_of(text: str) -> Any:
    return read_yaml(text.encode(), "x").value


def members(shape: Any, schema: Any, path: str) -> Iterator[tuple[str, set[str], set[str]]]:
    """For each mapping of the manifest's shape: where it is, its keys there, and its keys in the schema."""
    if isinstance(shape, list):
        yield from members(shape[0], schema["items"], f"{path}[]")
    elif isinstance(shape, Mapping):
        yield path, set(shape), set(schema["properties"])
        for key, inner in shape.items():
            yield from members(inner, schema["properties"][key], f"{path}.{key}")


def described(schema: Any, path: str = "$") -> Iterator[tuple[str, str | None]]:
    """Every key that the schema names, with its description."""
    if isinstance(schema, Mapping):
        for key, inner in schema.items():
            if key == "properties" and "propertyNames" not in schema:
                yield from ((f"{path}.{name}", each.get("description")) for name, each in inner.items())
            yield from described(inner, f"{path}.{key}")
    elif isinstance(schema, list):
        for each in schema:
            yield from described(each, path)


@pytest.mark.parametrize("schema", [REGISTRY, MANIFEST])
def test_the_schemas_are_valid_in_their_dialect(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == Draft7Validator.META_SCHEMA["$schema"]
    Draft7Validator.check_schema(schema)


def test_the_registry_has_the_same_keys_in_parser_and_schema() -> None:
    assert set(REGISTRY["properties"]) == set(registry.KEYS)
    assert set(ENTRY["properties"]) == set(registry.OPTIONS)
    assert set(ENTRY["properties"]["tools"]["properties"]) == set(registry.TOOL_OPTIONS)
    for each in (REGISTRY, ENTRY, ENTRY["properties"]["tools"]):
        assert each["additionalProperties"] is False  # the parser warns of any other key


def test_the_manifest_has_the_same_keys_in_parser_and_schema() -> None:
    assert set(MANIFEST["properties"]) == set(manifest.KEYS)
    assert MANIFEST["additionalProperties"] is False
    shape = {"name": str, **manifest._TOOL}
    for path, known, shown in members(shape, TOOL, "tool"):
        assert shown == known, path
    assert "additionalProperties" not in TOOL  # MCP may know more, and it is passed on


@pytest.mark.parametrize(
    ("schema", "key", "words"),
    [
        (ENTRY["properties"], "on_broken", {"last-good", "fail", None}),
        (MANIFEST["properties"], "scope", {"local", "global", None}),
        (
            TOOL["properties"]["execution"]["properties"],
            "taskSupport",
            {*manifest._TOOL["execution"]["taskSupport"], None},
        ),
        (
            TOOL["properties"]["icons"]["items"]["properties"],
            "theme",
            {*manifest._TOOL["icons"][0]["theme"], None},
        ),
    ],
)
def test_words_to_choose_from_are_the_same(schema: Any, key: str, words: set[str | None]) -> None:
    assert set(schema[key]["enum"]) == words


def test_workers_have_the_same_bounds() -> None:
    assert ENTRY["properties"]["workers"]["maximum"] == registry.MAX_WORKERS


@pytest.mark.parametrize("schema", [REGISTRY, MANIFEST])
def test_every_key_is_described(schema: dict[str, Any]) -> None:
    lacking = [path for path, text in described(schema) if not text]
    assert set(lacking) <= {"$.definitions.tool.properties.inputSchema.type"}


WHOLE = """\
modules:
- path: a
  enabled: false
  timeout: 2.5
  workers: 3
  overlap: false
  python: .venv
  env: {A: '1'}
  pass_env: [B]
  tools: {allow: [x], deny: ['y*']}
  on_broken: fail
  watch: ['*.json']
env: {C: d}
pass_env: [E]
"""

REGISTRIES = [
    ("", True),
    ("modules:", True),
    ("modules: []", True),
    ("modules: [a, tools/*]", True),
    ("modules: [{path: a}, {path: ~/b}]", True),
    (WHOLE, True),
    (
        "modules:\n- path: a\n"
        + "".join(f"  {key}:\n" for key in registry.OPTIONS if key not in ("path", "server")),
        True,
    ),
    ("modules: [{path: a, tools: {allow: , deny: }}]", True),
    ("modules: [{server: {command: x}}]", True),
    ("modules: [{path: a, timeout: 0}, {path: b, timeout: -1}]", True),
    ("[]", False),
    ("modules: x", False),
    ("modules: [1]", False),
    ("modules: [{}]", False),
    ("modules: [{path: ''}]", False),
    ("modules: [{path: 1}]", False),
    ("modules: [{path: a, server: b}]", False),
    ("modules: [{path: a, enabled: 1}]", False),
    ("modules: [{path: a, timeout: soon}]", False),
    ("modules: [{path: a, timeout: true}]", False),
    ("modules: [{path: a, workers: 0}]", False),
    ("modules: [{path: a, workers: 65}]", False),
    ("modules: [{path: a, workers: 1.5}]", False),
    ("modules: [{path: a, overlap: 'no'}]", False),
    ("modules: [{path: a, python: 3.11}]", False),
    ("modules: [{path: a, env: [A]}]", False),
    ("modules: [{path: a, env: {A: 1}}]", False),
    ("modules: [{path: a, env: {A: }}]", False),
    ("modules: [{path: a, env: {'A=B': x}}]", False),
    ("modules: [{path: a, pass_env: A}]", False),
    ("modules: [{path: a, pass_env: ['']}]", False),
    ("modules: [{path: a, pass_env: [A=B]}]", False),
    ("modules: [{path: a, tools: [x]}]", False),
    ("modules: [{path: a, tools: {allow: x}}]", False),
    ("modules: [{path: a, tools: {deny: [1]}}]", False),
    ("modules: [{path: a, tools: {forbid: [x]}}]", False),
    ("modules: [{path: a, on_broken: maybe}]", False),
    ("modules: [{path: a, watch: ['']}]", False),
    ("modules: [{path: a, wokers: 1}]", False),
    ("modul: []", False),
    ("env: {A: 1}", False),
    ("pass_env: [1]", False),
]


@pytest.mark.parametrize(("text", "is_good"), REGISTRIES)
def test_parser_and_schema_agree_on_registries(text: str, is_good: bool) -> None:
    try:
        found = registry.parse_registry(read_yaml(text.encode(), "x"), directory="/d", environ={}, home="/h")
        unknown = [each for each in found.warnings if "not known" in each.message]
        parses = not found.faults and not unknown
    except FaultError:
        parses = False
    assert (parses, is_valid(REGISTRY, value_of(text))) == (is_good, is_good)


def tool(body: str) -> str:
    return f"name: m\ntools: [{{name: t, {body}}}]"


MANIFESTS = [
    ("name: m\ntools: []", True),
    ("name: m\nscope: global\nabout: words\ntimeout: 3\ntools: []\nprompts: []\nresources:", True),
    ("name: m\nscope:\nabout:\ntimeout:\ntools: []", True),
    (tool("title: T, description: d, inputSchema: {type: object, properties: {a: {type: string}}}"), True),
    (tool("inputSchema: {$defs: {a: {}}, properties: {b: {$ref: '#/$defs/a'}}}"), True),
    (tool("outputSchema: {type: array}, portable: false, _meta: {a: 1}, x-more: [1]"), True),
    (tool("annotations: {readOnlyHint: true, title: , other: 1}, execution: {taskSupport: optional}"), True),
    (tool("icons: [{src: 'data:', mimeType: image/png, sizes: [any], theme: dark}]"), True),
    (tool(", ".join(f"{key}: " for key in manifest._TOOL)), True),
    ("", False),
    ("[]", False),
    ("tools: []", False),
    ("name: m", False),
    ("name: m\ntools:", False),
    ("name: m\ntools: {}", False),
    ("name: ' '\ntools: []", False),
    ("name: 1\ntools: []", False),
    ("name: m\ntools: [1]", False),
    ("name: m\ntools: [{title: x}]", False),
    ("name: m\ntools: [{name: }]", False),
    ("name: m\nscope: both\ntools: []", False),
    ("name: m\nabout: 1\ntools: []", False),
    ("name: m\ntimeout: soon\ntools: []", False),
    ("name: m\ntool: []\ntools: []", False),
    (tool("title: 1"), False),
    (tool("description: [a]"), False),
    (tool("inputSchema: x"), False),
    (tool("outputSchema: true"), False),
    (tool("annotations: {readOnlyHint: 'yes'}"), False),
    (tool("annotations: []"), False),
    (tool("execution: {taskSupport: never}"), False),
    (tool("icons: {src: x}"), False),
    (tool("icons: [{mimeType: image/png}]"), False),
    (tool("icons: [{src: x, sizes: any}]"), False),
    (tool("icons: [{src: x, theme: blue}]"), False),
    (tool("_meta: x"), False),
    (tool("portable: 'no'"), False),
]


@pytest.mark.parametrize(("text", "is_good"), MANIFESTS)
def test_parser_and_schema_agree_on_manifests(text: str, is_good: bool) -> None:
    try:
        found = manifest.parse_manifest(read_yaml(text.encode(), "x"))
        parses = not (found.faults or found.warnings or any(each.fault for each in found.tools))
    except FaultError:
        parses = False
    assert (parses, is_valid(MANIFEST, value_of(text))) == (is_good, is_good)


@pytest.mark.parametrize(
    "schema", ["{type: 5}", "{type: object, properties: []}", "{type: array}", "{required: a}"]
)
def test_a_wrong_input_schema_is_seen_in_the_editor(schema: str) -> None:
    assert not is_valid(MANIFEST, value_of(tool(f"inputSchema: {schema}")))


def test_the_files_that_come_with_mcppd_fit_the_schemas() -> None:
    manifests = sorted(ROOT.glob("tools/*/tool.yaml"))
    assert ROOT / "tools" / "_template_pkg" / "tool.yaml" in manifests
    Draft7Validator(REGISTRY).validate(value_of((ROOT / "tools.yaml").read_text()))
    for path in manifests:
        Draft7Validator(MANIFEST).validate(value_of(path.read_text()))


def test_the_examples_of_the_readme_fit_the_schemas() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    values = [value_of(text) for text in examples]
    assert values
    for value in values:
        Draft7Validator(REGISTRY if "modules" in value else MANIFEST).validate(value)


def test_the_readme_names_every_option_of_the_registry_and_every_key_of_a_manifest() -> None:
    text = (ROOT / "README.md").read_text()
    named = {*registry.OPTIONS, *manifest.KEYS, *manifest._TOOL} - {"server", "execution", *manifest.EXTRAS}
    assert [key for key in sorted(named) if f"`{key}" not in text] == []
