"""A daemon ends, or is followed by another, under connected agents: what each of them sees of it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest

from tests.e2e.counting import COUNTING, TOOLS, assert_lives, began, marks, opened, params_of
from tests.e2e.home import Home
from tests.harness import LIMIT, Client, modern, texts, until

ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


async def mcppd(home: Home, *words: str) -> str:
    """Run a command that succeeds, while everything else goes on; what it says."""
    done = await asyncio.to_thread(home.mcppd, *words)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@ERAS
async def test_a_restart_is_not_seen_by_agents(home: Home, era: str) -> None:
    client = await opened(home, era)
    assert "quick" in {tool["name"] for tool in (await client.result("tools/list", params_of(era)))["tools"]}
    pids = {(await home.status())["pid"]}
    for number in range(3):
        said = await mcppd(home, "restart")
        assert "has been restarted" in said
        pids.add((await home.status())["pid"])
        result = await client.result(
            "tools/call", params_of(era, name="quick", arguments={"mark": f"m{number}"})
        )
        assert texts(result) == f"done m{number}"
    assert len(pids) == 4
    assert marks(home) == ["m0", "m1", "m2"]
    assert client.count("notifications/tools/list_changed") == 0
    assert_lives(client)
    await until(lambda: len(home.daemons()) == 1)


@ERAS
async def test_what_runs_ends_first_and_what_is_asked_meanwhile_is_answered(home: Home, era: str) -> None:
    client = await opened(home, era)
    old = (await home.status())["pid"]
    running = client.ask("tools/call", params_of(era, name="gated", arguments={"mark": "a"}))
    await began(home, "a")
    restarting = asyncio.create_task(mcppd(home, "restart"))
    await until(lambda: "is to follow" in home.log.read_text())
    held = client.ask("tools/call", params_of(era, name="quick", arguments={"mark": "b"}))
    assert "tools" in await client.result("tools/list", params_of(era))
    newcomer = await opened(home, era)
    assert "tools" in await newcomer.result("tools/list", params_of(era))
    assert not held.done()
    assert (await home.status())["pid"] == old
    (home.path / "go-a").touch()
    async with asyncio.timeout(LIMIT):
        assert texts((await running)["result"]) == "done a"
        assert texts((await held)["result"]) == "done b"
    await restarting
    assert (await home.status())["pid"] != old
    assert marks(home) == ["a", "b"]
    for each in (client, newcomer):
        assert_lives(each)


@pytest.mark.slow
async def test_calls_that_wait_for_a_worker_are_begun_by_the_next_daemon(home: Home) -> None:
    (home.path / "config/mcppd/tools.yaml").write_text("modules:\n  - path: tools/*\n    workers: 1\n")
    client = await opened(home, "legacy")
    asked = []
    for mark in ("a", "b", "c"):
        asked.append(client.ask("tools/call", {"name": "gated", "arguments": {"mark": mark}}))
        if mark == "a":
            await began(home, "a")
    restarting = asyncio.create_task(mcppd(home, "restart"))
    await until(lambda: "is to follow" in home.log.read_text())
    for mark in ("a", "b", "c"):
        (home.path / f"go-{mark}").touch()
    async with asyncio.timeout(LIMIT):
        assert [texts((await each)["result"]) for each in asked] == ["done a", "done b", "done c"]
    await restarting
    assert sorted(marks(home)) == ["a", "b", "c"]  # of calls at once any may get the worker first
    await until(lambda: home.log.read_text().count("gated by tester: ok") == 3)
    assert_lives(client)


@pytest.mark.slow
async def test_a_batch_with_a_call_is_held_as_a_whole(home: Home) -> None:
    client = await home.shim()
    await client.handshake("2025-03-26")
    running = client.ask("tools/call", {"name": "gated", "arguments": {"mark": "a"}})
    await began(home, "a")
    restarting = asyncio.create_task(mcppd(home, "restart"))
    await until(lambda: "is to follow" in home.log.read_text())
    answers = [client.expect("list"), client.expect("call")]
    call = {"name": "quick", "arguments": {"mark": "b"}}
    client.send(
        [
            {"jsonrpc": "2.0", "id": "list", "method": "tools/list"},
            {"jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": call},
        ]
    )
    await client.result("ping")
    assert not any(each.done() for each in answers)
    (home.path / "go-a").touch()
    async with asyncio.timeout(LIMIT):
        assert texts((await running)["result"]) == "done a"
        assert "tools" in (await answers[0])["result"]
        assert texts((await answers[1])["result"]) == "done b"
    await restarting
    assert_lives(client)


@pytest.mark.slow
async def test_a_list_that_changed_between_two_daemons_is_told_once(home: Home) -> None:
    legacy, listening = await opened(home, "legacy"), await opened(home, "modern")
    listening.ask("subscriptions/listen", modern(notifications={"toolsListChanged": True}), "listen:0")
    await listening.notified("notifications/subscriptions/acknowledged")
    pid = (await home.status())["pid"]
    os.kill(pid, signal.SIGSTOP)
    home.module("another", COUNTING, "other")
    os.kill(pid, signal.SIGKILL)
    await legacy.notified("notifications/tools/list_changed")
    [told] = await listening.notified("notifications/tools/list_changed")
    assert told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "listen:0"
    assert "other" in await legacy.tools()
    await mcppd(home, "restart")
    for client in (legacy, listening):
        await client.result("server/discover", modern())
        assert client.count("notifications/tools/list_changed") == 1
        assert client.count("notifications/prompts/list_changed") == 0
        assert_lives(client)


@ERAS
async def test_stopped_is_stopped_until_it_is_started(home: Home, era: str) -> None:
    client = await opened(home, era)
    await client.result("tools/list", params_of(era))
    running = client.ask("tools/call", params_of(era, name="gated", arguments={"mark": "a"}))
    await began(home, "a")
    stopping = asyncio.create_task(mcppd(home, "stop"))
    await until(lambda: "is stopping" in home.log.read_text())
    await until(lambda: client.process is not None)
    result = await client.result("tools/call", params_of(era, name="quick", arguments={"mark": "b"}))
    assert result["isError"]
    assert "mcppd start" in texts(result)
    (home.path / "go-a").touch()
    async with asyncio.timeout(LIMIT):
        assert texts((await running)["result"]) == "done a"
    await stopping
    assert not home.all_but_shims()
    result = await client.result("tools/call", params_of(era, name="quick", arguments={"mark": "c"}))
    assert "mcppd start" in texts(result)
    assert not home.all_but_shims()
    await mcppd(home, "start")

    async def is_done() -> bool:
        result = await client.result("tools/call", params_of(era, name="quick", arguments={"mark": "d"}))
        return texts(result) == "done d"

    async with asyncio.timeout(LIMIT):
        while not await is_done():
            await asyncio.sleep(0.05)
    assert marks(home) == ["a", "d"]
    assert_lives(client)


@pytest.mark.slow
async def test_one_that_does_not_come_to_be_changes_nothing(home: Home) -> None:
    client = await opened(home, "legacy")
    assert await client.text("quick", {"mark": "a"}) == "done a"
    pid = (await home.status())["pid"]
    registry = home.path / "config/mcppd/tools.yaml"
    before = registry.read_text()
    registry.write_text("modules: [\n")
    done = await asyncio.to_thread(home.mcppd, "restart")
    assert done.returncode == 1
    assert "tools.yaml:" in done.stderr
    registry.write_text(before)
    assert (await home.status())["pid"] == pid
    assert await client.text("quick", {"mark": "b"}) == "done b"
    assert_lives(client)


@pytest.mark.slow
async def test_one_that_dies_before_it_has_come_leaves_the_old_one(home: Home) -> None:
    client = await opened(home, "legacy")
    assert await client.text("quick", {"mark": "a"}) == "done a"
    pid = (await home.status())["pid"]
    follower = await Client.on_socket(home.runtime / "mcppd" / "control.sock")
    await follower.result("mcppd/restart", {"pid": 1, "version": "9"})
    await follower.close()
    assert await client.text("quick", {"mark": "b"}) == "done b"
    assert (await home.status())["pid"] == pid
    assert "has not come" in home.log.read_text()
    assert_lives(client)


@pytest.mark.slow
async def test_two_at_once_make_one(home: Home) -> None:
    client = await opened(home, "legacy")
    assert await client.text("quick", {"mark": "a"}) == "done a"
    done = await asyncio.gather(*(asyncio.to_thread(home.mcppd, "restart") for _ in range(3)))
    assert any(each.returncode == 0 for each in done)
    assert await client.text("quick", {"mark": "b"}) == "done b"
    await until(lambda: home.daemons() and len(home.daemons()) == 1)
    assert_lives(client)


@pytest.mark.slow
async def test_only_an_older_one_is_restarted_if_that_is_asked(home: Home) -> None:
    assert "not running" in await mcppd(home, "restart", "--if-older")
    assert home.daemons() == []
    assert "was not running" in await mcppd(home, "restart")
    pid = (await home.status())["pid"]
    assert "goes on" in await mcppd(home, "restart", "--if-older")
    assert (await home.status())["pid"] == pid


@pytest.mark.slow
async def test_a_plain_client_is_told_goodbye(home: Home) -> None:
    await mcppd(home, "start")
    client = await Client.on_socket(home.runtime / "mcppd" / "mcp.sock")
    await client.handshake()
    ended = client.ask("subscriptions/listen", modern(notifications={"toolsListChanged": True}), "listen:0")
    await client.notified("notifications/subscriptions/acknowledged")
    await mcppd(home, "restart")
    async with asyncio.timeout(LIMIT):
        assert "result" in await ended
        await client.ended.wait()
    await client.close()


async def test_a_stray_word_that_another_daemon_listens_misleads_none(home: Home) -> None:
    client = await opened(home, "legacy")
    control = await Client.on_socket(home.runtime / "mcppd" / "control.sock")
    await control.result("mcppd/moved")
    params = {"pid": os.getpid(), "version": "0"}  # of a daemon that never takes the lock
    await control.result("mcppd/restart", params)
    await control.result("mcppd/moved")
    await until(lambda: "has not come; this one goes on" in home.log.read_text())
    result = await client.result("tools/call", {"name": "quick", "arguments": {"mark": "a"}})
    assert texts(result) == "done a"
    assert_lives(client)
    await control.close()
