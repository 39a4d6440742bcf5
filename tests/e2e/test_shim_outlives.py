"""A real daemon is killed in the middle of things; the shim stays, and its agent hardly notices."""

from __future__ import annotations

import asyncio
import os
import select
import signal
from collections.abc import AsyncIterator

import pytest

from tests.e2e.counting import COUNTING, TOOLS, assert_lives, began, marks, opened, params_of
from tests.e2e.home import Home
from tests.harness import LIMIT, Client, modern, texts, until


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


async def kill(home: Home) -> int:
    """Kill the daemon and wait until it is dead."""
    pid: int = (await home.status())["pid"]
    process = os.pidfd_open(pid)
    os.kill(pid, signal.SIGKILL)
    await ended(process)
    return pid


async def ended(process: int) -> None:
    """Wait until the process of a descriptor has ended; only then are its sockets closed too."""
    await until(lambda: select.select([process], [], [], 0)[0])
    os.close(process)


async def freeze(home: Home) -> int:
    """Let the daemon take everything and do nothing."""
    pid: int = (await home.status())["pid"]
    os.kill(pid, signal.SIGSTOP)
    return pid


def end(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


ERAS = pytest.mark.parametrize("era", ["legacy", "modern"])


async def test_a_killed_daemon_is_followed_by_another_under_a_connected_agent(home: Home) -> None:
    client = await home.shim()
    await client.handshake()
    killed = set()
    for number in range(5):
        assert await client.text("quick", {"mark": f"m{number}"}) == f"done m{number}"
        killed.add(await kill(home))
    assert await client.text("quick", {"mark": "last"}) == "done last"
    assert_lives(client)
    assert (await home.status())["pid"] not in killed
    assert len(killed) == 5
    assert marks(home) == [f"m{number}" for number in range(5)] + ["last"]


@ERAS
async def test_a_call_that_ran_when_its_daemon_was_killed_gets_one_answer_and_is_made_once(
    home: Home, era: str
) -> None:
    client = await opened(home, era)
    call = client.ask("tools/call", params_of(era, name="slow", arguments={"mark": "slow"}))
    await began(home, "slow")
    await kill(home)
    async with asyncio.timeout(LIMIT):
        result = (await call)["result"]
    assert result["isError"] is True
    assert "outcome is unknown" in texts(result)
    assert ("resultType" in result) is (era == "modern")
    result = await client.result("tools/call", params_of(era, name="quick", arguments={"mark": "after"}))
    assert texts(result) == "done after"
    assert marks(home) == ["slow", "after"]
    assert_lives(client)


@ERAS
async def test_what_a_daemon_had_taken_and_not_begun_is_served_by_the_next(home: Home, era: str) -> None:
    client = await opened(home, era)
    frozen = await freeze(home)
    methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"]
    asked = [client.ask(method, params_of(era)) for method in methods]
    asked.append(client.ask("server/discover", modern()))
    call = client.ask("tools/call", params_of(era, name="quick", arguments={"mark": "once"}))
    end(frozen)
    async with asyncio.timeout(LIMIT):
        for each in asked:
            assert "result" in await each
        result = (await call)["result"]
    assert marks(home) == (["once"] if texts(result) == "done once" else [])  # if it had been taken at all
    assert result["isError"] is (marks(home) == [])
    assert_lives(client)


@pytest.mark.slow
async def test_a_session_goes_on_as_it_was_settled(home: Home) -> None:
    client = await home.shim()
    await client.handshake("2025-06-18")
    await client.result("logging/setLevel", {"level": "error"})
    await kill(home)
    assert await client.text("quick", {"mark": "1"}) == "done 1"
    await client.result("logging/setLevel", {"level": "debug"})
    await kill(home)
    assert await client.text("quick", {"mark": "2"}) == "done 2"
    assert len(await client.notified("notifications/message")) == 1
    [session] = (await home.status())["sessions"]
    assert session["client"]["name"] == "tester"
    home.module("another", COUNTING, "other")
    await client.notified("notifications/tools/list_changed")
    assert "other" in await client.tools()
    assert_lives(client)


@pytest.mark.slow
async def test_an_open_listen_hears_of_changes_at_the_next_daemon(home: Home) -> None:
    client = await opened(home, "modern")
    client.ask("subscriptions/listen", modern(notifications={"toolsListChanged": True}), "listen:0")
    await client.notified("notifications/subscriptions/acknowledged")
    for number in range(2):
        await kill(home)
        await client.result("tools/list", modern())
        home.module(f"another{number}", COUNTING, f"other{number}")
        changed = await client.notified("notifications/tools/list_changed", number + 1)
        assert changed[-1]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == "listen:0"
    assert client.count("notifications/subscriptions/acknowledged") == 1
    assert_lives(client)


@pytest.mark.slow
async def test_a_question_of_a_killed_daemon_is_taken_back_and_asked_by_the_next(home: Home) -> None:
    client = await home.shim()
    await client.handshake(capabilities={"roots": {}})
    await until(lambda: client.requests)
    await kill(home)
    [cancelled] = await client.notified("notifications/cancelled")
    assert cancelled["params"]["requestId"] == client.requests[0]["id"]
    await until(lambda: len(client.requests) == 2)
    assert client.requests[1]["id"] != client.requests[0]["id"]
    for request in client.requests:
        client.send({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": []}})
    assert await client.text("quick", {"mark": "x"}) == "done x"
    assert_lives(client)


@ERAS
async def test_a_daemon_that_is_told_to_end_finishes_its_calls_and_is_followed(home: Home, era: str) -> None:
    client = await opened(home, era)
    call = client.ask("tools/call", params_of(era, name="short", arguments={"mark": "a"}))
    await began(home, "a")
    pid = (await home.status())["pid"]
    process = os.pidfd_open(pid)
    os.kill(pid, signal.SIGTERM)
    async with asyncio.timeout(LIMIT):
        assert texts((await call)["result"]) == "done a"
    await ended(process)
    result = await client.result("tools/call", params_of(era, name="quick", arguments={"mark": "b"}))
    assert texts(result) == "done b"
    assert_lives(client)


async def test_a_daemon_that_does_not_want_the_shim_is_told_by_the_shims_own_tool(home: Home) -> None:
    await (await home.shim()).tools()  # a daemon of the default registry
    other = home.path / "other.yaml"
    other.write_text("modules: []\n")
    client = await home.shim("--config", str(other), "--socket", str(home.runtime / "mcppd" / "mcp.sock"))
    result = await client.result("initialize", {"protocolVersion": "2025-11-25"})
    assert "serves the registry" in result["instructions"]
    assert set(await client.tools()) == {"mcppd_status"}
    assert "serves the registry" in await client.text("mcppd_status")
    assert "serves the registry" in await client.failure("quick")
    assert_lives(client)


@pytest.mark.slow
async def test_agents_that_call_while_daemons_are_killed_get_each_answer_once(home: Home) -> None:
    agents = [await opened(home, ("legacy", "modern")[number % 2]) for number in range(4)]
    done: list[str] = []
    unknown: list[str] = []
    is_over = asyncio.Event()

    async def work(number: int, client: Client) -> None:
        era, turn = ("legacy", "modern")[number % 2], 0
        while not is_over.is_set():
            turn += 1
            mark = f"{number}.{turn}"
            asked = client.ask("tools/list", params_of(era))
            call = client.ask("tools/call", params_of(era, name="quick", arguments={"mark": mark}))
            async with asyncio.timeout(2 * LIMIT):
                assert "result" in await asked
                result = (await call)["result"]
            (unknown if result["isError"] else done).append(mark)

    async def killing() -> None:
        for _ in range(6):
            await more(20)
            await kill(home)
        is_over.set()

    async def more(count: int) -> None:
        goal = len(done) + count
        await until(lambda: len(done) >= goal, 2 * LIMIT)

    await asyncio.gather(killing(), *(work(number, client) for number, client in enumerate(agents)))
    made = marks(home)
    assert len(set(made)) == len(made)
    assert set(done) <= set(made) <= {*done, *unknown}
    for client in agents:
        assert_lives(client)
