"""Prompts: declared in tool.yaml, got from mcpptool.py, in both eras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import MODERN, Client, Daemon, modern, texts

CHANGED = "notifications/prompts/list_changed"
REVIEW: dict[str, Any] = {
    "name": "review",
    "title": "Review",
    "description": "Reviews a file",
    "arguments": [
        {"name": "path", "description": "The file", "required": True},
        {"name": "depth", "enum": ["quick", "deep"]},
    ],
}
BODY = """
def get_prompt(name, arguments, context):
    return f"{name} {arguments} in {context['module_scope']}"
"""


@pytest.fixture
def prompts(daemon: Daemon) -> Daemon:
    daemon.module("one", BODY, prompts=[REVIEW])
    return daemon


async def listed(client: Client, **params: Any) -> dict[str, dict[str, Any]]:
    result = await client.result("prompts/list", params or None)
    return {prompt["name"]: prompt for prompt in result["prompts"]}


async def said(client: Client, name: str, **arguments: str) -> str:
    result = await client.result("prompts/get", {"name": name, "arguments": arguments})
    return "\n".join(message["content"]["text"] for message in result["messages"])


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_legacy_revision_lists_and_gets(prompts: Daemon, connect: Connect, revision: str) -> None:
    client = await connect(revision=None)
    result = await client.handshake(revision)
    assert result["capabilities"]["prompts"]["listChanged"] is True
    shown = (await listed(client))["review"]
    assert ("title" in shown) == (revision >= "2025-06-18")
    assert shown["arguments"] == [
        {"name": "path", "description": "The file", "required": True},
        {"name": "depth"},
    ]
    assert await said(client, "review", path="a.py") == "review {'path': 'a.py'} in local"


async def test_the_modern_era_lists_and_gets(prompts: Daemon, connect: Connect) -> None:
    client = await connect(revision=None)
    client.revision = MODERN
    page = await client.result("prompts/list", modern())
    assert (page["resultType"], page["ttlMs"], page["cacheScope"]) == ("complete", 0, "private")
    got = await client.result("prompts/get", modern(name="review", arguments={"path": "a.py"}))
    assert got["messages"][0]["role"] == "user"


async def test_a_prompt_that_is_not_there_is_an_error_with_the_nearest_names(
    prompts: Daemon, connect: Connect
) -> None:
    client = await connect()
    error = await client.error("prompts/get", {"name": "reviev"})
    assert (error["code"], error["data"]["nearest"]) == (-32602, ["review"])
    error = await client.error("prompts/get", {"name": "review", "arguments": {"depth": "deep"}})
    assert (error["code"], error["data"]["missing"]) == (-32602, ["path"])


async def test_a_prompt_that_fails_is_an_error_that_says_why_and_the_next_works(
    daemon: Daemon, connect: Connect
) -> None:
    body = """
    import os
    def get_prompt(name, arguments, context):
        if name == "raises":
            raise ValueError("no such thing")
        if name == "ends":
            os._exit(3)
        if name == "wrong":
            return 7
        return "fine"
    """
    daemon.module("one", body, prompts=[{"name": name} for name in ("raises", "ends", "wrong", "works")])
    client = await connect()
    for name, text in (("raises", "no such thing"), ("ends", "3"), ("wrong", "get_prompt")):
        error = await client.error("prompts/get", {"name": name})
        assert error["code"] == -32603
        assert text in error["message"]
        assert await said(client, "works") == "fine"


async def test_prompts_are_announced_once_when_their_list_changed_and_only_then(
    prompts: Daemon, connect: Connect
) -> None:
    client, modern_one = await connect(), await connect(revision=None)
    modern_one.revision = MODERN
    wanted = {"promptsListChanged": True}
    modern_one.ask("subscriptions/listen", modern(notifications=wanted), ident="listen")
    await modern_one.notified("notifications/subscriptions/acknowledged")
    await listed(client)
    client.notifications.clear()  # the first list may have been announced while it was connecting
    modern_one.notifications.clear()
    prompts.module("one", BODY.replace("in", "now in"), prompts=[REVIEW])
    assert "now in" in await said(client, "review", path="a.py")
    assert client.count(CHANGED) == 0
    prompts.manifest("one", prompts=[REVIEW, {"name": "plan"}])
    for each in (client, modern_one):
        await each.notified(CHANGED)
    assert sorted(await listed(client)) == ["plan", "review"]
    assert await said(client, "plan") == "plan {} now in local"
    assert [client.count(CHANGED), modern_one.count(CHANGED)] == [1, 1]
    assert client.count("notifications/tools/list_changed") == 0
    assert client.count("notifications/resources/list_changed") == 0


async def test_a_broken_save_leaves_the_last_good_prompt_and_its_description_says_so(
    prompts: Daemon, connect: Connect
) -> None:
    client = await connect()
    assert await said(client, "review", path="a.py") == "review {'path': 'a.py'} in local"
    file = prompts.tools / "one" / "mcpptool.py"
    file.write_text("def get_prompt(:\n")
    result = await client.result("prompts/get", {"name": "review", "arguments": {"path": "a.py"}})
    assert [each["content"]["text"] for each in result["messages"]] == ["review {'path': 'a.py'} in local"]
    assert f"{file}:1" in result["description"]
    prompts.module("one", BODY, prompts=[REVIEW])
    result = await client.result("prompts/get", {"name": "review", "arguments": {"path": "a.py"}})
    assert "Notice" not in result.get("description", "")


async def test_a_module_with_prompts_but_without_their_function_says_what_to_write(
    daemon: Daemon, connect: Connect
) -> None:
    daemon.module("one", "x = 1\n", prompts=[REVIEW])
    client = await connect()
    assert sorted(await listed(client)) == ["review"]
    error = await client.error("prompts/get", {"name": "review", "arguments": {"path": "a.py"}})
    assert error["code"] == -32603
    assert "get_prompt" in error["message"]


async def test_prompts_of_the_same_name_are_both_to_be_had(prompts: Daemon, connect: Connect) -> None:
    prompts.module("two", BODY.replace("{name}", "second"), prompts=[{"name": "review"}])
    client = await connect()
    assert sorted(await listed(client)) == ["review", "two__review"]
    assert (await said(client, "two__review")).startswith("second")
    assert (await said(client, "one__review", path="x")).startswith("review")
    help_text = await client.text("help")
    assert "two__review" in help_text


async def test_a_bad_prompt_is_left_out_alone_and_told_with_its_line(
    prompts: Daemon, connect: Connect
) -> None:
    bad = {"name": "bad", "arguments": [{"description": "nameless"}]}
    prompts.manifest("one", prompts=[bad, REVIEW])
    client = await connect()
    assert sorted(await listed(client)) == ["review"]
    told = await client.text("help")
    assert f"{prompts.tools / 'one' / 'tool.yaml'}:" in told


async def test_two_agents_get_prompts_in_their_own_projects(
    daemon: Daemon, connect: Connect, tmp_path: Path
) -> None:
    body = """
    import os
    def get_prompt(name, arguments, context):
        return os.getcwd()
    """
    daemon.module("one", body, prompts=[{"name": "where"}])
    places = [tmp_path / "first", tmp_path / "second"]
    clients = [await connect(cwd=place) for place in places]
    for client, place in zip(clients, places, strict=True):
        assert await said(client, "where") == str(place)


async def test_a_prompt_holds_what_content_holds(daemon: Daemon, connect: Connect) -> None:
    body = """
    def get_prompt(name, arguments, context):
        return {"description": "d", "messages": [
            {"role": "assistant", "content": [
                "text",
                {"type": "image", "data": b"png", "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": "a:b", "text": "c"}},
            ]},
        ]}
    """
    daemon.module("one", body, prompts=[{"name": "p"}])
    client = await connect()
    result = await client.result("prompts/get", {"name": "p"})
    assert [each["content"]["type"] for each in result["messages"]] == ["text", "image", "resource"]
    assert {each["role"] for each in result["messages"]} == {"assistant"}
    assert result["description"] == "d"


async def test_a_module_of_prompts_alone_has_no_tools(prompts: Daemon, connect: Connect) -> None:
    client = await connect()
    assert sorted(await client.tools()) == ["help"]
    assert "review" in texts(await client.call("help", {"tool": "one"}))
