"""How a worker calls `execute`, and that nothing that it raises ends the worker."""

from __future__ import annotations

import pytest

from tests.workers.child_peer import Child

BODY = "return {'success': True, 'result': RESULT}"


@pytest.mark.parametrize(
    ("signature", "result"),
    [
        ("def execute(tool_name, arguments, context=None)", "[tool_name, arguments, context['module_dir']]"),
        ("def execute(tool_name, arguments, context)", "[tool_name, arguments, context['module_dir']]"),
        ("def execute(tool_name, arguments, /, third)", "[tool_name, arguments, third['module_dir']]"),
        ("def execute(tool_name, arguments)", "[tool_name, arguments, '/m']"),
        ("def execute(*args)", "[args[0], args[1], args[2]['module_dir']]"),
        ("def execute(tool_name, *args)", "[tool_name, args[0], args[1]['module_dir']]"),
        ("def execute(tool_name, arguments, *, context)", "[tool_name, arguments, context['module_dir']]"),
        (
            "def execute(tool_name, arguments, **kwargs)",
            "[tool_name, arguments, kwargs['context']['module_dir']]",
        ),
        ("def execute(tool_name, arguments, *, other=None)", "[tool_name, arguments, '/m']"),
        ("async def execute(tool_name, arguments, context)", "[tool_name, arguments, context['module_dir']]"),
        ("async def execute(tool_name, arguments)", "[tool_name, arguments, '/m']"),
    ],
)
def test_execute_is_called_as_its_signature_wants(child: Child, signature: str, result: str) -> None:
    child.write_and_load(f"{signature}:\n    {BODY.replace('RESULT', result)}")
    assert child.call("name", {"a": 1}).value == ["name", {"a": 1}, "/m"]


RESULT = "{'success': True, 'result': [t, a, c['module_dir']]}"
WRAPPED = """
from functools import wraps
def plain(t, a):
    return {'success': True, 'result': [t, a, '/m']}
@wraps(plain)
def execute(*arguments):
    return plain(*arguments)
"""
CALLABLES = [
    f"class Tool:\n    def __call__(self, t, a, c): return {RESULT}\nexecute = Tool()",
    f"class Tool:\n    def run(self, t, a, c): return {RESULT}\nexecute = Tool().run",
    f"import functools\ndef run(x, t, a, c): return {RESULT}\nexecute = functools.partial(run, 0)",
    WRAPPED,
]


@pytest.mark.parametrize("source", CALLABLES)
def test_execute_may_be_any_callable(child: Child, source: str) -> None:
    child.write_and_load(source)
    assert child.call("name", {"a": 1}).value == ["name", {"a": 1}, "/m"]


def test_a_type_error_inside_a_tool_does_not_run_it_twice(child: Child) -> None:
    child.write_and_load(
        "def execute(tool_name, arguments, context=None):\n    print('ran')\n    raise TypeError('takes 2')",
    )
    assert child.call().error
    assert child.output.count("ran\n") == 1


def test_the_context_has_what_the_daemon_sent_and_ways_to_speak(child: Child) -> None:
    child.write_and_load(
        "def execute(t, a, c): return {'success': True, 'result': [type(c) is dict, sorted(c)]}",
    )
    told = {"workspace_dir": "/w", "session_id": "s", "client": {"name": "c"}, "tool_timeout": 3}
    spoken = [
        "cancelled",
        "log",
        "report_progress",
        "resource_updated",
        "elicit",
        "sample",
        "roots",
        "ask_all",
    ]
    assert child.call(context=told).value == [True, sorted([*told, *spoken])]


def test_arguments_may_be_changed_by_the_tool(child: Child) -> None:
    child.write_and_load("def execute(t, a): return {'success': True, 'result': [a.pop('x'), a]}")
    assert child.call(arguments={"x": 1, "y": 2}).value == [1, {"y": 2}]
    assert child.call(arguments={"x": 1}).value == [1, {}]


def test_globals_stay_from_call_to_call(child: Child) -> None:
    child.write_and_load(
        "n = 0\ndef execute(t, a):\n    global n\n    n += 1\n    return {'success': True, 'result': n}",
    )
    assert [child.call().value for _ in range(3)] == [1, 2, 3]


RAISES = """
    import json
    from .helper import inner
    def execute(tool_name, arguments, context=None):
        if tool_name == "alive":
            return {"success": True, "result": "alive"}
        exec(arguments["code"], globals())
"""
HELPER = """
    def inner():
        return {}["missing"]
    def again():
        return again()
    def chained():
        try:
            inner()
        except KeyError as error:
            raise ValueError("outer") from error
"""


def raised(child: Child, code: str) -> str:
    child.write_and_load(RAISES, helper=HELPER)
    result = child.call(arguments={"code": code})
    assert result.error
    assert child.call("alive").text == "alive"
    return result.text


def test_an_exception_shows_type_message_and_the_persons_frames(child: Child) -> None:
    lines = raised(child, "inner()").splitlines()
    module = child.log.parent / "module"
    assert lines == [
        "KeyError: 'missing'",
        f'  {module}/mcpptool.py:7 in execute: exec(arguments["code"], globals())',
        f'  {module}/helper.py:3 in inner: return {{}}["missing"]',
    ]


def test_frames_of_the_library_are_left_to_the_log(child: Child) -> None:
    text = raised(child, "json.loads('{')")
    assert "decoder.py" not in text
    assert "decoder.py" in child.output


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("raise SystemExit(3)", "SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("class Own(BaseException): pass\nraise Own('x')", "Own: x"),
        ("class Mute(Exception):\n    def __str__(self): raise OSError\nraise Mute", "Mute"),
        ("raise ValueError('\\ud800')", "ValueError: \ufffd"),
        ("raise ValueError('x' * 10**6)", "ValueError: xxx"),
        ("from mcpp_tools.tested.helper import again\nagain()", "RecursionError"),
        ("x = bytearray(1 << 62)", "MemoryError"),
        ("import sys\nsys.exit('bye')", "SystemExit: bye"),
        ("raise StopIteration(1)", "StopIteration"),
        ("import asyncio\nraise asyncio.CancelledError", "CancelledError"),
    ],
)
def test_whatever_a_tool_raises_is_a_result(child: Child, code: str, name: str) -> None:
    text = raised(child, code)
    assert text.split("\n")[0].startswith(name) or f".{name}" in text.split("\n")[0]
    assert len(text) < 30_000


def test_a_recursion_shows_its_ends_only(child: Child) -> None:
    assert raised(child, "from mcpp_tools.tested.helper import again\nagain()").count("\n") < 30


def test_what_an_exception_came_from_is_shown(child: Child) -> None:
    text = raised(child, "from mcpp_tools.tested.helper import chained\nchained()")
    assert text.startswith("ValueError: outer\n")
    assert "\ncaused by KeyError: 'missing'\n" in text


def test_the_exceptions_of_a_group_are_shown(child: Child) -> None:
    text = raised(
        child, "class Group(Exception): exceptions = (OSError('one'), Exception('two'))\nraise Group('g')"
    )
    assert "contains OSError: one" in text
    assert "contains Exception: two" in text
