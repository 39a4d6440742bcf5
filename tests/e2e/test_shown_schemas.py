"""What clients are shown of a schema is for all of them; arguments are held against what its author wrote."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, modern, texts

ECHO = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': arguments}\n"
STRING: dict[str, Any] = {"type": "string"}


def tool(name: str, schema: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "inputSchema": schema, **more}


CHOICE = {
    "properties": {"id": STRING, "name": STRING, "limit": {"type": ["integer", "null"]}},
    "oneOf": [{"required": ["id"]}, {"required": ["name"]}],
}
TREE = {
    "$ref": "#/definitions/node",
    "definitions": {
        "node": {"type": "object", "properties": {"next": {"$ref": "#/definitions/node"}, "v": True}}
    },
}


@pytest.fixture
def shapes(daemon: Daemon) -> Daemon:
    written = tool("written", {**CHOICE, "type": "object"}, portable=False)
    daemon.module("shapes", ECHO, tool("choice", CHOICE), tool("tree", TREE), tool("none", None), written)
    return daemon


@pytest.mark.slow
async def test_strict_clients_take_every_shape_in_both_eras(shapes: Daemon, connect: Connect) -> None:
    client = await connect()
    listed = await client.tools()
    assert listed["choice"]["inputSchema"] == {
        "type": "object",
        "properties": {
            "id": STRING,
            "name": STRING,
            "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        },
        "description": "Needs exactly one of: (1) id; (2) name.",
    }
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "v": {}}}
    assert listed["tree"]["inputSchema"] == {**node, "$defs": {"node": node}}
    assert listed["none"]["inputSchema"] == {"type": "object", "properties": {}}
    assert listed["written"]["inputSchema"] == {**CHOICE, "type": "object"}
    assert "portable" not in listed["written"]
    again = (await client.result("tools/list", modern()))["tools"]
    assert {each["name"]: each for each in again} == listed


@pytest.mark.slow
async def test_the_author_s_own_schema_decides_on_a_call(shapes: Daemon, connect: Connect) -> None:
    client = await connect()
    assert await client.text("choice", {"id": "a", "limit": None}) == '{"id":"a","limit":null}'
    for arguments in ({}, {"id": "a", "name": "b"}, {"id": "a", "limit": "x"}):
        assert "Error" in await client.failure("choice", arguments)
    assert await client.text("tree", {"next": {"next": {"v": 1}}}) == '{"next":{"next":{"v":1}}}'
    assert "next" in await client.failure("tree", {"next": {"next": 1}})


@pytest.mark.slow
async def test_help_has_a_display_for_people_beside_its_text(shapes: Daemon, connect: Connect) -> None:
    client = await connect()
    for arguments in ({}, {"tool": "choice"}):
        display, text = (await client.call("help", arguments))["content"]
        assert display["annotations"] == {"audience": ["user"]}
        assert text["annotations"] == {"audience": ["assistant"]}
        assert "### shapes" in display["text"]
        assert "## shapes" in text["text"]
    assert "`limit` (integer or null)" in display["text"]
    assert '"oneOf"' in texts({"content": [text]})
