"""`help` knows everything that is served by its name or URI, and what is like a name of nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.harness import Client, Daemon, texts

NOTES = """
def execute(tool_name, arguments):
    return {"success": True, "result": tool_name}

def get_info():
    return "my own words"

def get_prompt(name, arguments, context):
    return name

def read_resource(uri, variables, context):
    return uri
"""

TOLD = [
    ("add", ["Input schema of `add`", "my own words"], "notes://all"),
    ("notes__add", ["Input schema of `add`"], "notes://all"),
    ("notes", ["`add`", "prompt `review`", "notes://all", "notes://one/{id}", "my own words"], "other"),
    ("review", ["Definition of the prompt `review`", '"required": true'], "notes://all"),
    ("notes://all", ["Definition of the resource", "text/x-notes"], "review"),
    ("notes://one/{id}", ["Definition of the resource template"], "notes://all"),
    ("notes://one/7", ["Definition of the resource template", "notes://one/{id}"], "notes://all"),
    ("help", ["Input schema of `help`"], "notes"),
]
NEAR = [("ad", "add"), ("note", "notes"), ("reviewer", "review"), ("notes://al", "notes://all")]


@pytest.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    daemon.module(
        "notes",
        NOTES,
        "add",
        "plain",
        scope="global",
        prompts=[{"name": "review", "arguments": [{"name": "code", "required": True}]}],
        resources=[{"uri": "notes://all", "name": "all", "mimeType": "text/x-notes"}],
        resourceTemplates=[{"uriTemplate": "notes://one/{id}", "name": "one"}],
    )
    daemon.module("add", NOTES, "other")  # a module whose name is that of a tool, too
    client = await Client.on_socket(daemon.socket)
    await client.handshake()
    yield client
    await client.close()


async def test_help_tells_of_anything_by_its_name_or_uri(client: Client) -> None:
    for asked, told, untold in TOLD:
        text = await client.text("help", {"tool": asked})
        assert [each for each in told if each not in text] == [], asked
        assert untold not in text, asked


@pytest.mark.slow
async def test_help_names_what_is_like_a_name_of_nothing(client: Client) -> None:
    for asked, near in NEAR:
        assert near in (await client.failure("help", {"tool": asked})).partition("mean")[2]
    for strange in (["add"], 5, "x" * 100_000):
        result = await client.call("help", {"tool": strange})
        assert result["isError"]
        assert len(texts(result)) < 2000


async def test_help_says_what_a_reload_took_away(client: Client, daemon: Daemon) -> None:
    assert "plain" in await client.tools()
    daemon.module("notes", NOTES, "added")
    assert "removed by the reload" in await client.failure("help", {"tool": "plain"})
