"""Questions of an author's code to its client, and calls that are given up at one."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.workers.child_peer import Child, wait_until

WAYS = {
    "plain": """
        def execute(tool_name, arguments, context):
            return {"success": True, "result": asked(arguments, context)}
    """,
    "thread": """
        from concurrent.futures import ThreadPoolExecutor
        def execute(tool_name, arguments, context):
            with ThreadPoolExecutor() as threads:
                return {"success": True, "result": threads.submit(asked, arguments, context).result()}
    """,
    "async": """
        async def execute(tool_name, arguments, context):
            return {"success": True, "result": await asked(arguments, context)}
    """,
    "own loop": """
        import asyncio
        async def inner(arguments, context):
            return await asked(arguments, context)
        def execute(tool_name, arguments, context):
            return {"success": True, "result": asyncio.run(inner(arguments, context))}
    """,
    "thread of a loop": """
        import asyncio
        async def execute(tool_name, arguments, context):
            return {"success": True, "result": await asyncio.to_thread(asked, arguments, context)}
    """,
}
"""The ways in which an author's code may ask."""

ASKED = """
    def asked(arguments, context):
        return eval(arguments["value"])
"""

ELICIT = "context['elicit']('Who?', {'type': 'object'})"
ACCEPTED = {"action": "accept", "content": {"name": "Ada"}}


@pytest.mark.parametrize("way", WAYS)
def test_a_question_is_asked_and_its_answer_returned(child: Child, way: str) -> None:
    child.write_and_load(ASKED, WAYS[way])
    for _ in range(3):
        number = child.begin(arguments={"value": ELICIT})
        question = child.question()
        said = {"message": "Who?", "schema": {"type": "object"}}
        assert question["questions"] == [{"kind": "elicit", "said": said}]
        child.answer(question, result=[ACCEPTED])
        assert child.result(number).value == ACCEPTED


@pytest.mark.parametrize("way", WAYS)
def test_an_answer_that_is_an_error_is_raised(child: Child, way: str) -> None:
    child.write_and_load(ASKED, WAYS[way])
    number = child.begin(arguments={"value": ELICIT})
    child.answer(child.question(), error="it can't be asked")
    result = child.result(number)
    assert result.error
    assert result.text.startswith("mcppd.ClientError: it can't be asked\n")


@pytest.mark.parametrize("way", WAYS)
def test_a_call_that_is_given_up_unwinds_and_the_worker_goes_on(child: Child, way: str) -> None:
    child.write_and_load(ASKED, WAYS[way])
    number = child.begin(arguments={"value": ELICIT})
    child.question()
    child.cancel(number)
    assert child.result(number).error
    assert "Traceback" not in child.output
    number = child.begin(arguments={"value": ELICIT})
    child.answer(child.question(), result=[ACCEPTED])
    assert child.result(number).value == ACCEPTED


STUBBORN = """
    def execute(tool_name, arguments, context):
        try:
            context["elicit"]("first")
        except Exception:
            print("caught")
        finally:
            print("cancelled", context["cancelled"]())
            try:
                context["elicit"]("second")
            except BaseException as error:
                print("again", type(error).__name__)
                raise
        return {"success": True}
"""


def test_code_that_asks_again_while_it_unwinds_is_stopped_again(child: Child) -> None:
    child.write_and_load(STUBBORN)
    number = child.begin()
    child.question()
    child.cancel(number)
    assert child.result(number).error
    assert child.output == "cancelled True\nagain StoppedError\n"


def test_the_end_of_the_wire_ends_a_question(child: Child) -> None:
    child.write_and_load(ASKED, WAYS["plain"])
    child.begin(arguments={"value": ELICIT})
    child.question()
    assert child.end() == 0


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        ("context['elicit']('Who?')", "elicit", {"message": "Who?"}),
        (
            "context['elicit']('Sign in', mode='url', url='https://a')",
            "elicit",
            {"message": "Sign in", "mode": "url", "url": "https://a"},
        ),
        ("context['elicit']('\\ud800', {'a': {1}})", "elicit", {"message": "\ufffd", "schema": {"a": [1]}}),
        ("context['sample']('Hi')", "sample", {"messages": "Hi", "max_tokens": 1000}),
        (
            "context['sample']([{'role': 'user'}], max_tokens=5, temperature=0.5)",
            "sample",
            {"messages": [{"role": "user"}], "max_tokens": 5, "temperature": 0.5},
        ),
        ("context['roots']()", "roots", {}),
    ],
)
def test_what_is_asked_is_made_safe(child: Child, call: str, kind: str, said: dict[str, Any]) -> None:
    child.write_and_load(ASKED, WAYS["plain"])
    number = child.begin(arguments={"value": call})
    question = child.question()
    assert question["questions"] == [{"kind": kind, "said": said}]
    child.answer(question, result=["answer"])
    assert child.result(number).text == "answer"


def test_a_class_of_pydantics_is_a_schema(child: Child) -> None:
    child.write_and_load(
        ASKED,
        "class Form:\n    @staticmethod\n    def model_json_schema(): return {'type': 'object'}",
        WAYS["plain"],
    )
    number = child.begin(arguments={"value": "context['elicit']('Who?', Form)"})
    question = child.question()
    assert question["questions"][0]["said"]["schema"] == {"type": "object"}
    child.answer(question, result=[ACCEPTED])
    child.result(number)


def test_roots_are_returned_as_a_list(child: Child) -> None:
    child.write_and_load(ASKED, WAYS["plain"])
    number = child.begin(arguments={"value": "context['roots']()"})
    child.answer(child.question(), result=[{"roots": [{"uri": "file:///a"}]}])
    assert child.result(number).value == [{"uri": "file:///a"}]


@pytest.mark.parametrize("way", WAYS)
def test_several_questions_are_asked_at_once(child: Child, way: str) -> None:
    child.write_and_load(ASKED, WAYS[way])
    asked = (
        "[('elicit', {'message': 'Who?'}), ('sample', {'messages': 'Hi', 'max_tokens': 3}), ('roots', {})]"
    )
    number = child.begin(arguments={"value": f"context['ask_all']({asked})"})
    question = child.question()
    assert [(each["kind"], each["said"]) for each in question["questions"]] == [
        ("elicit", {"message": "Who?"}),
        ("sample", {"messages": "Hi", "max_tokens": 3}),
        ("roots", {}),
    ]
    child.answer(question, result=[ACCEPTED, {"role": "assistant"}, {"roots": []}])
    assert child.result(number).value == [ACCEPTED, {"role": "assistant"}, []]
    assert child.call(arguments={"value": "context['ask_all']([])"}).value == []


@pytest.mark.parametrize(
    "call",
    [
        "context['elicit']()",
        "context['elicit'](object())",
        "context['sample'](lambda: 1)",
        "context['ask_all'](['elicit'])",
        "context['ask_all']([('ellicit', {})])",
        "context['ask_all']([('elicit', {})])",
        "context['ask_all']([('elicit', 'Who?')])",
        "context['elicit']('x' * 70_000_000)",
    ],
)
def test_a_question_that_is_none_is_an_exception_and_asks_nothing(child: Child, call: str) -> None:
    child.write_and_load(ASKED, WAYS["plain"])
    result = child.call(arguments={"value": call})
    assert result.error
    assert result.text.startswith(("TypeError", "ValueError"))
    assert child.said == []


def test_tasks_of_an_async_tool_may_ask_at_once(child: Child) -> None:
    child.write_and_load(
        """
        import asyncio
        async def execute(tool_name, arguments, context):
            answers = await asyncio.gather(*(context["elicit"](str(n)) for n in range(8)))
            return {"success": True, "result": answers}
        """,
    )
    number = child.begin()
    questions = [child.question() for _ in range(8)]
    for question in reversed(questions):
        child.answer(question, result=[question["questions"][0]["said"]["message"]])
    assert child.result(number).value == [str(n) for n in range(8)]


def test_a_question_that_nobody_waits_for_any_more_is_withdrawn(child: Child) -> None:
    child.write_and_load(
        """
        import asyncio
        async def execute(tool_name, arguments, context):
            try:
                await asyncio.wait_for(context["elicit"]("Who?"), 0.01)
            except asyncio.TimeoutError:
                return {"success": True, "result": "nobody"}
        """,
    )
    number = child.begin()
    question = child.question()
    assert child.reply("withdraw")[0] == {"op": "withdraw", "id": number, "question": question["question"]}
    child.answer(question, result=["late"])
    assert child.result(number).text == "nobody"


def test_a_signal_handler_may_end_a_question(child: Child) -> None:
    child.write_and_load(
        """
        import signal
        def late(*_): raise TimeoutError("nobody")
        def execute(tool_name, arguments, context):
            signal.signal(signal.SIGALRM, late)
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            try:
                return {"success": True, "result": context["elicit"]("Who?")}
            except TimeoutError as error:
                return {"success": True, "result": str(error)}
        """,
    )
    number = child.begin()
    assert child.reply("withdraw")[0]["id"] == number
    assert child.result(number).text == "nobody"


def test_signals_that_do_not_raise_leave_a_question_open(child: Child) -> None:
    child.write_and_load(
        "import signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('handled', flush=True))",
        ASKED,
        WAYS["plain"],
    )
    number = child.begin(arguments={"value": ELICIT})
    question = child.question()
    child.process.send_signal(signal.SIGUSR1)
    wait_until(lambda: "handled" in child.output, "the handler")
    child.answer(question, result=[ACCEPTED])
    assert child.result(number).value == ACCEPTED


def test_no_descriptor_is_left_of_a_question(child: Child) -> None:
    child.write_and_load(ASKED, WAYS["plain"])

    def ask() -> int:
        number = child.begin(arguments={"value": ELICIT})
        child.answer(child.question(), result=[ACCEPTED])
        child.result(number)
        return len(os.listdir(f"/proc/{child.process.pid}/fd"))

    first = ask()
    assert [ask() for _ in range(5)] == [first] * 5
