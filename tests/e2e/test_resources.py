"""Resources: files beside the manifest, code that reads, templates, and what only code knows."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from mcppd.serving.live_resources import LIST_LIMIT
from tests.e2e.conftest import Connect
from tests.harness import MODERN, Client, Daemon, modern

CHANGED = "notifications/resources/list_changed"
NOTES = {"uri": "note://all", "name": "all", "file": "notes.md"}
CODE = {"uri": "note://code", "name": "code", "mimeType": "text/x-code"}
TEMPLATE = {"uriTemplate": "note://{day}/{+path}", "name": "by day"}
BODY = """
def read_resource(uri, variables, context):
    if variables.get("day") == "never":
        return None
    if variables.get("day") == "fail":
        raise ValueError("no such day")
    return f"{uri} {variables} v1"
"""


@pytest.fixture
def notes(daemon: Daemon) -> Daemon:
    directory = daemon.module("notes", BODY, resources=[NOTES, CODE], resourceTemplates=[TEMPLATE])
    (directory / "notes.md").write_text("first\n")
    return daemon


async def listed(client: Client, **params: Any) -> list[str]:
    result = await client.result("resources/list", params or None)
    return [resource["uri"] for resource in result["resources"]]


async def read(client: Client, uri: str) -> list[dict[str, Any]]:
    contents: list[dict[str, Any]] = (await client.result("resources/read", {"uri": uri}))["contents"]
    return contents


async def text(client: Client, uri: str) -> str:
    [contents] = await read(client, uri)
    assert contents["uri"] == uri
    return str(contents["text"])


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_legacy_revision_lists_and_reads(notes: Daemon, connect: Connect, revision: str) -> None:
    client = await connect(revision=None)
    result = await client.handshake(revision)
    assert result["capabilities"]["resources"] == {"listChanged": True, "subscribe": True}
    assert await listed(client) == ["note://all", "note://code"]
    templates = await client.result("resources/templates/list")
    assert [each["uriTemplate"] for each in templates["resourceTemplates"]] == ["note://{day}/{+path}"]
    [contents] = await read(client, "note://all")
    assert contents == {"uri": "note://all", "mimeType": "text/markdown", "text": "first\n"}
    [contents] = await read(client, "note://code")
    assert contents == {"uri": "note://code", "mimeType": "text/x-code", "text": "note://code {} v1"}
    assert await text(client, "note://may%201/a/b") == (
        "note://may%201/a/b {'day': 'may 1', 'path': 'a/b'} v1"
    )
    error = await client.error("resources/read", {"uri": "note://nowhere"})
    assert (error["code"], error["data"]) == (-32002, {"uri": "note://nowhere"})


async def test_the_modern_era_lists_and_reads(notes: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    client.revision = MODERN
    for method in ("resources/list", "resources/templates/list"):
        page = await client.result(method, modern())
        assert (page["resultType"], page["ttlMs"], page["cacheScope"]) == ("complete", 0, "private")
    got = await client.result("resources/read", modern(uri="note://all"))
    assert (got["contents"][0]["text"], got["ttlMs"], got["cacheScope"]) == ("first\n", 0, "private")
    error = await client.error("resources/read", modern(uri="note://nowhere"))
    assert (error["code"], error["data"]) == (-32602, {"uri": "note://nowhere"})


async def test_what_code_says_is_not_there_is_not_found_and_what_fails_says_why(
    notes: Daemon, connect: Connect
) -> None:
    client = await connect()
    assert (await client.error("resources/read", {"uri": "note://never/x"}))["code"] == -32002
    error = await client.error("resources/read", {"uri": "note://fail/x"})
    assert error["code"] == -32603
    assert "no such day" in error["message"]


async def test_bytes_text_and_json_are_read_as_what_they_are(daemon: Daemon, connect: Connect) -> None:
    body = """
    def read_resource(uri, variables, context):
        two = ["one", {"uri": "a:other", "text": "two"}]
        return {"a:bytes": b"\\x00\\xff", "a:json": {"json": {"n": 1}}, "a:two": two}[uri]
    """
    names = ("a:bytes", "a:json", "a:two")
    daemon.module("one", body, resources=[{"uri": uri, "name": uri} for uri in names])
    client = await connect()
    assert await read(client, "a:bytes") == [
        {"uri": "a:bytes", "blob": base64.b64encode(b"\x00\xff").decode()}
    ]
    assert await read(client, "a:json") == [
        {"uri": "a:json", "mimeType": "application/json", "text": '{"n":1}'}
    ]
    assert [each["uri"] for each in await read(client, "a:two")] == ["a:two", "a:other"]


async def test_a_module_of_files_alone_needs_no_code(daemon: Daemon, connect: Connect) -> None:
    directory = daemon.tools / "files"
    (directory / "data").mkdir(parents=True)
    (directory / "data" / "logo.png").write_bytes(b"\x89PNG\xff")
    daemon.manifest("files", resources=[{"uri": "a:logo", "name": "logo", "file": "data/logo.png"}])
    client = await connect()
    assert await read(client, "a:logo") == [
        {
            "uri": "a:logo",
            "mimeType": "image/png",
            "blob": base64.b64encode(b"\x89PNG\xff").decode(),
        }
    ]
    (directory / "data" / "logo.png").unlink()
    error = await client.error("resources/read", {"uri": "a:logo"})
    assert error["code"] == -32603
    assert f"{directory}/data/logo.png" in error["message"]


@pytest.mark.slow
async def test_a_file_is_read_as_it_lies_on_the_disk_whatever_became_of_the_code(
    notes: Daemon, connect: Connect
) -> None:
    client = await connect()
    directory = notes.tools / "notes"
    assert await text(client, "note://code") == "note://code {} v1"
    (directory / "mcpptool.py").write_text("def read_resource(:\n")
    (directory / "notes.md").write_text("second\n")
    assert await text(client, "note://all") == "second\n"
    contents = await read(client, "note://code")
    assert [each["text"] for each in contents[:-1]] == ["note://code {} v1"]
    assert contents[-1]["uri"] == "mcppd://notice"
    assert f"{directory}/mcpptool.py:1" in contents[-1]["text"]
    error = await client.error("resources/read", {"uri": "note://fail/x"})
    assert "no such day" in error["message"]
    assert f"{directory}/mcpptool.py:1" in error["message"]
    notes.module("notes", BODY.replace("v1", "v2"), resources=[NOTES, CODE])
    assert await text(client, "note://code") == "note://code {} v2"


async def test_lists_are_announced_when_they_changed_and_only_then(notes: Daemon, connect: Connect) -> None:
    client, modern_one = await connect(), await connect(revision=None)
    modern_one.revision = MODERN
    wanted = {"resourcesListChanged": True}
    modern_one.ask("subscriptions/listen", modern(notifications=wanted), ident="listen")
    await modern_one.notified("notifications/subscriptions/acknowledged")
    await listed(client)
    client.notifications.clear()  # the first lists may have been announced while it was connecting
    modern_one.notifications.clear()
    changed = {"resources": [NOTES, CODE], "resourceTemplates": [TEMPLATE]}
    notes.module("notes", BODY.replace("v1", "v2"), **changed)
    assert await text(client, "note://code") == "note://code {} v2"
    assert client.count(CHANGED) == 0
    more = {"uri": "note://more", "name": "more"}
    notes.manifest("notes", resources=[NOTES, CODE, more], resourceTemplates=[])
    for each in (client, modern_one):
        await each.notified(CHANGED)
    assert await listed(client) == ["note://all", "note://code", "note://more"]
    templates = await client.result("resources/templates/list")
    assert templates["resourceTemplates"] == []
    assert [client.count(CHANGED), modern_one.count(CHANGED)] == [1, 1]
    assert client.count("notifications/prompts/list_changed") == 0


@pytest.mark.slow
async def test_a_bad_resource_is_left_out_alone_and_told(notes: Daemon, connect: Connect) -> None:
    bad = [{"uri": "no uri", "name": "x"}, {"uri": "a:out", "name": "out", "file": "../secret"}]
    notes.manifest("notes", resources=[*bad, NOTES])
    client = await connect()
    assert await listed(client) == ["note://all"]
    told = await client.text("help")
    assert "no uri" in told
    assert "secret" in told


# what only code knows

LIVE = """
import time
def read_resource(uri, variables, context):
    return f"{uri} read" if uri.startswith("live://") else None
def list_resources(context):
    return [{"uri": "live://b", "name": "b", "mimeType": "text/b"}, {"uri": "live://a", "name": "a"}]
"""


@pytest.mark.slow
async def test_resources_that_only_code_knows_are_listed_in_order_and_read(
    notes: Daemon, connect: Connect
) -> None:
    notes.module("live", LIVE, resources=[{"uri": "live://c", "name": "c"}])
    client = await connect()
    assert await listed(client) == ["live://a", "live://b", "live://c", "note://all", "note://code"]
    assert await read(client, "live://b") == [
        {"uri": "live://b", "mimeType": "text/b", "text": "live://b read"}
    ]
    assert (await client.error("resources/read", {"uri": "live://z"}))["code"] == -32002


async def test_a_list_follows_what_code_knows_at_that_moment(daemon: Daemon, connect: Connect) -> None:
    body = """
    import os
    def list_resources(context):
        return [{"uri": f"live://{name}", "name": name} for name in os.listdir(context["workspace_dir"])]
    def read_resource(uri, variables, context):
        return open(uri.removeprefix("live://")).read()
    """
    daemon.module("live", body, resources=[{"uri": "live://none", "name": "none"}])
    place = daemon.home / "place"
    place.mkdir()
    client, other = await connect(cwd=place), await connect()
    assert await listed(client) == ["live://none"]
    (place / "a").write_text("of a")
    assert await listed(client) == ["live://a", "live://none"]
    assert await text(client, "live://a") == "of a"
    assert await listed(other) == ["live://none"]


@pytest.mark.slow
async def test_a_module_that_lists_wrongly_takes_nothing_from_the_others_and_is_told(
    notes: Daemon, connect: Connect
) -> None:
    notes.module("live", LIVE)
    notes.module("mixed", LIVE.replace('"live://', '"mixed://').replace('"uri": "mixed://b"', '"uri": 7'))
    notes.module("raises", LIVE + "\ndef list_resources():\n    raise ValueError('no list')\n")
    notes.module("ends", LIVE + "\nimport os\ndef list_resources():\n    os._exit(3)\n")
    notes.module("odd", LIVE + "\ndef list_resources():\n    return 7\n")
    client = await connect()
    uris = ["live://a", "live://b", "mixed://a", "note://all", "note://code"]
    assert await listed(client) == uris
    told = await client.text("help")
    for part in ("no list", "ends", "odd", "list_resources()[0]['uri']"):
        assert part in told
    notes.module("raises", LIVE)
    await listed(client)
    assert "no list" not in await client.text("help")


@pytest.mark.slow
async def test_a_module_that_is_slow_to_list_holds_nobody_for_long(notes: Daemon, connect: Connect) -> None:
    flag = notes.home / "flag"
    slow = f"""
    import os, time
    def list_resources():
        while not os.path.exists({str(flag)!r}):
            time.sleep(0.01)
        return [{{"uri": "slow://a", "name": "a"}}]
    def execute(tool, arguments, context):
        return {{"success": True, "result": "fine"}}
    """
    notes.module("slow", slow, "tool", timeout=0)
    client = await connect()
    asked = client.ask("resources/list")
    assert await client.result("ping") == {}
    assert await client.text("tool") == "fine"
    uris = [each["uri"] for each in (await asked)["result"]["resources"]]
    assert uris == ["note://all", "note://code"]
    assert "slow" in await client.text("help")
    flag.touch()
    assert await listed(client) == ["note://all", "note://code", "slow://a"]


@pytest.mark.slow
async def test_a_module_whose_import_takes_longer_than_a_list_waits_is_in_the_next(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("heavy", f"import time\ntime.sleep({LIST_LIMIT + 0.7})\n{LIVE}")
    client = await connect()
    assert await listed(client) == []
    assert await listed(client) == ["live://a", "live://b"]


async def test_what_a_manifest_declares_wins_over_what_code_lists(daemon: Daemon, connect: Connect) -> None:
    daemon.module("live", LIVE, resources=[{"uri": "live://a", "name": "declared"}])
    client = await connect()
    result = await client.result("resources/list")
    assert [each["name"] for each in result["resources"]] == ["declared", "b"]


async def test_other_code_that_lists_resources_is_announced(daemon: Daemon, connect: Connect) -> None:
    daemon.module("live", LIVE)
    client = await connect()
    await listed(client)
    client.notifications.clear()
    daemon.module("live", LIVE.replace("live://b", "live://d"))
    await client.notified(CHANGED)
    assert await listed(client) == ["live://a", "live://d"]
    assert client.count("notifications/tools/list_changed") == 0
