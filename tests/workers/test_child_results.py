"""What a tool returned becomes content items (CONTRACT.md, "Result")."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.workers.child_peer import INTERPRETERS, Child, Result, write_module

MODULE = """
    import collections, types
    def execute(tool_name, arguments, context=None):
        return eval(arguments["value"])
    def get_info(context=None):
        return {"dir": context["module_dir"], "ä": 1}
"""


@pytest.fixture(scope="module", params=INTERPRETERS)
def child(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[Child]:
    """One worker for all tests of this file: none of them may end it."""
    directory = tmp_path_factory.mktemp("child")
    module = write_module(directory / "module", MODULE)
    with Child(directory, request.param) as made:
        made.load(module)
        yield made


def returned(child: Child, value: str, **request: Any) -> Result:
    return child.call(arguments={"value": value}, **request)


def text(text: str, audience: str | None = None) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "text", "text": text}
    return item | {"annotations": {"audience": [audience]}} if audience else item


IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}

CONTENT = {
    "{'success': True, 'result': 'as it is'}": [text("as it is")],
    "{'success': True, 'result': {'ä': [1, 'b']}}": [text('{"ä":[1,"b"]}')],
    "{'success': True, 'result': None}": [text("null")],
    "{'success': True}": [text("null")],
    "{'success': True, 'result': ''}": [text("")],
    "{'success': True, 'result': 1, 'display': '# one'}": [text("# one", "user"), text("1", "assistant")],
    "{'success': True, 'result': 1, 'display': ''}": [text("1")],
    "{'success': True, 'result': 1, 'display': None}": [text("1")],
    "{'success': True, 'result': 1, 'display': ['x']}": [text('["x"]', "user"), text("1", "assistant")],
    "types.MappingProxyType({'success': True, 'result': 1})": [text("1")],
    "collections.OrderedDict(success=True, result='x')": [text("x")],
    "{'success': True, 'structuredContent': {'a': 1}}": [text('{"a":1}')],
    f"{{'success': True, 'content': [{IMAGE}]}}": [IMAGE],
    f"{{'success': True, 'result': 1, 'content': ({IMAGE},)}}": [IMAGE],
    f"{{'success': True, 'display': 'd', 'content': [{IMAGE}]}}": [text("d", "user"), IMAGE],
    "{'success': True, 'content': []}": [],
    "{'success': True, 'content': [{'type': 'image', 'data': b'\\0\\0\\0', 'mimeType': 'image/png'}]}": [
        IMAGE
    ],
    "{'success': True, 'content': [{'type': 'text', 'text': '\\ud800', '_meta': {'a': {1}}}]}": [
        {"type": "text", "text": "\ufffd", "_meta": {"a": [1]}}
    ],
    "{'success': True, 'content': [{'type': 'resource', 'resource': {'uri': 'a:b', 'blob': b'\\xff'}}]}": [
        {"type": "resource", "resource": {"uri": "a:b", "blob": "/w=="}}
    ],
    "{'success': True, 'content': [{'type': 'resource_link', 'uri': 'a:b', 'name': 'n', 'title': 't'}]}": [
        {"type": "resource_link", "uri": "a:b", "name": "n", "title": "t"}
    ],
    "{'success': True, 'content': [{'type': 'audio', 'data': 'AAAA', 'mimeType': 'audio/wav'}]}": [
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}
    ],
}


@pytest.mark.parametrize("value", CONTENT)
def test_a_success_becomes_content(child: Child, value: str) -> None:
    result = returned(child, value)
    assert (result.error, result.content, result.structured) == (False, CONTENT[value], None)


FAILURES = {
    "{'success': False, 'error': 'no such file'}": [text("Error: no such file")],
    "{'success': False, 'error': {'code': 3}}": [text('Error: {"code":3}')],
    "{'success': False, 'message': 'no such file'}": [text("Error: no such file")],
    "{'success': None, 'error': 'e'}": [text("Error: e")],
    "{'success': 1, 'error': 'e'}": [text("Error: e")],
    "{'success': False, 'error': 'e', 'display': '# e'}": [text("Error: e"), text("# e", "user")],
    "{'success': False, 'error': 'e', 'result': 1}": [text("Error: e")],
    f"{{'success': False, 'error': 'e', 'content': [{IMAGE}]}}": [text("Error: e"), IMAGE],
    f"{{'success': False, 'content': [{IMAGE}]}}": [IMAGE],
    "{'success': False, 'error': '\\ud800'}": [text("Error: \ufffd")],
}


@pytest.mark.parametrize("value", FAILURES)
def test_a_failure_becomes_an_error(child: Child, value: str) -> None:
    result = returned(child, value, structured=True)
    assert (result.error, result.content, result.structured) == (True, FAILURES[value], None)


def test_a_failure_without_a_reason_says_so(child: Child) -> None:
    for value in (
        "{'success': False}",
        "{'success': False, 'error': None}",
        "{'success': False, 'error': ''}",
    ):
        result = returned(child, value)
        assert result.error
        assert "`error`" in result.text


@pytest.mark.parametrize(
    ("value", "came"),
    [
        ("None", "None"),
        ("'text'", "'text' (str)"),
        ("True", "True (bool)"),
        ("[1]", "of type list"),
        ("(True, 'x')", "of type tuple"),
        ("object()", "of type object"),
        ("{}", "without `success`"),
        ("{'result': 1}", "keys: result"),
        ("{'success': 'yes', 'result': 1}", "'yes' (str)"),
        ("{'success': 1, 'result': 1}", "1 (int)"),
        ("{'success': None}", "None"),
        ("{'success': True, 'content': 'x'}", "`content`"),
        ("{'success': True, 'content': {'type': 'text'}}", "`content`"),
        ("{'success': True, 'content': ['x']}", "`content[0]`"),
        ("{'success': True, 'content': [{'type': 'text', 'text': 'a'}, {}]}", "`content[1].type`"),
        ("{'success': True, 'content': [{'type': 'video'}]}", "'video' (str)"),
        ("{'success': True, 'content': [{'type': ['text']}]}", "of type list"),
        ("{'success': True, 'content': [{'type': 'text', 'text': 1}]}", "`content[0].text`"),
        ("{'success': True, 'content': [{'type': 'image', 'data': 'A'}]}", "`content[0].mimeType`"),
        ("{'success': True, 'content': [{'type': 'image', 'mimeType': 'image/png'}]}", "`content[0].data`"),
        ("{'success': True, 'content': [{'type': 'resource_link', 'uri': 'a:b'}]}", "`content[0].name`"),
        ("{'success': True, 'content': [{'type': 'resource', 'resource': 'a'}]}", "`content[0].resource`"),
        ("{'success': True, 'content': [{'type': 'resource', 'resource': {'uri': 'a'}}]}", "`text`"),
        ("{'success': True, 'content': [{'type': 'text', 'text': 'a', 'x': object()}]}", "`content[0]`"),
        ("{'success': True, 'result': object()}", "`result`"),
        ("{'success': True, 'result': 1, 'display': object()}", "`display`"),
        ("{'success': False, 'error': object()}", "`error`"),
    ],
)
def test_what_is_no_result_is_an_error_that_says_what_came(child: Child, value: str, came: str) -> None:
    result = returned(child, value)
    assert result.error
    assert came in result.text
    assert returned(child, "{'success': True, 'result': 'alive'}").text == "alive"


STRUCTURED = {
    "{'success': True, 'result': {'a': 1}}": ([text('{"a":1}')], {"a": 1}),
    "{'success': True, 'result': 'words'}": ([text("words")], None),
    "{'success': True, 'result': [1]}": ([text("[1]")], None),
    "{'success': True, 'result': 'words', 'structuredContent': {'a': 1}}": ([text("words")], {"a": 1}),
    "{'success': True, 'structuredContent': {'a': {1}}}": ([text('{"a":[1]}')], {"a": [1]}),
    "{'success': True, 'structuredContent': [1]}": ([text("[1]")], [1]),
    "{'success': True, 'structuredContent': None, 'result': {'a': 1}}": ([text('{"a":1}')], {"a": 1}),
    "{'success': True, 'result': {'a': 1}, 'display': 'd'}": (
        [text("d", "user"), text('{"a":1}', "assistant")],
        {"a": 1},
    ),
    f"{{'success': True, 'result': {{'a': 1}}, 'content': [{IMAGE}]}}": ([IMAGE], {"a": 1}),
    "{'success': True, 'result': {'a': 1}, 'content': []}": ([text('{"a":1}')], {"a": 1}),
}


@pytest.mark.parametrize("value", STRUCTURED)
def test_structured_content_is_sent_when_the_tool_declares_it(child: Child, value: str) -> None:
    result = returned(child, value, structured=True)
    assert not result.error
    assert (result.content, result.structured) == STRUCTURED[value]


def test_get_info_is_sent_as_json_text(child: Child) -> None:
    result = child.call(kind="get_info")
    assert (result.error, result.content) == (False, [text('{"dir":"/m","ä":1}')])


@pytest.mark.parametrize(
    ("source", "content"),
    [
        ("", []),
        ("get_info = 3", []),
        ("def get_info(): return 'words'", [text("words")]),
        ("def get_info(): return None", []),
        ("def get_info(*, context): return context['module_dir']", [text("/m")]),
        ("def get_info(*a): return len(a)", [text("1")]),
        ("def get_info(**k): return list(k)", [text('["context"]')]),
        ("async def get_info(context): return context['module_dir']", [text("/m")]),
    ],
)
def test_get_info_is_called_as_it_wants(tmp_path: Path, source: str, content: list[Any]) -> None:
    module = write_module(tmp_path / "module", source, "def execute(t, a): pass")
    with Child(tmp_path) as child:
        child.load(module)
        result = child.call(kind="get_info")
        assert (result.error, result.content) == (False, content)


@pytest.mark.parametrize(
    "source", ["def get_info(): return object()", "def get_info(): raise ValueError('no')"]
)
def test_a_get_info_that_fails_is_an_error(tmp_path: Path, source: str) -> None:
    module = write_module(tmp_path / "module", source, "def execute(t, a): pass")
    with Child(tmp_path) as child:
        child.load(module)
        assert child.call(kind="get_info").error
