"""Results that are longer than they may be: cut with a note, and the whole of them to be read for a while."""

from __future__ import annotations

import asyncio
import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from mcppd.core.results import OUTPUT
from tests.e2e.conftest import Connect
from tests.harness import Client, Daemon, modern, texts

BODY = """
import time

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

def execute(tool_name, arguments, context=None):
    size = arguments.get("size", 0)
    match tool_name:
        case "lines" | "promised" | "generous":
            return {"success": True, "result": "".join(f"line {n}\\n" for n in range(size))}
        case "rows":
            return {"success": True, "result": {"rows": list(range(size))}}
        case "both":
            return {"success": True, "result": "r" * size, "display": "d" * 10}
        case "fails":
            return {"success": False, "error": "e" * size}
        case "picture":
            data = PIXEL * (size // len(PIXEL) + 1)
            return {"success": True, "content": [{"type": "image", "data": data, "mimeType": "image/png"}]}
        case "embedded":
            resource = {"uri": "a:b", "text": "t" * size}
            return {"success": True, "content": [{"type": "resource", "resource": resource}]}
"""
OUTPUT_SCHEMA = {"type": "object", "properties": {"rows": {"type": "array"}}, "required": ["rows"]}
PLAIN = ("lines", "both", "fails", "picture", "embedded")
RESOURCE = re.compile(r"mcppd://results/[0-9a-f]{32}")


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "description": name, "inputSchema": {"type": "object"}, **more}


@pytest.fixture
def talkative(daemon: Daemon) -> Daemon:
    daemon.module(
        "talkative",
        BODY,
        *PLAIN,
        tool("rows", outputSchema=OUTPUT_SCHEMA),
        tool("promised", _meta={"anthropic/maxResultSizeChars": 300_000}),
        tool("generous", output="1M"),
    )
    return daemon


def note_of(result: dict[str, Any]) -> str:
    """What the last text says of a result that was cut."""
    note = str(result["content"][-1]["text"])
    assert note.startswith("Note: ")
    return note


async def whole(client: Client, note: str) -> dict[str, Any]:
    """The whole of a result, by the resource that its note names."""
    found = RESOURCE.search(note)
    assert found is not None, note
    [contents] = (await client.result("resources/read", {"uri": found[0]}))["contents"]
    assert contents["uri"] == found[0]
    return dict(contents)


def file_of(note: str) -> Path:
    found = re.search(r"/\S+\.(txt|json)", note)
    assert found is not None, note
    return Path(found[0])


@pytest.mark.slow
async def test_a_long_text_is_cut_and_the_whole_is_a_resource_and_a_file(
    talkative: Daemon, connect: Connect
) -> None:
    client = await connect()
    result = await client.call("lines", {"size": 100_000})
    text = "".join(f"line {n}\n" for n in range(100_000))
    shown, note = [item["text"] for item in result["content"]]
    assert not result.get("isError")
    assert len(shown) < OUTPUT + 100
    head, missing, tail = re.split(r"\n\[… (\d+) bytes are left out here …\]\n", shown)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert head.endswith("\n")
    assert tail.startswith("line ")
    assert len(head) > len(tail) > OUTPUT / 4
    assert len(head) + int(missing) + len(tail) == len(text)
    for word in (str(len(text)), "100000 bytes", "`output`", "'talkative'", "tools.yaml"):
        assert word in note
    contents = await whole(client, note)
    assert (contents["mimeType"], contents["text"]) == ("text/plain", text)
    assert (await client.result("resources/list"))["resources"] == []
    file = file_of(note)
    assert file.read_text() == text
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


@pytest.mark.slow
async def test_a_client_of_the_modern_era_reads_it_too(talkative: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    params = modern(name="lines", arguments={"size": 50_000})
    result = await client.result("tools/call", params)
    found = RESOURCE.search(note_of(result))
    assert found is not None
    read = await client.result("resources/read", modern(uri=found[0]))
    assert read["resultType"] == "complete"
    assert read["contents"][0]["text"].endswith("line 49999\n")
    error = await client.error("resources/read", modern(uri="mcppd://results/" + "0" * 32))
    assert error["code"] == -32602


@pytest.mark.slow
async def test_another_agent_that_was_given_the_address_can_read_it(
    talkative: Daemon, connect: Connect
) -> None:
    mine, other = await connect(), await connect()
    note = note_of(await mine.call("lines", {"size": 50_000}))
    assert (await whole(other, note))["text"].endswith("line 49999\n")
    assert (await other.error("resources/read", {"uri": "mcppd://results/" + "0" * 32}))["code"] == -32002


@pytest.mark.slow
async def test_what_fits_is_sent_as_it_is(talkative: Daemon, connect: Connect) -> None:
    client = await connect()
    for name, size in (("both", OUTPUT - 10), ("lines", 5000), ("promised", 25_000), ("generous", 90_000)):
        result = await client.call(name, {"size": size})
        assert "left out" not in texts(result)
        assert len(result["content"]) == (2 if name == "both" else 1)
    for name, size in (("both", OUTPUT - 9), ("promised", 40_000), ("generous", 110_000)):
        assert "left out" in texts(await client.call(name, {"size": size}))


async def test_the_longest_text_is_cut_and_the_others_stay(talkative: Daemon, connect: Connect) -> None:
    client = await connect()
    display, result, note = (await client.call("both", {"size": 200_000}))["content"]
    assert display["text"] == "d" * 10
    assert display["annotations"] == {"audience": ["user"]}
    assert "left out" in result["text"]
    assert (await whole(client, note["text"]))["text"] == "d" * 10 + "\n\n" + "r" * 200_000


@pytest.mark.slow
async def test_structured_content_that_is_too_long_is_not_sent_and_the_result_is_an_error(
    talkative: Daemon, connect: Connect
) -> None:
    client = await connect()
    small = await client.call("rows", {"size": 10})
    assert small["structuredContent"] == {"rows": list(range(10))}
    result = await client.call("rows", {"size": 100_000})
    assert result["isError"]
    assert "structuredContent" not in result
    note = note_of(result)
    assert "the tool has run and succeeded" in note
    contents = await whole(client, note)
    assert contents["mimeType"] == "application/json"
    assert (
        json.loads(contents["text"])
        == {"rows": list(range(100_000))}
        == json.loads(file_of(note).read_text())
    )


@pytest.mark.parametrize("name", ["fails", "embedded"])
async def test_every_text_of_a_result_counts(talkative: Daemon, connect: Connect, name: str) -> None:
    client = await connect()
    result = await client.call(name, {"size": 300_000})
    assert bool(result.get("isError")) == (name != "embedded")
    assert len(json.dumps(result)) < OUTPUT + 2000
    assert len((await whole(client, note_of(result)))["text"]) > OUTPUT


async def test_pictures_are_never_cut(talkative: Daemon, connect: Connect) -> None:
    client = await connect()
    [item] = (await client.call("picture", {"size": 300_000}))["content"]
    assert len(item["data"]) > 300_000


@pytest.mark.slow
async def test_the_registry_goes_before_what_the_manifest_promises(
    talkative: Daemon, connect: Connect
) -> None:
    talkative.registry.write_text(
        "modules:\n  - path: tools/*\n    output: 2000\n    tools: {limits: {gen*: {output: 0}}}\n"
    )
    client = await connect()
    for name in ("lines", "promised"):
        result = await client.call(name, {"size": 1000})
        assert "its limit of 2000 bytes" in note_of(result)
        assert len(result["content"][0]["text"]) < 2100
    assert "left out" not in texts(await client.call("generous", {"size": 200_000}))


@pytest.mark.slow
async def test_limits_of_tools_are_not_sent_to_clients(talkative: Daemon, connect: Connect) -> None:
    client = await connect()
    tools = await client.tools()
    assert "output" not in tools["generous"]
    assert "timeout" not in tools["generous"]
    assert tools["promised"]["_meta"] == {"anthropic/maxResultSizeChars": 300_000}


@pytest.mark.slow
async def test_results_are_gone_with_the_daemon(talkative: Daemon, connect: Connect) -> None:
    client = await connect()
    file = file_of(note_of(await client.call("lines", {"size": 50_000})))
    assert file.exists()
    await talkative.stop()
    assert not file.exists()


@pytest.mark.slow
async def test_nobody_waits_for_the_cutting_of_a_long_result(talkative: Daemon, connect: Connect) -> None:
    """A result of 16 MB is made, cut, kept and read by one agent, while another goes on calling."""
    mine, other = await connect(), await connect()
    await asyncio.gather(mine.text("lines", {"size": 1}), other.text("lines", {"size": 1}))
    task = asyncio.create_task(mine.call("lines", {"size": 1_200_000}))
    answered = 0
    while not task.done():
        await other.text("lines", {"size": 1})
        answered += 1
    assert answered > 5
    assert len((await whole(mine, note_of(await task)))["text"]) > 12_000_000
