"""An agent's own copy: in a sandbox that forbids sockets, and for who wants no daemon (CASES K12)."""

from __future__ import annotations

import asyncio
import signal
import subprocess
from collections.abc import AsyncIterator

import pytest

from tests.e2e.counting import COUNTING, TOOLS, began, marks, params_of
from tests.e2e.home import MCPPD, SHIM, Home
from tests.harness import LIMIT, MODERN, Client, modern, texts, until
from tests.sandbox import confined, sandboxes

STDIO = [*MCPPD, "stdio"]


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    made = Home()
    made.module("counting", COUNTING, *TOOLS)
    yield made
    await made.close()


async def started(home: Home, *command: str, environment: dict[str, str] | None = None) -> Client:
    """An agent and its server, whose stderr is a file."""
    with (home.path / "stderr").open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command,
            cwd=home.work,
            env=home.environment | (environment or {}),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            limit=2**27,
        )
    assert process.stdout is not None
    return Client(process.stdout, process.stdin, process)


def said(home: Home) -> str:
    return (home.path / "stderr").read_text()


async def over(home: Home, client: Client) -> int:
    """The exit status of a server that ends by itself, with everything that it had started."""
    assert client.process is not None
    async with asyncio.timeout(LIMIT):
        status = await client.process.wait()
        await client.ended.wait()
    await until(lambda: not home.processes())
    await client.close()
    return status


async def end(home: Home, client: Client) -> int:
    """The same where the agent ends its stdin."""
    assert client.process is not None
    assert client.process.stdin is not None
    client.process.stdin.close()
    return await over(home, client)


def nothing_is_shared(home: Home) -> bool:
    return not home.daemons() and not home.sockets() and not list(home.runtime.rglob("lock*"))


@sandboxes
@pytest.mark.parametrize("forbidden", [["socket"], ["connect", "bind"]], ids="+".join)
@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_in_a_sandbox_without_sockets_the_shim_serves_the_modules_itself(
    home: Home, era: str, forbidden: list[str]
) -> None:
    client = await started(home, *confined(SHIM, *forbidden))
    assert client.process is not None
    if era == "legacy":
        await client.handshake()
    else:
        client.revision = MODERN
        assert (await client.result("server/discover", modern()))["supportedVersions"] == [MODERN]
    called = await client.result("tools/call", params_of(era, name="quick", arguments={"mark": "a"}))
    assert texts(called) == "done a"
    overview = texts(await client.result("tools/call", params_of(era, name="help", arguments={})))
    assert "this agent has its own copy of mcppd: no daemon, because the sandbox" in overview
    assert nothing_is_shared(home)
    [(pid, command)] = [each for each in home.processes().items() if b"\0stdio\0" in each[1]]
    assert pid == client.process.pid, command  # the very process that the agent has started
    [line] = said(home).splitlines()
    assert "sandbox" in line
    assert "Errno 1]" in line
    assert await end(home, client) == 0
    assert marks(home) == ["a"]


@pytest.mark.slow
async def test_who_wants_no_daemon_has_one_process_with_reloads_and_workers(home: Home) -> None:
    client = await started(home, *STDIO)
    await client.handshake()
    assert await client.text("quick", {"mark": "a"}) == "done a"
    module = home.path / "config" / "mcppd" / "tools" / "counting" / "mcpptool.py"
    module.write_text(COUNTING.replace('f"done {mark}"', 'f"changed {mark}"'))
    assert await client.text("quick", {"mark": "b"}) == "changed b"
    home.module("second", COUNTING, "another")
    await client.notified("notifications/tools/list_changed")
    assert {"another", "quick"} <= set(await client.tools())
    assert nothing_is_shared(home)
    assert "mcppd stdio" in (await client.text("help"))
    assert said(home).count("\n") == 1
    assert await end(home, client) == 0


@pytest.mark.slow
async def test_what_is_in_flight_at_the_end_of_stdin_is_answered(home: Home) -> None:
    client = await started(home, *STDIO)
    calls = [
        client.ask("tools/call", {"name": "short", "arguments": {"mark": f"m{number}"}})
        for number in range(3)
    ]
    assert await end(home, client) == 0
    assert [texts((await call)["result"]) for call in calls] == ["done m0", "done m1", "done m2"]


@pytest.mark.slow
async def test_a_pipe_is_answered_without_a_handshake(home: Home) -> None:
    done = await asyncio.create_subprocess_exec(
        *STDIO,
        env=home.environment,
        cwd=home.work,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    async with asyncio.timeout(LIMIT):
        out, _ = await done.communicate(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}')
    assert b'"quick"' in out
    assert done.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_lets_the_calls_that_run_end(home: Home, number: signal.Signals) -> None:
    client = await started(home, *STDIO)
    await client.handshake()
    running = client.ask("tools/call", {"name": "gated", "arguments": {"mark": "a"}})
    await began(home, "a")
    assert client.process is not None
    client.process.send_signal(number)
    later = client.ask("tools/call", {"name": "quick", "arguments": {"mark": "b"}})
    (home.path / "go-a").touch()
    async with asyncio.timeout(LIMIT):
        assert texts((await running)["result"]) == "done a"
    assert await over(home, client) == 0
    if later.done():  # it came before the end was begun, or was told that it wasn't begun
        answer = texts(later.result()["result"])
        assert answer == "done b" if "b" in marks(home) else "not begun" in answer


@pytest.mark.slow
async def test_a_second_signal_does_not_wait_for_calls(home: Home) -> None:
    client = await started(home, *STDIO)
    await client.handshake()
    running = client.ask("tools/call", {"name": "slow", "arguments": {"mark": "a"}})
    await began(home, "a")
    assert client.process is not None
    client.process.send_signal(signal.SIGTERM)
    async with asyncio.timeout(LIMIT / 2):  # less than the call would have been given
        while not running.done():
            await asyncio.sleep(0.1)
            if not running.done():
                client.process.send_signal(signal.SIGTERM)
    assert running.result()["result"]["isError"]
    await over(home, client)


async def test_one_that_is_killed_takes_its_workers_with_it(home: Home) -> None:
    client = await started(home, *STDIO)
    client.ask("tools/call", {"name": "slow", "arguments": {"mark": "a"}})
    await began(home, "a")
    assert client.process is not None
    client.process.kill()
    assert await over(home, client) == -signal.SIGKILL


@pytest.mark.slow
async def test_an_agent_that_goes_without_a_word_ends_it(home: Home) -> None:
    client = await started(home, *STDIO)
    client.ask("tools/call", {"name": "slow", "arguments": {"mark": "a"}})
    await began(home, "a")
    assert client.process is not None
    transport = client.process._transport  # type: ignore[attr-defined]
    transport.get_pipe_transport(1).close()
    async with asyncio.timeout(LIMIT):
        assert await client.process.wait() == 0
    await until(lambda: not home.processes())
    await client.close()


@pytest.mark.slow
async def test_a_registry_that_can_not_be_read_is_shown_by_a_tool_until_it_is_repaired(home: Home) -> None:
    registry = home.path / "config" / "mcppd" / "tools.yaml"
    good = registry.read_text()
    registry.write_text("modules:\n  - path: [\n")
    client = await started(home, *STDIO)
    await client.handshake()
    assert set(await client.tools()) == {"mcppd_status"}
    assert f"{registry}:" in await client.text("mcppd_status")
    assert f"{registry}:" in said(home)
    registry.write_text(good)
    await client.notified("notifications/tools/list_changed")
    assert "quick" in await client.tools()
    assert await client.text("quick", {"mark": "a"}) == "done a"
    assert await end(home, client) == 0


async def test_a_state_directory_that_can_not_be_written_costs_the_logs_only(home: Home) -> None:
    nowhere = {"XDG_STATE_HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"}
    client = await started(home, *STDIO, environment=nowhere)
    await client.handshake()
    assert await client.text("quick", {"mark": "a"}) == "done a"
    assert await end(home, client) == 0
    assert "Traceback" not in said(home)


@pytest.mark.slow
async def test_the_options_of_a_shim_are_its_own(home: Home) -> None:
    other = home.path / "other"
    other.mkdir()
    (other / "tools.yaml").write_text(f"modules:\n  - path: {home.path}/config/mcppd/tools/where\n")
    code = (
        "def execute(n, a, context=None):\n    return {'success': True, 'result': context['workspace_dir']}\n"
    )
    home.module("where", code, "where")
    words = ["--config", f"{other}/tools.yaml", "--workspace", str(other), "--meta-tools"]
    for command in [*STDIO, *words], confined([*SHIM, *words], "socket"):
        client = await started(home, *command)
        await client.handshake()
        assert set(await client.tools()) == {"where", "help", "call_tool"}
        assert await client.text("where") == str(other)
        assert await end(home, client) == 0


@sandboxes
async def test_where_not_even_pairs_may_be_made_the_shim_stays_and_says_so(home: Home) -> None:
    client = await started(home, *confined(SHIM, "socket", "socketpair"))
    await client.handshake()
    assert set(await client.tools()) == {"mcppd_status"}
    text = await client.text("mcppd_status")
    assert "sandbox" in text
    assert "socketpair(2)" in text
    assert await end(home, client) == 1


@pytest.mark.slow
async def test_values_of_all_sizes_go_through_whole(home: Home) -> None:
    home.module(
        "echo", "def execute(n, a, c=None):\n    return {'success': True, 'result': a['text']}\n", "echo"
    )
    client = await started(home, *STDIO)
    await client.handshake()
    for size in (0, 65_535, 65_536, 2**20):
        text = "ä" * (size // 2)
        result = await client.call("echo", {"text": text})
        assert texts(result).startswith(text[:1000])
    assert await end(home, client) == 0
