"""Calls: what tools may do to themselves, and that nobody else notices."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.e2e.conftest import Connect
from tests.harness import Daemon, processes_below, texts, until

WILD = r"""
import ctypes, datetime, os, subprocess, sys, time, uuid, decimal, pathlib, threading

def execute(tool_name, arguments, context=None):
    return {"success": True, "result": globals()[tool_name](arguments, context)}

def prints(arguments, context):
    print("from python")
    sys.stderr.write("to stderr\n")
    os.write(1, b"from os.write\n")
    ctypes.CDLL(None).puts(b"from C")
    ctypes.CDLL(None).fflush(None)
    subprocess.run(["echo", "from a child"], check=True)
    return "printed"

def reads_stdin(arguments, context):
    return subprocess.run(["cat"], capture_output=True, text=True, timeout=10).stdout + sys.stdin.read()

def exits(arguments, context):
    os._exit(3)

def dies(arguments, context):
    ctypes.string_at(0)

def spins(arguments, context):
    while True:
        pass

def garbles(arguments, context):
    for descriptor in range(3, 1024):
        for text in (b'{"op":"joined","files":[[1]]}', b'{"op":"result","id":1}', b"[]", b"{"):
            try:
                os.write(descriptor, len(text).to_bytes(4, "big") + bytes(4) + text)
            except OSError:
                break
    time.sleep(1000)

def sleeps(arguments, context):
    time.sleep(1000)

def locks(arguments, context):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()

def raises(arguments, context):
    raise KeyError("what is missing")

def surrogate(arguments, context):
    return "a\ud800b"

def nan(arguments, context):
    return {"values": [float("nan"), float("inf"), 1.5]}

def kinds(arguments, context):
    return {
        "set": {3, 1, 2}, "bytes": b"caf\xc3\xa9", "when": datetime.datetime(2026, 1, 2, 3, 4, 5),
        "path": pathlib.Path("/tmp"), "id": uuid.UUID(int=1), "exact": decimal.Decimal("1.10"),
    }

def cycle(arguments, context):
    value = []
    value.append(value)
    return {"deep": value}

def generator(arguments, context):
    return {"rows": (x for x in [1])}

def large(arguments, context):
    return "x" * arguments["size"]

def echo(arguments, context):
    return arguments

def where(arguments, context):
    return [context["workspace_dir"], os.getcwd()]

def environment(arguments, context):
    return dict(os.environ)
"""

TOOLS = [
    "prints", "reads_stdin", "exits", "dies", "garbles", "spins", "sleeps", "locks", "raises", "surrogate", "nan",
    "kinds", "cycle", "generator", "large", "echo", "where", "environment",
]  # fmt: skip


@pytest.fixture
def wild(daemon: Daemon) -> Daemon:
    daemon.registry.write_text("modules:\n  - path: tools/*\n    timeout: 1.5\n")
    daemon.module("wild", WILD, *TOOLS, output=0)
    return daemon


async def test_what_a_tool_prints_never_reaches_the_wire(wild: Daemon, connect: Connect) -> None:
    client = await connect()
    assert await client.text("prints") == "printed"
    log = wild.home / "state" / "mcppd" / "modules" / "wild.log"
    await until(lambda: "from a child" in log.read_text())
    for line in ("from python", "to stderr", "from os.write", "from C"):
        assert line in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


async def test_a_tool_that_reads_stdin_gets_its_end(wild: Daemon, connect: Connect) -> None:
    client = await connect()
    assert await client.text("reads_stdin") == ""


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("exits", "exited with status 3"),
        ("dies", "SIGSEGV"),
        ("garbles", "connection"),
        ("spins", "1.5 s"),
        pytest.param("sleeps", "1.5 s", marks=pytest.mark.slow),
        pytest.param("locks", "1.5 s", marks=pytest.mark.slow),
    ],
)
async def test_a_tool_that_ends_badly_costs_its_own_call_only(
    wild: Daemon, connect: Connect, tool: str, said: str
) -> None:
    client, other = await connect(), await connect()
    bad = client.ask("tools/call", {"name": tool})
    while not bad.done():
        assert json.loads(await other.text("echo", {"still": "here"})) == {"still": "here"}
        await asyncio.sleep(0)
    failed = (await bad)["result"]
    assert failed["isError"]
    assert said in texts(failed)
    assert "unknown" in texts(failed)
    assert json.loads(await client.text("echo", {"next": 1})) == {"next": 1}
    await until(lambda: not _busy(wild))


async def test_an_exception_names_the_line_of_the_module(wild: Daemon, connect: Connect) -> None:
    client = await connect()
    failed = await client.failure("raises")
    assert "KeyError" in failed
    assert "mcpptool.py:" in failed
    assert "workers/child" not in failed


async def test_values_that_json_lacks_are_made_sane(wild: Daemon, connect: Connect) -> None:
    client = await connect()
    assert await client.text("surrogate") == "a\ufffdb"
    assert json.loads(await client.text("nan")) == {"values": [None, None, 1.5]}
    assert json.loads(await client.text("kinds")) == {
        "set": [1, 2, 3],
        "bytes": "café",
        "when": "2026-01-02T03:04:05",
        "path": "/tmp",
        "id": "00000000-0000-0000-0000-000000000001",
        "exact": "1.10",
    }
    assert "$.deep[0]" in await client.failure("cycle")
    assert "$.rows" in await client.failure("generator")


@pytest.mark.slow
async def test_long_lines_arrive_whole_both_ways(wild: Daemon, connect: Connect) -> None:
    client = await connect()
    for size in (2**16 - 1, 2**16, 2**20 + 1, 17 * 2**20):
        assert len(await client.text("large", {"size": size})) == size
        assert len(json.loads(await client.text("echo", {"text": "y" * size}))["text"]) == size


@pytest.mark.slow
async def test_two_agents_in_two_directories_each_get_their_own(wild: Daemon, connect: Connect) -> None:
    clients = [await connect() for _ in range(4)]
    answers = await asyncio.gather(*(client.text("where") for client in clients for _ in range(5)))
    for index, answer in enumerate(answers):
        expected = str(wild.home / f"work{index // 5}")
        assert json.loads(answer) == [expected, expected]


async def test_the_environment_of_a_call_is_the_base_and_what_was_passed(
    wild: Daemon, connect: Connect
) -> None:
    wild.registry.write_text(
        "modules:\n  - path: tools/*\n    env: {FROM_REGISTRY: yes it is}\n    pass_env: [PASSED]\n"
    )
    client = await connect(env={"PASSED": "mine", "SECRET": "s3cret", "NOTIFY_SOCKET": "/x"})
    other = await connect(env={"PASSED": "theirs"})
    mine, theirs = [json.loads(await each.text("environment")) for each in (client, other)]
    assert (mine["FROM_REGISTRY"], mine["PASSED"], theirs["PASSED"]) == ("yes it is", "mine", "theirs")
    assert "SECRET" not in mine
    assert "NOTIFY_SOCKET" not in mine
    assert mine["HOME"] == str(wild.home)
    assert "s3cret" not in wild.output + json.dumps(await wild.control("mcppd/status"))


@pytest.mark.slow
async def test_strings_are_converted_only_where_nothing_is_lost(daemon: Daemon, connect: Connect) -> None:
    schema = {
        "type": "object",
        "properties": {
            "count": {"type": "integer"},
            "ratio": {"type": "number"},
            "flag": {"type": "boolean"},
            "items": {"type": "array"},
            "options": {"type": "object"},
            "text": {"type": "string"},
        },
        "additionalProperties": False,
    }
    body = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': arguments}\n"
    daemon.module("typed", body, {"name": "typed", "description": "echo", "inputSchema": schema})
    client = await connect()
    given = {"count": "5", "ratio": "1e3", "flag": "true", "items": "[1]", "options": "{}", "text": "007"}
    assert json.loads(await client.text("typed", given)) == {
        "count": 5,
        "ratio": 1000.0,
        "flag": True,
        "items": [1],
        "options": {},
        "text": "007",
    }
    for bad in (" 7 ", "0x1", "007", "1e3"):
        assert "$.count" in await client.failure("typed", {"count": bad})
    both = await client.failure("typed", {"count": "x", "flag": 3, "more": 1})
    assert "$.count" in both
    assert "$.flag" in both
    assert "more" in both


@pytest.mark.slow
async def test_a_pattern_that_never_ends_is_ended_and_stops_nobody(daemon: Daemon, connect: Connect) -> None:
    daemon.registry.write_text("modules:\n  - path: tools/*\n")
    schema = {"type": "object", "properties": {"text": {"type": "string", "pattern": "^(a+)+$"}}}
    body = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': 'ran'}\n"
    daemon.module("evil", body, {"name": "evil", "description": "evil", "inputSchema": schema}, "plain")
    client = await connect(env={"MCPP_TIMEOUT_SECONDS": "1"})
    assert await client.text("evil", {"text": "aaa"}) == "ran"
    hanging = client.ask("tools/call", {"name": "evil", "arguments": {"text": "a" * 40 + "!"}})
    assert await client.text("plain") == "ran"
    assert (await client.response("ping"))["result"] == {}
    del hanging


@pytest.mark.slow
async def test_two_hundred_calls_at_once_are_served_fairly_by_few_workers(
    wild: Daemon, connect: Connect
) -> None:
    wild.registry.write_text("modules:\n  - path: tools/*\n")
    client, other = await connect(), await connect()
    many = [client.ask("tools/call", {"name": "echo", "arguments": {"n": n}}) for n in range(200)]
    assert json.loads(await other.text("echo", {"n": -1})) == {"n": -1}
    answers = [json.loads(texts((await each)["result"]))["n"] for each in many]
    assert answers == list(range(200))
    assert len(processes_below(wild.pid)) <= 6  # the spawner, four workers, one that checks schemas


@pytest.mark.slow
async def test_a_cancelled_call_gets_no_answer_and_frees_its_worker(wild: Daemon, connect: Connect) -> None:
    wild.registry.write_text("modules:\n  - path: tools/*\n    workers: 1\n")
    client = await connect()
    assert json.loads(await client.text("echo", {"a": 1})) == {"a": 1}
    slow = client.ask("tools/call", {"name": "sleeps"}, ident="slow")
    assert (await client.response("ping"))["result"] == {}
    client.notify("notifications/cancelled", {"requestId": "slow"})
    assert json.loads(await client.text("echo", {"a": 2})) == {"a": 2}
    assert not slow.done()


@pytest.mark.slow
async def test_a_client_that_goes_away_has_its_calls_ended(wild: Daemon, connect: Connect) -> None:
    wild.registry.write_text("modules:\n  - path: tools/*\n")
    client = await connect()
    assert json.loads(await client.text("echo", {"a": 1})) == {"a": 1}
    client.ask("tools/call", {"name": "spins"})
    await until(lambda: _busy(wild))
    await client.close()
    await until(lambda: not _busy(wild))


@pytest.mark.slow
async def test_progress_comes_while_the_call_runs_and_only_if_asked_for(
    daemon: Daemon, connect: Connect
) -> None:
    body = """
    import time
    def execute(tool_name, arguments, context=None):
        for step in range(3):
            context["report_progress"](step, 3, f"step {step}")
            time.sleep(0.06)
        return {"success": True, "result": "done"}
    """
    daemon.module("slow", body, "slow")
    client = await connect()
    assert await client.text("slow") == "done"
    assert client.count("notifications/progress") == 0
    result = await client.call("slow", _meta={"progressToken": "mine"})
    assert texts(result) == "done"
    seen = [each["params"] for each in client.notifications if each["method"] == "notifications/progress"]
    assert [each["progress"] for each in seen] == [0, 1, 2]
    assert {each["progressToken"] for each in seen} == {"mine"}


@pytest.mark.slow
async def test_structured_content_is_sent_where_it_was_declared(daemon: Daemon, connect: Connect) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    body = "def execute(tool_name, arguments, context=None):\n    return {'success': True, 'result': arguments}\n"
    tool: dict[str, Any] = {"name": "structured", "description": "s", "outputSchema": schema}
    daemon.module("s", body, tool, "plain")
    client, old = await connect(), await connect(revision="2025-03-26")
    result = await client.call("structured", {"n": 3})
    assert result["structuredContent"] == {"n": 3}
    assert json.loads(texts(result)) == {"n": 3}
    assert "structuredContent" not in await client.call("plain", {"n": 3})
    assert "structuredContent" not in await old.call("structured", {"n": 3})
    assert "outputSchema" in await client.failure("structured", {"n": "three"})


def _busy(daemon: Daemon) -> bool:
    """Whether a process below the daemon is using a processor."""
    for pid in processes_below(daemon.pid):
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rpartition(")")[2].split()[0] == "R":
                    return True
        except OSError:
            continue
    return False
