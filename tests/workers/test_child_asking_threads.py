"""Questions from threads of a tool, from those that outlive its call, and from forked copies of its process."""

from __future__ import annotations

from tests.workers.child_peer import Child


def test_threads_may_ask_at_once_and_each_gets_its_answer(child: Child) -> None:
    child.write_and_load(
        """
        from concurrent.futures import ThreadPoolExecutor
        def execute(tool_name, arguments, context):
            with ThreadPoolExecutor(16) as threads:
                return {"success": True, "result": list(threads.map(context["elicit"], map(str, range(16))))}
        """,
    )
    number = child.begin()
    questions = [child.question() for _ in range(16)]
    for question in reversed(questions):
        child.answer(question, result=[question["questions"][0]["said"]["message"]])
    assert child.result(number).value == [str(n) for n in range(16)]


def test_a_thread_that_looks_for_a_cancellation_takes_no_answer_away(child: Child) -> None:
    child.write_and_load(
        """
        import threading
        def look(context, done):
            while not done.is_set(): context["cancelled"]()
        def execute(tool_name, arguments, context):
            done = threading.Event()
            threads = [threading.Thread(target=look, args=(context, done)) for _ in range(2)]
            for thread in threads: thread.start()
            answers = [context["elicit"](str(n)) for n in range(50)]
            done.set()
            for thread in threads: thread.join()
            return {"success": True, "result": answers}
        """,
    )
    number = child.begin()
    for n in range(50):
        child.answer(child.question(), result=[n])
    assert child.result(number).value == list(range(50))


LATE = """
    import os, threading, time
    go, done = threading.Event(), threading.Event()
    def later(context, is_after):
        if is_after: go.wait()
        try:
            context["elicit"]("late")
        except Exception as error:
            print(type(error).__name__, flush=True)
        done.set()
    def execute(tool_name, arguments, context):
        if tool_name == "second":
            go.set()
            done.wait()
        else:
            threading.Thread(target=later, args=(context, tool_name == "after"), daemon=True).start()
            while not os.path.exists(arguments["gate"]): time.sleep(0.001)
        return {"success": True, "result": tool_name}
"""


def test_a_thread_that_asks_after_its_call_is_told(child: Child) -> None:
    child.write_and_load(LATE)
    child.call("after", {"gate": "/"})
    child.call("second")
    assert child.output == "ClientError\n"
    assert child.ops("ask") == []


def test_a_thread_that_waits_when_its_call_ends_is_told(child: Child) -> None:
    child.write_and_load(LATE)
    gate = child.log.parent / "gate"
    number = child.begin("during", {"gate": str(gate)})
    child.question()
    gate.touch()
    assert child.result(number).text == "during"
    assert child.call("second").text == "second"
    assert child.output == "ClientError\n"


def test_a_forked_copy_can_not_ask(child: Child) -> None:
    child.write_and_load(
        """
        import os
        def execute(tool_name, arguments, context):
            pid = os.fork()
            if not pid:
                try:
                    context["elicit"]("Who?")
                except RuntimeError as error:
                    print(type(error).__name__, flush=True)
                os._exit(7)
            return {"success": True, "result": os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}
        """,
    )
    assert child.call().value == 7
    assert child.output == "ClientError\n"
    assert child.ops("ask") == []
