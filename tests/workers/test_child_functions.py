"""The functions of a module beside `execute`: prompts, resources, completion, lists at run time."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.workers.child_peer import Child

RETURNS = {
    "get_prompt": "def get_prompt(name, arguments, context): return eval(arguments['value'])",
    "read_resource": "def read_resource(uri, variables, context): return eval(variables['value'])",
    "complete": "def complete(ref, argument, context): return eval(argument['value'])",
    "list_resources": "value = []\ndef execute(t, a): value[:] = [a['value']]; return {'success': True}\n"
    "def list_resources(context): return eval(value[0])",
}
IMPORTS = """
import dataclasses, decimal, pathlib
class Model:
    def __init__(self, **members): self.members = members
    def model_dump(self, mode): return self.members
"""


def returned(child: Child, function: str, value: str, mime_type: str | None = None) -> Any:
    """What comes of a value that a function returns."""
    child.write_and_load(IMPORTS, RETURNS[function], needs=())
    match function:
        case "get_prompt":
            return child.ask(function, "hello", {"value": value})
        case "read_resource":
            return child.ask(function, "notes://a", {"value": value}, mime_type=mime_type)
        case "complete":
            return child.ask(function, {"type": "ref/prompt", "name": "hello"}, {"name": "a", "value": value})
    child.call(arguments={"value": value})
    return child.ask(function)


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": {"type": "text", "text": text}}


IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("value", "prompt"),
    [
        ("'Hi'", {"messages": [said("Hi")]}),
        ("'\\ud800'", {"messages": [said("\ufffd")]}),
        (
            "['Hi', {'role': 'assistant', 'content': 'Ho'}]",
            {"messages": [said("Hi"), said("Ho", "assistant")]},
        ),
        ("{'messages': 'Hi', 'description': 'd'}", {"messages": [said("Hi")], "description": "d"}),
        ("{'messages': [], '_meta': {'a': {1}}}", {"messages": [], "_meta": {"a": [1]}}),
        (
            "[{'role': 'user', 'content': ['Hi', {'type': 'image', 'data': b'hi', 'mimeType': 'image/png'}]}]",
            {"messages": [said("Hi"), {"role": "user", "content": IMAGE}]},
        ),
        ("Model(messages=[Model(role='user', content='Hi')])", {"messages": [said("Hi")]}),
        (
            "[{'content': {'type': 'text', 'text': 'a', 'annotations': {'priority': float('nan')}}}]",
            {
                "messages": [
                    {
                        "role": "user",
                        "content": {"type": "text", "text": "a", "annotations": {"priority": None}},
                    }
                ]
            },
        ),
    ],
)
def test_what_get_prompt_returns_becomes_a_prompt(child: Child, value: str, prompt: Any) -> None:
    assert returned(child, "get_prompt", value).body == prompt


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("None", "None"),
        ("5", "5 (int)"),
        ("{}", "messages"),
        ("{'messages': 5}", "5 (int)"),
        ("{'text': 'Hi'}", "text"),
        ("[5]", "messages[0]"),
        ("[{'role': 'system', 'content': 'Hi'}]", "messages[0].role"),
        ("[{'role': 'user'}]", "messages[0]"),
        ("['a', {'content': ['b', {'type': 'video'}]}]", "messages[1].content[1].type"),
        ("[{'content': {'type': 'image', 'data': 'x'}}]", "messages[0].content.mimeType"),
        ("{'messages': 'Hi', 'description': 3}", "description"),
        ("(x for x in 'ab')", "list("),
        ("[object()]", "messages[0]"),
        ("'x' * 70_000_000", "67108864"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_what_is_no_prompt_is_an_error_that_says_where(child: Child, value: str, where: str) -> None:
    result = returned(child, "get_prompt", value)
    assert result.error
    assert where in result.text
    assert returned(child, "get_prompt", "'alive'").body == {"messages": [said("alive")]}


def content(**members: Any) -> dict[str, Any]:
    return {"uri": "notes://a", **members}


@pytest.mark.parametrize(
    ("value", "contents"),
    [
        ("None", None),
        ("'Hi'", [content(text="Hi")]),
        ("''", [content(text="")]),
        ("'\\ud800'", [content(text="\ufffd")]),
        ("b'\\xff'", [content(blob="/w==")]),
        ("bytearray(b'hi')", [content(blob="aGk=")]),
        ("{'text': 'Hi', 'mimeType': 'text/html'}", [content(text="Hi", mimeType="text/html")]),
        ("{'text': b'Hi'}", [content(text="Hi")]),
        ("{'blob': b'hi'}", [content(blob="aGk=")]),
        ("{'blob': 'aGk='}", [content(blob="aGk=")]),
        ("{'json': {'a': float('nan')}}", [content(text='{"a":null}', mimeType="application/json")]),
        ("{'json': None}", [content(text="null", mimeType="application/json")]),
        ("{'text': 'a', 'uri': 'notes://b', '_meta': {}}", [{"uri": "notes://b", "text": "a", "_meta": {}}]),
        ("['a', b'hi', {'text': 'c'}]", [content(text="a"), content(blob="aGk="), content(text="c")]),
        ("[]", []),
        ("Model(text='Hi')", [content(text="Hi")]),
    ],
)
def test_what_read_resource_returns_becomes_contents(child: Child, value: str, contents: Any) -> None:
    assert returned(child, "read_resource", value).body == contents


def test_contents_have_the_type_that_the_manifest_declares_unless_they_say_otherwise(child: Child) -> None:
    value = "['a', {'json': 1}, {'text': 'b', 'mimeType': 'text/html'}]"
    result = returned(child, "read_resource", value, "text/markdown")
    assert [each["mimeType"] for each in result.body] == ["text/markdown", "text/markdown", "text/html"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("5", "5 (int)"),
        ("{}", "blob"),
        ("{'contents': []}", "contents"),
        ("[1]", "result[0]"),
        ("[['a']]", "result[0]"),
        ("{'blob': 5}", "result.blob"),
        ("{'blob': 'no base64!'}", "result.blob"),
        ("{'text': 'a', 'uri': 'no uri'}", "result.uri"),
        ("{'text': 'a', 'mimeType': 5}", "result.mimeType"),
        ("{'text': 'a', '_meta': 5}", "result._meta"),
        ("{'json': object()}", "result.json"),
        ("b'x' * 70_000_000", "67108864"),
        ("open('/nowhere')", "FileNotFoundError"),
    ],
)
def test_what_are_no_contents_is_an_error_that_says_where(child: Child, value: str, where: str) -> None:
    result = returned(child, "read_resource", value)
    assert result.error
    assert where in result.text


def test_a_large_blob_arrives_whole(child: Child) -> None:
    body = returned(child, "read_resource", "b'\\xff' * 20_000_000").body
    assert base64.b64decode(body[0]["blob"]) == b"\xff" * 20_000_000


@pytest.mark.parametrize(
    ("value", "completion"),
    [
        ("None", {"values": []}),
        ("[]", {"values": []}),
        ("('a', '\\ud800')", {"values": ["a", "\ufffd"]}),
        ("{'values': ['a'], 'total': 7, 'hasMore': True}", {"values": ["a"], "total": 7, "hasMore": True}),
        ("{'values': ['a'], 'total': None}", {"values": ["a"]}),
        (
            "list(map(str, range(250)))",
            {"values": [str(n) for n in range(100)], "total": 250, "hasMore": True},
        ),
        (
            "{'values': list(map(str, range(101))), 'total': 300}",
            {"values": [str(n) for n in range(100)], "total": 300, "hasMore": True},
        ),
        ("[pathlib.Path('a')]", {"values": ["a"]}),
        ("Model(values=['a'])", {"values": ["a"]}),
    ],
)
def test_what_complete_returns_becomes_a_completion(child: Child, value: str, completion: Any) -> None:
    assert returned(child, "complete", value).body == completion


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("'ab'", "'ab'"),
        ("{}", "values"),
        ("[1]", "values[0]"),
        ("{'values': 'ab'}", "'ab'"),
        ("{'values': [], 'total': '3'}", "total"),
        ("{'values': [], 'hasMore': 1}", "hasMore"),
    ],
)
def test_what_is_no_completion_is_an_error_that_says_where(child: Child, value: str, where: str) -> None:
    result = returned(child, "complete", value)
    assert result.error
    assert where in result.text


@pytest.mark.parametrize(
    ("value", "resources"),
    [
        ("None", []),
        ("[{'uri': 'a:b', 'name': 'n'}]", [{"uri": "a:b", "name": "n"}]),
        ("({'uri': 'a:b', 'title': None},)", [{"uri": "a:b", "title": None}]),
        (
            "[{'uri': 'a:b', 'size': 3, 'annotations': {'priority': 1}, 'icons': [], '_meta': {}, 'x': {1}}]",
            [
                {
                    "uri": "a:b",
                    "size": 3,
                    "annotations": {"priority": 1},
                    "icons": [],
                    "_meta": {},
                    "x": [1],
                }
            ],
        ),
        ("['a:b', {'uri': 'n', 'size': '1'}]", ["a:b", {"uri": "n", "size": "1"}]),  # told by the daemon
        ("[Model(uri='a:b')]", [{"uri": "a:b"}]),
    ],
)
def test_what_list_resources_returns_becomes_a_list(child: Child, value: str, resources: Any) -> None:
    assert returned(child, "list_resources", value).body == resources


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("'ab'", "'ab'"),
        ("{'uri': 'a:b'}", "list of dicts"),
        ("7", "7"),
    ],
)
def test_what_is_no_list_of_resources_is_an_error_that_says_where(
    child: Child, value: str, where: str
) -> None:
    result = returned(child, "list_resources", value)
    assert result.error
    assert where in result.text


SIGNATURES = [
    ("def get_prompt(name, arguments, context)", "[name, arguments['a'], context['module_dir']]"),
    ("def get_prompt(name, arguments)", "[name, arguments['a'], '/m']"),
    ("def get_prompt(name)", "[name, '1', '/m']"),
    ("def get_prompt()", "['hello', '1', '/m']"),
    ("def get_prompt(name, context)", "[name, '1', context['module_dir']]"),
    ("def get_prompt(context)", "['hello', '1', context['module_dir']]"),
    ("def get_prompt(name, *, context)", "[name, '1', context['module_dir']]"),
    ("def get_prompt(name, arguments, **more)", "[name, arguments['a'], more['context']['module_dir']]"),
    ("def get_prompt(*all)", "[all[0], all[1]['a'], all[2]['module_dir']]"),
    ("async def get_prompt(name, arguments, context)", "[name, arguments['a'], context['module_dir']]"),
]


@pytest.mark.parametrize(("signature", "result"), SIGNATURES)
def test_a_function_is_called_as_its_signature_wants(child: Child, signature: str, result: str) -> None:
    child.write_and_load(f"{signature}:\n    return {result}", needs=["get_prompt"])
    for _ in range(2):
        messages = child.ask("get_prompt", "hello", {"a": "1"}).body["messages"]
        assert [each["content"]["text"] for each in messages] == ["hello", "1", "/m"]


@pytest.mark.parametrize("function", ["get_prompt", "read_resource"])
def test_a_module_must_have_what_its_manifest_needs(child: Child, function: str) -> None:
    module = child.write_and_load("def execute(t, a): return {'success': True}", needs=["execute", function])
    for run in (False, True):
        fault = child.prepare(run=run)["fault"]
        assert fault["file"] == str(module / "mcpptool.py")
        assert f"`{function}(" in fault["message"]


@pytest.mark.parametrize("function", ["get_prompt", "read_resource"])
def test_a_module_without_tools_needs_no_execute(child: Child, function: str) -> None:
    child.write_and_load(IMPORTS, RETURNS[function], needs=[function])
    assert child.prepare(run=False)["fault"] is None
    assert child.prepare(run=True)["fault"] is None
    assert child.ask(function, "notes://a", {"value": "'Hi'"}).body
    assert child.call().error


def test_what_a_module_lacks_without_need_has_an_answer(child: Child) -> None:
    child.write_and_load("", needs=[])
    assert child.ask("complete", {}, {}).body == {"values": []}
    assert child.ask("list_resources").body == []
    assert "get_prompt" in child.ask("get_prompt", "hello", {}).text
    assert "read_resource" in child.ask("read_resource", "a:b", {}).text


def test_prompts_may_ask_and_speak_as_tools_do(child: Child) -> None:
    child.write_and_load(
        """
        def get_prompt(name, arguments, context):
            context["log"]("info", name)
            context["report_progress"](1)
            return context["elicit"]("Who?")["action"]
        """,
        needs=["get_prompt"],
    )
    number = child.begin(kind="get_prompt", given=["hello", {}], progress=True)
    child.answer(child.question(), result=[{"action": "accept"}])
    assert child.result(number).body == {"messages": [said("accept")]}
    assert [head["op"] for head, _ in child.said] == ["log", "progress"]
