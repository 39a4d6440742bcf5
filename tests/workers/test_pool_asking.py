"""Calls that ask their client: what stands still meanwhile, who else is served, and how they end at a question."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from mcppd.core.errors import InputRequiredError, MissingCapabilityError, ToolError
from mcppd.core.items import make_item
from mcppd.core.served import Prompt
from mcppd.workers.pool import WorkerPool
from tests.harness import LIMIT, until
from tests.workers.pool_peer import Client, Told, context, module_of, run, tool_of

ASKS = """
import os, threading, time
def execute(tool_name, arguments, context):
    if "ask" not in arguments:
        return {"success": True, "result": {"pid": os.getpid()}}
    try:
        answer = context["elicit"](arguments["ask"])
    except RuntimeError as error:
        answer = str(error)
    finally:
        print("unwound", flush=True)
    for _ in range(arguments.get("loop", 0)):
        time.sleep(0.01)
    return {"success": True, "result": {"pid": os.getpid(), "answer": answer}}
"""


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        ({"action": "decline"}, {"action": "decline"}),
        ({"n": 10**30, "text": "\ud83d"}, {"n": 10**30, "text": "\ufffd"}),
        (ToolError("nobody there"), "nobody there"),
        (ValueError("a fault of ours"), "mcppd failed to ask the client; its log says why"),
    ],
)
async def test_a_question_reaches_the_client_and_its_answer_the_tool(
    pool: WorkerPool, tmp_path: Path, answer: Any, result: Any
) -> None:
    client = Client(answer)
    came = await run(pool, tool_of(tmp_path, ASKS), context(tmp_path, client=client), ask="Who?")
    assert came["answer"] == result
    assert client.asked == [[{"kind": "elicit", "said": {"message": "Who?"}}]]


async def test_where_nobody_can_be_asked_the_tool_is_told(pool: WorkerPool, tmp_path: Path) -> None:
    assert "nobody" in (await run(pool, tool_of(tmp_path, ASKS), context(tmp_path), ask="Who?"))["answer"]


@pytest.mark.slow
async def test_the_clock_of_a_call_stands_still_while_it_asks(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, ASKS, timeout=0.5)
    await run(pool, tool, context(tmp_path))  # imported
    client = Client()
    call = asyncio.create_task(run(pool, tool, context(tmp_path, client=client), ask="Who?"))
    await until(lambda: client.asked)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(call), 1.0)
    client.go.set()
    assert (await call)["answer"] == "later"


async def test_the_clock_goes_on_after_the_answer(pool: WorkerPool, tmp_path: Path) -> None:
    tool = tool_of(tmp_path, ASKS, timeout=0.3)
    client = Client()
    call = asyncio.create_task(
        run(pool, tool, context(tmp_path, client=client), ask="Who?", loop=100 * int(LIMIT))
    )
    await until(lambda: client.asked)
    client.go.set()
    with pytest.raises(ToolError, match=r"0\.3 s"):
        await call


async def test_another_call_gets_a_worker_while_one_waits_for_its_client(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path, ASKS, workers=1)
    client = Client()
    waiting = [
        asyncio.create_task(run(pool, tool, context(tmp_path, name, client=client), ask="Who?"))
        for name in ("a", "b")
    ]
    await until(lambda: len(client.asked) == 2)
    assert pool.workforce(tool.module.generation).workers == 2
    other = await run(pool, tool, context(tmp_path, "c"))
    assert pool.workforce(tool.module.generation).workers == 3
    client.go.set()
    pids = [(await call)["pid"] for call in waiting]
    assert other["pid"] not in pids
    await until(lambda: pool.workforce(tool.module.generation).workers == 1)
    assert (await run(pool, tool, context(tmp_path, "c")))["pid"] == pids[
        0
    ]  # what it keeps in memory is kept


async def test_a_call_that_waited_for_a_worker_gets_one_when_another_asks(
    pool: WorkerPool, tmp_path: Path
) -> None:
    body = ASKS.replace(
        '    if "ask"', '    while not os.path.exists(arguments["gate"]): time.sleep(0.001)\n    if "ask"'
    )
    tool = tool_of(tmp_path, body, workers=1)
    gate, client = tmp_path / "gate", Client()
    first = asyncio.create_task(
        run(pool, tool, context(tmp_path, "a", client=client), ask="Who?", gate=str(gate))
    )
    await until(lambda: pool.workforce(tool.module.generation).workers == 1)
    second = asyncio.create_task(run(pool, tool, context(tmp_path, "b"), gate="/"))
    await asyncio.sleep(0)
    gate.touch()
    await second
    client.go.set()
    assert (await first)["pid"] != (await second)["pid"]


@pytest.mark.parametrize(
    "end", [InputRequiredError({"a": {}}, "state"), MissingCapabilityError("no", {"elicitation": {}})]
)
async def test_a_call_that_ends_at_a_question_is_answered_at_once_and_its_worker_serves_on(
    pool: WorkerPool, tmp_path: Path, end: Exception
) -> None:
    tool = tool_of(tmp_path, ASKS, workers=1)
    pid = (await run(pool, tool, context(tmp_path)))["pid"]
    for _ in range(3):
        with pytest.raises(type(end)) as raised:
            await run(pool, tool, context(tmp_path, client=Client(end)), ask="Who?")
        assert raised.value is end
    assert (await run(pool, tool, context(tmp_path)))["pid"] == pid
    log = tmp_path / "logs" / "one.log"
    await until(lambda: log.exists() and log.read_text() == "unwound\n" * 3)


STUBBORN = """
import os, signal, time
def execute(tool_name, arguments, context):
    if not arguments:
        return {"success": True, "result": {"pid": os.getpid()}}
    try:
        context["elicit"]("first")
    finally:
        while True:
            try:
                context["elicit"]("again")
            except BaseException:
                pass
"""


@pytest.mark.slow
async def test_a_call_that_does_not_unwind_costs_its_worker_and_nobody_else(
    pool: WorkerPool, tmp_path: Path
) -> None:
    tool = tool_of(tmp_path, STUBBORN, workers=1)
    pid = (await run(pool, tool, context(tmp_path)))["pid"]
    with pytest.raises(InputRequiredError):
        await run(pool, tool, context(tmp_path, client=Client(InputRequiredError({}, "s"))), ask=1)
    assert (await run(pool, tool, context(tmp_path)))["pid"] != pid
    assert not Path(f"/proc/{pid}").exists()


async def test_a_cancelled_call_drops_its_question(pool: WorkerPool, tmp_path: Path) -> None:
    tool, client = tool_of(tmp_path, ASKS, workers=1), Client()
    pid = (await run(pool, tool, context(tmp_path)))["pid"]
    call = asyncio.create_task(run(pool, tool, context(tmp_path, client=client), ask="Who?"))
    await until(lambda: client.asked)
    call.cancel()
    await until(lambda: client.dropped == 1)
    assert call.cancelled()
    assert (await run(pool, tool, context(tmp_path)))["pid"] == pid


@pytest.mark.parametrize("how", ["withdrawn", "over", "dead"])
async def test_a_question_that_nobody_waits_for_is_dropped(
    pool: WorkerPool, tmp_path: Path, how: str
) -> None:
    body = """
import asyncio, os, threading, time
async def withdrawn(context):
    try:
        await asyncio.wait_for(context["elicit"]("Who?"), 0.01)
    except asyncio.TimeoutError:
        pass
def execute(tool_name, arguments, context):
    match arguments["how"]:
        case "withdrawn":
            asyncio.run(withdrawn(context))
        case "over":
            threading.Thread(target=context["elicit"], args=("Who?",), daemon=True).start()
        case "dead":
            threading.Timer(0.01, os._exit, args=(3,)).start()
            context["elicit"]("Who?")
    while not os.path.exists(arguments["gate"]):
        time.sleep(0.001)
    return {"success": True, "result": 1}
"""
    client, gate = Client(), tmp_path / "gate"
    tool = tool_of(tmp_path, body)
    call = asyncio.create_task(run(pool, tool, context(tmp_path, client=client), how=how, gate=str(gate)))
    await until(lambda: client.asked)
    if how == "withdrawn":
        await until(lambda: client.dropped == 1)
    gate.touch()
    if how == "dead":
        with pytest.raises(ToolError, match="status 3"):
            await call
    else:
        assert await call == 1
    await until(lambda: client.dropped == 1)


async def test_prompts_and_resources_are_run_as_tools_are(pool: WorkerPool, tmp_path: Path) -> None:
    body = """
def get_prompt(name, arguments, context): return f"{name} {arguments['a']} {context['elicit']('Who?')}"
def read_resource(uri, variables): return None if uri.endswith("none") else f"{uri} {variables}"
def complete(ref, argument, context): return [ref["name"], argument["value"]]
def list_resources(): return [{"uri": "notes://a"}]
"""
    module, client = module_of(tmp_path, body), Client("Ada", InputRequiredError({}, "s"))
    where = context(tmp_path, client=client)
    item = make_item("prompts", {"name": "hello"})
    prompt = Prompt("hello", "one__hello", "hello", module, item)
    said = json.loads(await pool.get_prompt(prompt, {"a": "1"}, where))
    assert said["messages"][0]["content"]["text"] == "hello 1 Ada"
    with pytest.raises(InputRequiredError):
        await pool.get_prompt(prompt, {"a": "1"}, where)
    with pytest.raises(ToolError, match="KeyError"):
        await pool.get_prompt(prompt, {}, where)
    read = await pool.read_resource(module, "notes://a", {"x": "é"}, "text/plain", where)
    assert json.loads(read or b"") == [
        {"uri": "notes://a", "mimeType": "text/plain", "text": "notes://a {'x': 'é'}"}
    ]
    assert await pool.read_resource(module, "notes://none", {}, None, where) is None
    ref, argument = {"type": "ref/prompt", "name": "hello"}, {"name": "a", "value": "x"}
    assert json.loads(await pool.complete(module, ref, argument, where)) == {"values": ["hello", "x"]}
    assert json.loads(await pool.list_resources(module, where)) == [{"uri": "notes://a"}]


async def test_a_worker_that_dies_under_a_prompt_says_whose(pool: WorkerPool, tmp_path: Path) -> None:
    module = module_of(tmp_path, "import os\ndef read_resource(uri): os._exit(3)\ncomplete = read_resource\n")
    with pytest.raises(ToolError, match="resource 'notes://a'"):
        await pool.read_resource(module, "notes://a", {}, None, context(tmp_path))
    with pytest.raises(ToolError, match="complete of module 'one'"):
        await pool.complete(module, {}, {}, context(tmp_path))


async def test_updated_resources_are_told_to_who_listens(pool: WorkerPool, tmp_path: Path) -> None:
    body = """
def execute(tool_name, arguments, context):
    for n in range(arguments["times"]):
        context["resource_updated"](f"notes://{n % 2}")
    context["resource_updated"]("notes://last")
    return {"success": True, "result": 1}
"""
    await run(pool, tool_of(tmp_path, body), context(tmp_path), times=10000)
    assert isinstance(pool.listener, Told)
    assert pool.listener.updated[-1] == "notes://last"
    assert {"notes://0", "notes://1"} < set(pool.listener.updated)
    assert len(pool.listener.updated) < 1000


async def test_a_flood_of_what_a_tool_says_is_a_trickle(pool: WorkerPool, tmp_path: Path) -> None:
    body = """
def execute(tool_name, arguments, context):
    for n in range(20000):
        context["report_progress"](n)
        context["log"]("info", n)
    return {"success": True, "result": 1}
"""
    client = Client()
    await run(pool, tool_of(tmp_path, body), context(tmp_path, client=client))
    assert client.progress[-1] == 19999
    assert len(client.progress) < 1000
    assert len(client.logged) < 2000
    left_out = int(client.logged[-1][1].split()[0])
    assert len(client.logged) - 1 + left_out == 20000


async def test_nothing_is_said_for_a_call_that_is_over(pool: WorkerPool, tmp_path: Path) -> None:
    body = """
import os, time
def execute(tool_name, arguments, context):
    context["report_progress"](1)
    while not context["cancelled"](): time.sleep(0.001)
    context["report_progress"](2)
    context["log"]("error", "late")
    open(arguments["done"], "w").close()
    return {"success": True, "result": 1}
"""
    client, done = Client(), tmp_path / "done"
    tool = tool_of(tmp_path, body)
    call = asyncio.create_task(run(pool, tool, context(tmp_path, client=client), done=str(done)))
    await until(lambda: client.progress)
    call.cancel()
    await until(done.exists)
    assert pool.workforce(tool.module.generation).workers == 1
    assert client.progress == [1]
    assert client.logged == []
