"""The JSON Schemas that editors use say what the parsers say: the same keys, the same files good and bad."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from mcppd.core import limits, manifest, manifest_items, registry
from mcppd.core.errors import FaultError
from mcppd.core.shapes import Each, Members, Number
from mcppd.core.yaml import read_yaml

ROOT = Path(__file__).parents[1]
SCHEMAS = ROOT / "mcppd" / "schemas"


def schema_of(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    return schema


REGISTRY, MANIFEST = schema_of("registry"), schema_of("manifest")
ENTRY = REGISTRY["definitions"]["entry"]
DEFINITIONS = {
    "tools": "tool",
    "prompts": "prompt",
    "resources": "resource",
    "resourceTemplates": "resourceTemplate",
}
"""The schema of each kind."""
KEYS = {"tools": ["name"], "prompts": ["name"], "resources": ["uri"], "resourceTemplates": ["uriTemplate"]}
"""The members by which one of a kind is known; the parser looks at these first."""
TYPES = {str: "string", bool: "boolean", dict: "object"}


def is_valid(schema: Mapping[str, Any], value: Any) -> bool:
    return Draft7Validator(schema).is_valid(value)


def value_of(text: str) -> Any:
    return read_yaml(text.encode(), "x").value


def followed(schema: Any) -> Any:
    """The schema, with what it refers to."""
    for each in schema.get("allOf", ()):
        schema = {**MANIFEST["definitions"][each["$ref"].rpartition("/")[2]], **schema}
    return schema


def sayings(shape: Any, schema: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """What a shape of the parser and a schema say: the place, and both."""
    schema = followed(schema)
    match shape:
        case [inner] if isinstance(shape, list):
            yield from sayings(inner, schema["items"], f"{path}[]")
        case Each(inner):
            yield from sayings(inner, schema["additionalProperties"], f"{path}{{}}")
        case Members(known, required):
            yield path, set(known), set(schema["properties"])
            yield path, {*required, *KEYS.get(path, ())}, set(schema.get("required", ()))
            for key, inner in known.items():
                yield from sayings(inner, schema["properties"][key], f"{path}.{key}")
        case tuple():
            yield path, {*shape}, {*schema["enum"]} - {None}
        case Number(least, most, whole):
            yield path, least, schema["minimum"]
            yield path, most, schema.get("maximum", 2**64)
            yield path, ["integer" if whole else "number", "null"], schema["type"]
        case type():
            said = schema["type"]
            yield path, {TYPES[shape]}, {said} if isinstance(said, str) else {*said} - {"null"}


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
    of_tool = ENTRY["properties"]["tools"]["properties"]["limits"]["additionalProperties"]
    assert set(of_tool["properties"]) == set(limits.TOOL_LIMITS)
    for each in (REGISTRY, ENTRY, ENTRY["properties"]["tools"], of_tool):
        assert each["additionalProperties"] is False  # the parser warns of any other key


def test_the_manifest_has_the_same_keys_in_parser_and_schema() -> None:
    assert set(MANIFEST["properties"]) == set(manifest.KEYS)
    assert MANIFEST["additionalProperties"] is False
    shapes = {"tools": Members({"name": str, **manifest._TOOL.known}), **manifest_items.SHAPES}
    for kind, shape in shapes.items():
        schema = MANIFEST["definitions"][DEFINITIONS[kind]]
        own = {*limits.TOOL_LIMITS} if kind == "tools" else set()  # these aren't MCP's
        for path, parsed, shown in sayings(shape, schema, kind):
            assert shown == (
                parsed | own if path == kind and "name" in parsed and len(parsed) > 1 else parsed
            ), path
        assert "additionalProperties" not in schema  # MCP may know more, and it is passed on
    assert MANIFEST["definitions"]["enum"]["maxItems"] == manifest_items.MAX_ENUM


@pytest.mark.parametrize(
    ("schema", "key", "words"),
    [
        (ENTRY["properties"], "on_broken", {"last-good", "fail", None}),
        (MANIFEST["properties"], "scope", {"local", "global", None}),
    ],
)
def test_words_to_choose_from_are_the_same(schema: Any, key: str, words: set[str | None]) -> None:
    assert set(schema[key]["enum"]) == words


@pytest.mark.parametrize("properties", [ENTRY["properties"], MANIFEST["properties"]])
def test_limits_have_the_same_bounds(properties: dict[str, Any]) -> None:
    bounds = {
        "workers": (1, limits.MAX_WORKERS),
        "queue": (0, limits.MAX_QUEUE),
        "processes": (0, limits.MAX_PROCESSES),
    }
    for key, bound in bounds.items():
        assert (properties[key]["minimum"], properties[key]["maximum"]) == bound
    assert REGISTRY["definitions"]["size"] == MANIFEST["definitions"]["size"]
    assert REGISTRY["definitions"]["size"]["anyOf"][1]["maximum"] == limits.MAX_SIZE


@pytest.mark.parametrize(
    "text",
    ["0", "100000", "1.0", "512M", "1.5G", "1.5 GiB", "2kb", "7B", "1t", "' 64M '", "-1", "1.5", "M", "1_000", "1e5",
     "5 apples", "1..5G", "true", "[1]", "1P", "9999T", ".inf"],
)  # fmt: skip
def test_parser_and_schema_agree_on_sizes(text: str) -> None:
    value = value_of(text)
    try:
        limits.size(value)
    except ValueError:
        is_good = text == "9999T"  # its number is too large, which no pattern can tell
    else:
        is_good = True
    assert is_valid(REGISTRY["definitions"]["size"], value) == is_good


@pytest.mark.parametrize("schema", [REGISTRY, MANIFEST])
def test_every_key_is_described(schema: dict[str, Any]) -> None:
    lacking = {path for path, text in described(schema) if not text and not path.startswith("$.anyOf")}
    assert lacking <= {"$.definitions.tool.properties.inputSchema.type"}


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
  import_timeout: 60
  memory: 1.5G
  processes: 16
  output: 100000
  queue: 8
  tools: {allow: [x], deny: ['y*'], limits: {x: {timeout: 5, output: 1M}, 'y*': {timeout: }}}
  on_broken: fail
  watch: ['*.json']
instructions: words
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
    ("modules: [{path: a, memory: much}]", False),
    ("modules: [{path: a, output: -1}]", False),
    ("modules: [{path: a, queue: 10001}]", False),
    ("modules: [{path: a, processes: some}]", False),
    ("modules: [{path: a, tools: {limits: [x]}}]", False),
    ("modules: [{path: a, tools: {limits: {x: 5}}}]", False),
    ("modules: [{path: a, tools: {limits: {x: {memory: 1G}}}}]", False),
    ("modules: [{path: a, tools: {limits: {x: {timeout: soon}}}}]", False),
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
    ("instructions:", True),
    ("instructions: [words]", False),
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


def prompt(body: str) -> str:
    return f"name: m\nprompts: [{{name: p, {body}}}]"


def resource(body: str) -> str:
    return f"name: m\nresources: [{{uri: 'a:b', name: r, {body}}}]"


def template(body: str) -> str:
    return f"name: m\nresourceTemplates: [{{uriTemplate: 'a:{{id}}/{{+path}}', name: r, {body}}}]"


MANIFESTS = [
    ("name: m\ntools: []", True),
    ("name: m\nscope: global\nabout: words\ntimeout: 3\ntools: []\nprompts: []\nresources:", True),
    ("name: m\nscope:\nabout:\ntimeout:\ntools: []", True),
    ("name: m\nworkers: 1\nqueue: 0\nmemory: 64M\nprocesses: 0\noutput:\nimport_timeout: 1\ntools: []", True),
    (tool("timeout: 5, output: 1M"), True),
    (tool("timeout: soon"), False),
    (tool("output: [1]"), False),
    ("name: m\nworkers: 0\ntools: []", False),
    ("name: m\nmemory: {a: b}\ntools: []", False),
    (tool("title: T, description: d, inputSchema: {type: object, properties: {a: {type: string}}}"), True),
    (tool("inputSchema: {$defs: {a: {}}, properties: {b: {$ref: '#/$defs/a'}}}"), True),
    (tool("outputSchema: {type: array}, portable: false, _meta: {a: 1}, x-more: [1]"), True),
    (tool("annotations: {readOnlyHint: true, title: , other: 1}, execution: {taskSupport: optional}"), True),
    (tool("icons: [{src: 'data:', mimeType: image/png, sizes: [any], theme: dark}]"), True),
    (tool(", ".join(f"{key}: " for key in manifest._TOOL.known)), True),
    ("name: m\nprompts: [{name: p}]", True),
    ("name: m\ntools:\nresources: [{uri: 'a:b', name: n}]", True),
    ("name: m\nresourceTemplates: [{uriTemplate: 'a:{b}', name: n}]", True),
    (prompt("title: T, description: d, arguments: [], icons: [{src: x}], _meta: {a: 1}, x-more: [1]"), True),
    (
        prompt("arguments: [{name: a, title: A, description: d, required: true, enum: [b, c]}, {name: b}]"),
        True,
    ),
    (prompt("title: , description: , arguments: , icons: , _meta: "), True),
    (resource("title: T, description: d, mimeType: text/plain, size: 5, icons: [{src: x}], _meta: {}"), True),
    (resource("annotations: {audience: [user, assistant], priority: 0.5, lastModified: x, other: 1}"), True),
    (resource("file: docs/notes.md, x-more: 1"), True),
    (resource("title: , description: , mimeType: , size: , icons: , _meta: , annotations: , file: "), True),
    (template("title: T, mimeType: text/plain, variables: {id: {enum: [a]}, path: {}}"), True),
    (template("annotations: , variables: {id: , path: {enum: }}"), True),
    (template("variables: "), True),
    ("", False),
    ("[]", False),
    ("tools: []", False),
    ("name: m", False),
    ("name: m\nprompts: []", False),
    ("name: m\nprompts: {}", False),
    ("name: m\ntools: []\nprompts: [1]", False),
    ("name: m\ntools: []\nprompts: [{title: x}]", False),
    ("name: m\ntools: []\nprompts: [{name: ' '}]", False),
    (prompt("title: 1"), False),
    (prompt("arguments: {a: b}"), False),
    (prompt("arguments: [a]"), False),
    (prompt("arguments: [{title: x}]"), False),
    (prompt("arguments: [{name: ' '}]"), False),
    (prompt("arguments: [{name: a, required: 'yes'}]"), False),
    (prompt("arguments: [{name: a, enum: x}]"), False),
    (prompt("arguments: [{name: a, enum: [1]}]"), False),
    ("name: m\nresources: [{uri: 'a:b'}]", False),
    ("name: m\nresources: [{name: n}]", False),
    ("name: m\nresources: [{uri: notes, name: n}]", False),
    ("name: m\nresources: [{uri: 'a:b c', name: n}]", False),
    (resource("size: -1"), False),
    (resource("size: 1.5"), False),
    (resource("size: big"), False),
    (resource("annotations: {audience: user}"), False),
    (resource("annotations: {audience: [me]}"), False),
    (resource("annotations: {priority: 2}"), False),
    (resource("annotations: {priority: high}"), False),
    (resource("file: /etc/passwd"), False),
    (resource("file: ../notes.md"), False),
    (resource("file: docs/"), False),
    (resource("file: 5"), False),
    ("name: m\nresourceTemplates: [{uriTemplate: 'a:{b}'}]", False),
    ("name: m\nresourceTemplates: [{uriTemplate: 'a:b', name: n}]", False),
    ("name: m\nresourceTemplates: [{uriTemplate: 'a:{b', name: n}]", False),
    ("name: m\nresourceTemplates: [{uriTemplate: 'a:{b,c}', name: n}]", False),
    ("name: m\nresourceTemplates: [{uriTemplate: 'a:{?b}', name: n}]", False),
    (template("variables: [id]"), False),
    (template("variables: {id: [a]}"), False),
    (template("variables: {id: {enum: [1]}}"), False),
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
        quarantined = [each.fault for each in found.tools] + [each.fault for each in found.items]
        parses = not (found.faults or found.warnings or any(quarantined))
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
    keys = {*registry.KEYS, *registry.OPTIONS, *manifest.KEYS, *manifest._TOOL.known}
    named = {key for key in keys if f"`{key}" in text or f"\n{key}:" in text}
    assert keys - named == {"server", "execution"}
