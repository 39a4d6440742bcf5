"""Subscriptions: who subscribed to a resource is told when it changed, and nobody else is."""

from __future__ import annotations

import shutil

import pytest

from tests.e2e.conftest import Connect
from tests.harness import MODERN, Client, Daemon, modern

UPDATED = "notifications/resources/updated"
TAG = "io.modelcontextprotocol/subscriptionId"
NOTES = {"uri": "note://all", "name": "all", "file": "notes.md"}
BODY = """
def execute(tool, arguments, context):
    for uri in arguments["uris"]:
        context["resource_updated"](uri)
    return {"success": True, "result": "told"}
"""


@pytest.fixture
def notes(daemon: Daemon) -> Daemon:
    directory = daemon.module("notes", BODY, "tell", resources=[NOTES])
    (directory / "notes.md").write_text("first\n")
    return daemon


async def listening(connect: Connect, *uris: str) -> Client:
    """A modern client that listens to some resources."""
    client = await connect(revision=None)
    client.revision = MODERN
    client.ask("subscriptions/listen", modern(notifications={"resourceSubscriptions": uris}), ident="l1")
    [acknowledged] = await client.notified("notifications/subscriptions/acknowledged")
    [(kind, honoured)] = acknowledged["params"]["notifications"].items()
    assert (kind, sorted(honoured)) == ("resourceSubscriptions", sorted(uris))
    return client


def told(client: Client) -> list[str]:
    return [each["params"]["uri"] for each in client.notifications if each["method"] == UPDATED]


async def text(client: Client, uri: str) -> str:
    params = modern(uri=uri) if client.revision == MODERN else {"uri": uri}
    contents = (await client.result("resources/read", params))["contents"]
    return str(contents[0]["text"])


async def test_a_saved_file_is_told_to_who_subscribed_in_both_eras_and_to_nobody_else(
    notes: Daemon, connect: Connect
) -> None:
    legacy, other = await connect(), await connect()
    new = await listening(connect, "note://all")
    assert await legacy.result("resources/subscribe", {"uri": "note://all"}) == {}
    await other.result("resources/subscribe", {"uri": "note://other"})
    file = notes.tools / "notes" / "notes.md"
    assert await text(legacy, "note://all") == "first\n"
    for number in range(1, 4):
        file.write_text(f"save {number}\n")
        for client in (legacy, new):
            await client.notified(UPDATED, number)
            assert await text(client, "note://all") == f"save {number}\n"
    assert told(legacy) == told(new) == ["note://all"] * 3
    assert {each["params"]["_meta"][TAG] for each in await new.notified(UPDATED)} == {"l1"}
    assert told(other) == []


@pytest.mark.parametrize("how", ["rename", "delete and make again", "directory made again"])
async def test_however_a_file_is_saved_it_is_told(daemon: Daemon, connect: Connect, how: str) -> None:
    directory = daemon.tools / "notes"
    (directory / "data").mkdir(parents=True)
    file = directory / "data" / "notes.md"
    file.write_text("first\n")
    daemon.manifest("notes", resources=[NOTES | {"file": "data/notes.md"}])
    client = await connect()
    await client.result("resources/subscribe", {"uri": "note://all"})
    assert await text(client, "note://all") == "first\n"
    for number in range(1, 3):
        content = f"save {number}\n"
        match how:
            case "rename":
                (directory / "data" / "new").write_text(content)
                (directory / "data" / "new").rename(file)
            case "delete and make again":
                file.unlink()
                assert (await client.error("resources/read", {"uri": "note://all"}))["code"] == -32603
                file.write_text(content)
            case _:
                shutil.rmtree(file.parent)
                file.parent.mkdir()
                file.write_text(content)
        await client.notified(UPDATED, number)
        assert await text(client, "note://all") == content


async def test_code_says_that_a_resource_changed(notes: Daemon, connect: Connect) -> None:
    legacy, new = await connect(), await listening(connect, "note://x", "note://all")
    await legacy.result("resources/subscribe", {"uri": "note://x"})
    assert await legacy.text("tell", {"uris": ["note://y", "note://x"]}) == "told"
    for client in (legacy, new):
        await client.notified(UPDATED)
        assert told(client) == ["note://x"]


@pytest.mark.slow
async def test_many_updates_in_a_row_are_few_notifications_and_the_last_is_told(
    notes: Daemon, connect: Connect
) -> None:
    client = await connect()
    for uri in ("note://x", "note://y"):
        await client.result("resources/subscribe", {"uri": uri})
    await client.text("tell", {"uris": ["note://x"] * 5000 + ["note://y"]})
    await client.notified(UPDATED, 3)
    assert told(client).count("note://y") == 1
    assert 2 <= told(client).count("note://x") < 50


async def test_who_unsubscribes_is_told_no_more(notes: Daemon, connect: Connect) -> None:
    client, new = await connect(), await listening(connect, "note://x")
    for uri in ("note://x", "note://y"):
        await client.result("resources/subscribe", {"uri": uri})
    assert await client.result("resources/unsubscribe", {"uri": "note://x"}) == {}
    new.notify("notifications/cancelled", {"requestId": "l1"})
    assert (await new.result("tools/list", modern()))["tools"]  # the cancellation came before it
    await client.text("tell", {"uris": ["note://x", "note://y"]})
    await client.notified(UPDATED)
    assert told(client) == ["note://y"]
    assert told(new) == []


async def test_open_listens_are_ended_when_the_daemon_stops(notes: Daemon) -> None:
    """Straight on the socket: a shim outlives its daemon, and its agent's listens too."""
    client = await Client.on_socket(notes.socket)
    client.revision = MODERN
    ended = client.ask(
        "subscriptions/listen", modern(notifications={"resourceSubscriptions": ["a:b"]}), ident="l1"
    )
    await client.notified("notifications/subscriptions/acknowledged")
    assert await notes.stop() == 0
    assert (await ended)["result"]["_meta"][TAG] == "l1"
    await client.close()
