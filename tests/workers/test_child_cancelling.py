"""Cancellations and `async` tools (CASES I)."""

from __future__ import annotations

import signal

import pytest

from tests.workers.child_peer import Child

WAITS = """
    import asyncio, time
    def execute(tool_name, arguments, context):
        if tool_name == "fast":
            return {"success": True, "result": "fast"}
        if tool_name == "async":
            return waiting(context)
        context["report_progress"](1)
        while not context["cancelled"](): time.sleep(0.001)
        return {"success": True, "result": "stopped"}
    async def waiting(context):
        context["report_progress"](1)
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            print("cancelled inside")
            raise
"""


def test_a_tool_can_ask_whether_it_was_cancelled(child: Child) -> None:
    child.write_and_load(WAITS)
    number = child.begin("slow", progress=True)
    child.receive()
    child.cancel(number)
    assert child.result(number).text == "stopped"
    assert child.call("fast").text == "fast"


def test_a_cancellation_is_raised_in_an_async_tool(child: Child) -> None:
    child.write_and_load(WAITS)
    number = child.begin("async", progress=True)
    child.receive()
    child.cancel(number)
    assert child.result(number).error
    assert "cancelled inside" in child.output
    assert child.call("fast").text == "fast"


@pytest.mark.parametrize("tool", ["slow", "async"])
def test_a_cancellation_that_comes_together_with_the_call_is_seen(child: Child, tool: str) -> None:
    child.write_and_load(WAITS)
    child.call("fast")
    child.process.send_signal(signal.SIGSTOP)
    number = child.begin(tool)
    child.cancel(number)
    child.process.send_signal(signal.SIGCONT)
    child.result(number)
    assert child.call("fast").text == "fast"


def test_a_cancellation_of_another_call_is_none(child: Child) -> None:
    child.write_and_load(WAITS)
    number = child.begin("slow", progress=True)
    child.receive()
    child.cancel(number + 7)
    child.cancel(number - 1)
    child.cancel(number)
    assert child.result(number).text == "stopped"


def test_a_cancellation_after_the_result_is_nothing(child: Child) -> None:
    child.write_and_load(WAITS)
    child.call("fast")
    child.cancel(1)
    assert child.call("fast").text == "fast"


def test_a_request_that_comes_during_a_call_waits_for_its_turn(child: Child) -> None:
    child.write_and_load(WAITS)
    number = child.begin("slow", progress=True)
    child.receive()
    second = child.begin("fast")
    child.cancel(number)
    assert child.result(number).text == "stopped"
    assert child.result(second).text == "fast"


@pytest.mark.parametrize("tool", ["slow", "async"])
def test_the_end_of_the_wire_ends_a_call_that_looks(child: Child, tool: str) -> None:
    child.write_and_load(WAITS)
    child.begin(tool, progress=True)
    child.receive()
    assert child.end() == 0


def test_an_async_tool_may_use_all_of_asyncio(child: Child) -> None:
    child.write_and_load(
        """
        import asyncio, contextlib
        @contextlib.asynccontextmanager
        async def opened():
            yield 1
        async def execute(tool_name, arguments, context):
            async with opened() as one:
                two = await asyncio.to_thread(lambda: 2)
                process = await asyncio.create_subprocess_exec("echo", "three", stdout=-1)
                three = (await process.communicate())[0].decode().strip()
                four, five = await asyncio.gather(asyncio.sleep(0, 4), asyncio.sleep(0.001, 5))
                context["report_progress"](1)
                return {"success": True, "result": [one, two, three, four, five, context["cancelled"]()]}
        """,
    )
    for _ in range(3):
        assert child.call(progress=True).value == [1, 2, "three", 4, 5, False]


def test_what_an_async_tool_leaves_running_ends_with_its_call(child: Child) -> None:
    child.write_and_load(
        """
        import asyncio
        left = []
        async def endless():
            try:
                await asyncio.sleep(1000)
            finally:
                print("ended")
        async def execute(tool_name, arguments):
            left.append(asyncio.ensure_future(endless()))
            await asyncio.sleep(0)
            return {"success": True, "result": len(left)}
        """,
    )
    assert [child.call().value for _ in range(2)] == [1, 2]
    assert child.output == "ended\nended\n"


def test_a_sync_tool_may_run_a_loop_of_its_own(child: Child) -> None:
    child.write_and_load(
        "import asyncio\nasync def inner(): return {'success': True, 'result': 'ok'}\n"
        "def execute(t, a): return asyncio.run(inner())",
    )
    assert [child.call().text for _ in range(2)] == ["ok", "ok"]


@pytest.mark.parametrize("raised", ["ValueError('x')", "SystemExit(3)", "KeyboardInterrupt()"])
def test_whatever_an_async_tool_raises_is_a_result(child: Child, raised: str) -> None:
    child.write_and_load(
        f"def bad(): raise {raised}",
        "async def execute(t, a): return bad() if t == 'bad' else {'success': True, 'result': 1}",
    )
    result = child.call("bad")
    assert result.error
    assert raised.partition("(")[0] in result.text
    assert child.call("good").value == 1
