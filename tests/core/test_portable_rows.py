"""The table of what breaks whom (PROTOCOL.md section 5), row by row: what an author wrote and what every client gets.

In each row the list stays whole: the tool is shown in a form that all clients take, or it alone is kept back.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from mcppd.core.arguments import accept
from mcppd.core.catalog import Module, build_catalog, make_offer
from mcppd.core.eras import LEGACY, MODERN
from mcppd.core.faults import Fault
from mcppd.core.manifest import ToolDefinition, parse_manifest
from mcppd.core.schemas import check_input_schema, check_output_schema
from mcppd.core.subschemas import children
from mcppd.core.yaml import read_yaml
from tests.wire_schema import check_message

REVISIONS = (*LEGACY, *MODERN)
GOOD = "{name: good, description: fine, inputSchema: {type: object}}"
OBJECT = {"type": "object", "properties": {}}


@dataclass(frozen=True)
class Row:
    """One row: what is written in the manifest, and what becomes of it."""

    what: str
    tool: str  # YAML, beside its name
    shown: dict[str, Any] | None = None  # of the newest legacy revision; None: the tool is kept back
    modern: dict[str, Any] = field(default_factory=dict)  # what is otherwise in the modern one
    takes: tuple[dict[str, Any], ...] = ()  # arguments that the author's schema takes
    refuses: tuple[dict[str, Any], ...] = ()  # and refuses


def one(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An inputSchema of one property `a`."""
    return {"inputSchema": {"type": "object", "properties": {"a": schema}, **more}}


STRING = {"type": "string"}

ROWS = [
    Row("no inputSchema", "title: T", {"title": "T", "inputSchema": OBJECT}, takes=({}, {"a": 1})),
    Row("an empty inputSchema", "inputSchema: {}", {"inputSchema": OBJECT}, takes=({"a": 1},)),
    Row(
        "an inputSchema without a type",
        "inputSchema: {properties: {a: {type: string}}}",
        one(STRING),
        takes=({"a": "x"},),
        refuses=({"a": []},),
    ),
    Row("an inputSchema of another type", "inputSchema: {type: array}"),
    Row("an inputSchema that is null", "inputSchema: ~", {"inputSchema": OBJECT}),
    Row("a property `true`", "inputSchema: {properties: {a: true}}", one({}), takes=({"a": [1]},)),
    Row("a property `false`", "inputSchema: {properties: {a: false}}", one({"not": {}}), refuses=({"a": 1},)),
    Row(
        "a boolean deep inside",
        "inputSchema: {properties: {a: {items: true, contains: false}}}",
        one({"items": {}, "contains": {"not": {}}}),
        refuses=({"a": [1]},),
    ),
    Row(
        "members that are null",
        "title: ~\n  description: ~\n  annotations: ~\n  icons: ~\n  outputSchema: ~\n  _meta: ~",
        {"inputSchema": OBJECT},
    ),
    Row(
        "members of members that are null",
        "annotations: {title: ~, readOnlyHint: true}\n  icons: [{src: 'data:', theme: ~}]",
        {"inputSchema": OBJECT, "annotations": {"readOnlyHint": True}, "icons": [{"src": "data:"}]},
    ),
    *(
        Row(
            f"an outputSchema without an object at its root: {text}",
            f"outputSchema: {text}",
            {"inputSchema": OBJECT},
            modern={"outputSchema": written},
        )
        for text, written in [
            ("{type: array, items: {}}", {"type": "array", "items": {}}),
            ("{anyOf: [{type: object}]}", {"anyOf": [{"type": "object"}]}),
            ("{$ref: '#/$defs/a', $defs: {a: {}}}", {"$ref": "#/$defs/a", "$defs": {"a": {}}}),
        ]
    ),
    Row(
        "an outputSchema with a boolean property",
        "outputSchema: {type: object, properties: {a: true}}",
        {"inputSchema": OBJECT, "outputSchema": {"type": "object", "properties": {"a": {}}}},
    ),
    Row(
        "an outputSchema with a pattern that JavaScript can't compile",
        "outputSchema: {type: object, properties: {a: {type: string, pattern: '(?i)x'}}}",
        {"inputSchema": OBJECT, "outputSchema": {"type": "object", "properties": {"a": STRING}}},
    ),
    Row(
        "an outputSchema that refers to the network", "outputSchema: {type: object, $ref: 'https://e.org/x'}"
    ),
    Row("icons[].sizes that is a string", "icons: [{src: 'data:', sizes: 48x48}]"),
    Row(
        "anyOf at the root",
        "inputSchema: {anyOf: [{required: [a]}, {required: [b]}], properties: {a: {type: string}, b: {}}}",
        {
            "inputSchema": {
                "type": "object",
                "properties": {"a": STRING, "b": {}},
                "description": "Needs at least one of: (1) a; (2) b.",
            }
        },
        takes=({"a": "x"}, {"b": 1}),
        refuses=({},),
    ),
    Row(
        "oneOf at the root",
        "inputSchema: {oneOf: [{properties: {a: {type: string}}, required: [a]}, {required: [b]}]}",
        one(STRING, description="Needs exactly one of: (1) a; (2) b."),
        takes=({"a": "x"},),
        refuses=({}, {"a": "x", "b": 1}),
    ),
    Row(
        "allOf at the root",
        "inputSchema: {allOf: [{properties: {a: {type: string}}}, {required: [a]}]}",
        one(STRING, required=["a"]),
        takes=({"a": "x"},),
        refuses=({},),
    ),
    Row(
        "a reference at the root",
        "inputSchema: {$ref: '#/$defs/in', $defs: {in: {type: object, properties: {a: {type: string}}}}}",
        one(STRING, **{"$defs": {"in": {"type": "object", "properties": {"a": STRING}}}}),
        takes=({"a": "x"},),
        refuses=({"a": []},),
    ),
    Row(
        "a reference below the root",
        "inputSchema: {properties: {a: {$ref: '#/definitions/d'}}, definitions: {d: {type: string}}}",
        one(STRING),
        takes=({"a": "x"},),
        refuses=({"a": []},),
    ),
    Row(
        "a reference that leads back to itself",
        "inputSchema: {properties: {a: {$ref: '#/$defs/d'}}, $defs: {d: {items: {$ref: '#/$defs/d'}, type: array}}}",
        one({"$ref": "#/$defs/d"}, **{"$defs": {"d": {"type": "array", "items": {"$ref": "#/$defs/d"}}}}),
        takes=({"a": [[], [[]]]},),
        refuses=({"a": [[1]]},),
    ),
    Row("a reference to the network", "inputSchema: {properties: {a: {$ref: 'https://e.org/x.json'}}}"),
    Row("a reference to nothing", "inputSchema: {properties: {a: {$ref: '#/$defs/none'}}}"),
    Row(
        "a tuple of draft 7",
        "inputSchema: {$schema: 'http://json-schema.org/draft-07/schema#', "
        "properties: {a: {items: [{type: string}, {type: integer}]}}}",
        one({"items": {}, "description": "In order: string, integer."}),
        takes=({"a": ["x", 1]},),
        refuses=({"a": [[], 1]},),
    ),
    Row(
        "a tuple of 2020-12",
        "inputSchema: {properties: {a: {prefixItems: [{type: string}], items: false}}}",
        one({"items": STRING, "maxItems": 1, "description": "In order: string."}),
        takes=({"a": ["x"]},),
        refuses=({"a": ["x", "y"]},),
    ),
    Row(
        "an array without items",
        "inputSchema: {properties: {a: {type: array}}}",
        one({"type": "array", "items": {}}),
    ),
    Row(
        "several types",
        "inputSchema: {properties: {a: {type: [string, 'null'], maxLength: 2}}}",
        one({"anyOf": [{"type": "string", "maxLength": 2}, {"type": "null"}]}),
        takes=({"a": None}, {"a": "xy"}),
        refuses=({"a": "xyz"}, {"a": []}),
    ),
    Row(
        "a pattern that JavaScript can't compile",
        "inputSchema: {properties: {a: {type: string, pattern: '(?i)^x$'}}}",
        one(STRING),
        takes=({"a": "X"},),
        refuses=({"a": "y"},),
    ),
    Row(
        "what all clients take",
        "inputSchema: {type: object, properties: {a: {enum: [x], format: date}}, required: [a], "
        "additionalProperties: false}",
        one({"enum": ["x"], "format": "date"}, required=["a"], additionalProperties=False),
        takes=({"a": "x"},),
        refuses=({}, {"a": "x", "b": 1}),
    ),
    Row("a schema that is none", "inputSchema: {properties: {a: {type: strng}}}"),
    Row("a schema of an unknown dialect", "inputSchema: {$schema: 'https://e.org/dialect'}"),
    Row("a schema that is too deep", f"inputSchema: {'{not: ' * 70}{{}}{'}' * 70}"),
    Row("a number that is none", "inputSchema: {properties: {a: {maximum: .inf}}}"),
]


def tool_of(row: Row) -> ToolDefinition:
    text = f"name: m\ntools:\n- {GOOD}\n- name: row\n  {row.tool}\n"
    manifest = parse_manifest(read_yaml(textwrap.dedent(text).encode(), "/m/tool.yaml"))
    assert manifest.faults == ()
    assert manifest.tools[0].fault is None
    return manifest.tools[1]


def fault_of(tool: ToolDefinition) -> Fault | None:
    """What keeps the tool back: its manifest's verdict, or that on its schemas."""
    verdicts = [("inputSchema", check_input_schema), ("outputSchema", check_output_schema)]
    for key, check in verdicts:
        if tool.fault is None and key in tool.definition and (wrong := check(tool.definition[key])):
            return Fault(wrong, tool.file, tool.line)
    return tool.fault


def lists(tool: ToolDefinition) -> dict[str, list[dict[str, Any]]]:
    """The list with this tool and a good one, in every revision."""
    good = make_offer("good", {"name": "good", "description": "fine", "inputSchema": OBJECT})
    offer = make_offer(tool.name, tool.definition, portable=tool.portable, fault=fault_of(tool))
    catalog = build_catalog([Module("m", "/m", offers=(good, offer))])
    return {each: [json.loads(text) for _, text in catalog.encoded("tools", each)] for each in REVISIONS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_row_of_the_table(row: Row) -> None:
    tool = tool_of(row)
    for revision, listed in lists(tool).items():
        body = {
            "tools": listed,
            **({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if revision in MODERN else {}),
        }
        check_message("server", revision, {"jsonrpc": "2.0", "id": 1, "result": body}, "tools/list")
        assert [each["name"] for each in listed] == (["good", "row"] if row.shown is not None else ["good"])
        assert [*refusals(listed, is_modern=revision in MODERN)] == []
        if row.shown is not None and revision in (LEGACY[-1], *MODERN):
            assert listed[1] == {"name": "row", **row.shown, **(row.modern if revision in MODERN else {})}
    for arguments in row.takes:
        assert accept(tool.definition.get("inputSchema"), arguments) == (arguments, [])
    for arguments in row.refuses:
        assert accept(tool.definition["inputSchema"], arguments)[1] != []


VERBATIM = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"d": {"$anchor": "d", "type": ["string", "null"], "pattern": "(?i)x"}},
    "allOf": [{"anyOf": [{"required": ["a"]}]}],
    "if": {"properties": {"a": True}},
    "then": {"properties": {"b": {"$ref": "#d"}}},
    "prefixItems": [True],
}


@pytest.mark.parametrize("schema", [VERBATIM, {"type": "object", "properties": {"a": True}}, {}])
def test_a_schema_that_is_not_to_be_portable_is_shown_just_as_it_is_written(schema: dict[str, Any]) -> None:
    row = Row("", f"portable: false\n  inputSchema: {json.dumps(schema)}")
    for listed in lists(tool_of(row)).values():
        assert listed[1] == {"name": "row", "inputSchema": schema}


def refusals(listed: list[dict[str, Any]], *, is_modern: bool) -> Iterator[str]:
    """Why some client drops a tool, or the whole list: the columns of the table, read anew from the list."""
    for tool in listed:
        schema = tool.get("inputSchema")
        if not isinstance(schema, dict) or schema.get("type") != "object" or "properties" not in schema:
            yield f"{tool['name']}: no object"
        if {"anyOf", "oneOf", "allOf", "$ref", "not", "enum", "const", "$schema"} & tool[
            "inputSchema"
        ].keys():
            yield f"{tool['name']}: the root"
        for key in ("title", "description", "annotations", "icons", "_meta", "outputSchema"):
            if key in tool and tool[key] is None:
                yield f"{tool['name']}: {key} is null"
        if any(not isinstance(icon.get("sizes", []), list) for icon in tool.get("icons", ())):
            yield f"{tool['name']}: sizes"
        output = tool.get("outputSchema", OBJECT)
        if output.get("type") != "object" and not is_modern:
            yield f"{tool['name']}: outputSchema"
        for part in (schema, *([output] if output.get("type") == "object" else [])):
            yield from (f"{tool['name']}: {wrong}" for wrong in part_refusals(part))


def part_refusals(schema: Any) -> Iterator[str]:
    for path, each in children(schema):
        if isinstance(each, bool) and path[0] not in ("additionalProperties", "unevaluatedProperties"):
            yield f"{path}: a boolean"
        yield from part_refusals(each)
    if not isinstance(schema, dict):
        return
    if (
        isinstance(schema.get("type"), list)
        or isinstance(schema.get("items"), list)
        or "prefixItems" in schema
    ):
        yield "a list of types or items"
    if schema.get("type") == "array" and "items" not in schema:
        yield "an array without items"
    if not re.match(r"#(/\$defs/|$)", schema.get("$ref", "#")):
        yield f"a reference to {schema['$ref']}"
    if "(?" in schema.get("pattern", ""):
        yield "a pattern"
