"""What the words after a tool's name mean, as tables; no daemon, no process."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcppd.cli.tool_words import HelpWantedError, WordsError, parse_words, wants_input

TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "no_cache": {"type": "boolean"},
        "tags": {"type": "array", "items": TEXT},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "rows": {"type": "array", "items": {"type": "array"}},
        "anything": {"type": "array"},
        "options": {"type": "object"},
        "kind": {"enum": ["a", "b", 1, None, True]},
        "fixed": {"const": "x"},
        "any": {},
        "maybe_text": {"type": ["string", "null"]},
        "maybe_count": {"type": ["integer", "null"]},
        "text_or_list": {"anyOf": [TEXT, {"type": "array", "items": TEXT}]},
        "text_or_object": {"type": ["string", "object"]},
        "count_or_list": {"oneOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}}]},
        "referred": {"$ref": "#/$defs/positive"},
        "both": {"allOf": [{"description": "says nothing"}, {"$ref": "#/$defs/positive"}]},
        "itself": {"$ref": "#/properties/itself"},
        "nowhere": {"$ref": "#/$defs/nothing"},
        "max_chars": {"type": "integer"},
        "dashed-name": TEXT,
        "always": True,
    },
    "$defs": {"positive": {"type": "integer", "minimum": 1}},
}


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ([], {}),
        # text stays text
        (["--name", "1.10"], {"name": "1.10"}),
        (["--name=007"], {"name": "007"}),
        (["--name", "true"], {"name": "true"}),
        (["--name", "null"], {"name": "null"}),
        (["--name", '{"a": 1}'], {"name": '{"a": 1}'}),
        (["--name", ""], {"name": ""}),
        (["--name="], {"name": ""}),
        (["--name", " x "], {"name": " x "}),
        (["--name=a=b"], {"name": "a=b"}),
        (["--name", "-5"], {"name": "-5"}),
        (["--name", "-"], {"name": "-"}),
        (["--name=--count"], {"name": "--count"}),
        (["--name=--"], {"name": "--"}),
        (["--name", "two words\nand a line"], {"name": "two words\nand a line"}),
        (["--maybe-text", "null"], {"maybe_text": "null"}),
        # numbers
        (["--count", "5"], {"count": 5}),
        (["--count", "-5"], {"count": -5}),
        (["--count", " 5 "], {"count": 5}),
        (["--count", "1" + "0" * 29], {"count": 10**29}),
        (["--ratio", "1.10"], {"ratio": 1.1}),
        (["--ratio", "3"], {"ratio": 3}),
        (["--ratio", "-.5"], {"ratio": -0.5}),
        (["--ratio", "1e3"], {"ratio": 1000.0}),
        (["--maybe-count", "null"], {"maybe_count": None}),
        (["--maybe-count", "5"], {"maybe_count": 5}),
        (["--referred", "5"], {"referred": 5}),
        (["--both", "5"], {"both": 5}),
        # flags
        (["--flag"], {"flag": True}),
        (["--no-flag"], {"flag": False}),
        (["--no_flag"], {"flag": False}),
        (["--flag=false"], {"flag": False}),
        (["--flag", "true"], {"flag": True}),
        (["--flag", "No"], {"flag": False}),
        (["--flag", "--count", "5"], {"flag": True, "count": 5}),
        (["--no-cache"], {"no_cache": True}),  # it is the option's own name
        (["--no-no-cache"], {"no_cache": False}),
        # arrays
        (["--tags", "a"], {"tags": ["a"]}),
        (["--tags", "a", "--tags", "b c"], {"tags": ["a", "b c"]}),
        (["--tags", '["a", "b"]'], {"tags": ["a", "b"]}),
        (["--tags", "[]"], {"tags": []}),
        (["--tags", "[x] done"], {"tags": ["[x] done"]}),
        (["--tags", "[1]"], {"tags": [1]}),  # the daemon says which item is wrong
        (["--tags", '[{"a": 1}, {"a": 2}]'], {"tags": [{"a": 1}, {"a": 2}]}),
        (["--tags", '["a"]', "--tags", "b"], {"tags": ['["a"]', "b"]}),
        (["--tags", "007"], {"tags": ["007"]}),
        (["--numbers", "1", "--numbers", "2"], {"numbers": [1, 2]}),
        (["--numbers", "[1, 2]"], {"numbers": [1, 2]}),
        (["--rows", "[[1], [2]]"], {"rows": [[1], [2]]}),
        (["--rows", "[1]", "--rows", "[2]"], {"rows": [[1], [2]]}),
        (["--anything", "1"], {"anything": ["1"]}),
        (["--anything", '[1, "a"]'], {"anything": [1, "a"]}),
        (["--text-or-list", "a"], {"text_or_list": "a"}),
        (["--text-or-list", "a", "--text-or-list", "b"], {"text_or_list": ["a", "b"]}),
        (["--text-or-list", '["a", "b"]'], {"text_or_list": ["a", "b"]}),
        (["--text-or-list", "[x] done"], {"text_or_list": "[x] done"}),
        (["--text-or-list", '{"a": 1}'], {"text_or_list": '{"a": 1}'}),
        (["--text-or-object", '{"a": 1}'], {"text_or_object": {"a": 1}}),
        (["--rows", "[1]"], {"rows": [[1]]}),
        (["--count-or-list", "[1, 2]"], {"count_or_list": [1, 2]}),
        # objects, and what has no type
        (["--options", '{"a": {"b": [1]}}'], {"options": {"a": {"b": [1]}}}),
        (["--any", "1.10"], {"any": "1.10"}),
        (["--any", '{"a": 1}'], {"any": {"a": 1}}),
        (["--any", "[1"], {"any": "[1"}),
        (["--always", "x"], {"always": "x"}),
        (["--itself", "x"], {"itself": "x"}),
        (["--nowhere", "x"], {"nowhere": "x"}),
        # choices
        (["--kind", "b"], {"kind": "b"}),
        (["--kind", "1"], {"kind": 1}),
        (["--kind", "null"], {"kind": None}),
        (["--kind", "true"], {"kind": True}),
        (["--fixed", "x"], {"fixed": "x"}),
        # names
        (["--max-chars", "5"], {"max_chars": 5}),
        (["--max_chars", "5"], {"max_chars": 5}),
        (["--dashed-name", "x"], {"dashed-name": "x"}),
        (["--dashed_name", "x"], {"dashed-name": "x"}),
        # --args
        (["--args", '{"name": "x", "other": [1]}'], {"name": "x", "other": [1]}),
        (["--args={}"], {}),
        (["--args", '{"name": "x", "count": 1}', "--count", "2"], {"name": "x", "count": 2}),
        (["--count", "2", "--args", '{"name": "x", "count": 1}'], {"name": "x", "count": 2}),
        (["--args", "-"], {"read": "from input"}),
        (["--args=-"], {"read": "from input"}),
    ],
)
def test_words_become_values_of_the_kind_that_the_schema_asks_for(
    words: list[str], arguments: dict[str, Any]
) -> None:
    found = parse_words(words, SCHEMA, '{"read": "from input"}')
    assert found == arguments
    assert {name: type(value) for name, value in found.items()} == {
        name: type(value)
        for name, value in arguments.items()  # 1 equals True, but isn't
    }


@pytest.mark.parametrize("words", [["--help"], ["--name", "x", "--help"], ["--count", "--help"]])
def test_help_is_wanted_wherever_an_option_can_stand(words: list[str]) -> None:
    with pytest.raises(HelpWantedError):
        parse_words(words, SCHEMA)


def test_help_is_a_value_where_it_is_given_as_one() -> None:
    assert parse_words(["--name=--help"], SCHEMA) == {"name": "--help"}


def test_a_tool_with_an_option_called_help_gets_it() -> None:
    assert parse_words(["--help", "x"], {"properties": {"help": TEXT}}) == {"help": "x"}


def test_two_properties_that_differ_in_dashes_are_both_reached() -> None:
    schema = {"properties": {"a_b": TEXT, "a-b": TEXT}}
    assert parse_words(["--a-b", "1", "--a_b", "2"], schema) == {"a_b": "2", "a-b": "1"}


@pytest.mark.parametrize("schema", [{}, {"properties": None}, {"properties": {"a": None}, "required": "a"}])
def test_a_schema_of_no_use_makes_no_trouble(schema: dict[str, Any]) -> None:
    assert parse_words(["--args", '{"a": 1}'], schema) == {"a": 1}


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["--a", "007", "--b", "--c=--x"], {"a": "007", "b": True, "c": "--x"}),
        (["--a", "1", "--a", "2"], {"a": ["1", "2"]}),
        (["--args", '{"a": 1}', "--b", "2"], {"a": 1, "b": "2"}),
    ],
)
def test_without_a_schema_everything_is_text_and_the_daemon_judges(
    words: list[str], arguments: dict[str, Any]
) -> None:
    assert parse_words(words, None) == arguments


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["--args", "-"], True),
        (["--args=-"], True),
        (["--name", "-"], False),
        (["--args", "{}", "-"], False),
        ([], False),
    ],
)
def test_standard_input_is_read_only_when_asked_for(words: list[str], wanted: bool) -> None:
    assert wants_input(words) is wanted


@given(st.lists(st.text(), max_size=6))
def test_any_words_are_arguments_or_are_refused(words: list[str]) -> None:
    with contextlib.suppress(WordsError, HelpWantedError):
        parse_words(words, SCHEMA)


@given(st.text())
def test_any_text_comes_through_an_option_with_an_equals_sign(text: str) -> None:
    assert parse_words([f"--name={text}"], SCHEMA) == {"name": text}
