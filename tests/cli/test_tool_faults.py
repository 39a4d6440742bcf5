"""Words after a tool's name that are no arguments, and what is said of them."""

from __future__ import annotations

from typing import Any

import pytest

from mcppd.cli.tool_words import WordsError, parse_words

TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": TEXT,
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object"},
        "kind": {"enum": ["a", "b", 1, None, True]},
        "maybe_count": {"type": ["integer", "null"]},
        "max_chars": {"type": "integer"},
    },
}


@pytest.mark.parametrize(
    "words",
    [
        ["--count", "x"],
        ["--count", "1.5"],
        ["--count", "1e3"],
        ["--count", "0x1"],
        ["--count", "1_000"],
        ["--count", "١"],
        ["--count", ""],
        ["--count", "9" * 5000],
        ["--count"],
        ["--count", "--name", "x"],
        ["--count", "1", "--count", "2"],
        ["--ratio", "nan"],
        ["--ratio", "inf"],
        ["--ratio", "1e999"],
        ["--flag", "maybe"],
        ["--no-flag=true"],
        ["--no-name"],
        ["--flag", "--flag"],
        ["--flag", "--no-flag"],
        ["--numbers", "1", "--numbers", "x"],
        ["--numbers", "[1"],
        ["--options", "x"],
        ["--options", "[1]"],
        ["--options", '{"a": NaN}'],
        ["--options", "[" * 100_000],
        ["--kind", "c"],
        ["--kind", "True"],
        ["--maybe-count", ""],
        ["--unknown", "x"],
        ["--unknown"],
        ["--", "x"],
        ["--"],
        ["-n", "x"],
        ["x"],
        ["--=x"],
        ["--args"],
        ["--args", "--name", "x"],
        ["--args", "x"],
        ["--args", "[1]"],
        ["--args", "null"],
        ["--args", '{"a": Infinity}'],
        ["--args", "{}", "--args", "{}"],
        ["--name", "\udcff"],
        ["--json"],
    ],
)
def test_words_that_are_no_arguments_are_refused(words: list[str]) -> None:
    with pytest.raises(WordsError):
        parse_words(words, SCHEMA)


def faults(words: list[str], schema: dict[str, Any]) -> list[str]:
    with pytest.raises(WordsError) as raised:
        parse_words(words, schema)
    return raised.value.faults


def test_every_fault_is_told_at_once() -> None:
    schema = SCHEMA | {"required": ["name", "max_chars"]}
    assert len(faults(["--count", "x", "--unknown", "y", "stray"], schema)) == 4


def test_what_is_required_and_missing_is_listed() -> None:
    assert faults([], SCHEMA | {"required": ["name", "max_chars", "flag"]}) == [
        "missing --name, --flag, --max-chars"
    ]


def test_required_arguments_may_come_from_anywhere() -> None:
    schema = SCHEMA | {"required": ["name", "count"]}
    assert parse_words(["--args", '{"name": "x"}', "--count", "1"], schema) == {"name": "x", "count": 1}


def test_arguments_that_cannot_be_read_are_not_called_missing_too() -> None:
    assert len(faults(["--args", "{", "--count", "1"], SCHEMA | {"required": ["name"]})) == 1


def test_an_unknown_option_names_the_nearest() -> None:
    [fault] = faults(["--max_char", "5"], SCHEMA)
    assert "--max-chars" in fault


def test_an_unknown_option_takes_its_value_along() -> None:
    assert len(faults(["--unknown", "value", "--count", "1"], SCHEMA)) == 1


def test_an_option_of_the_command_itself_is_told_where_it_goes() -> None:
    [fault] = faults(["--json"], SCHEMA)
    assert "before" in fault


@pytest.mark.parametrize(
    ("words", "faults"),
    [
        (["--whom", "Ada"], ["unknown option --whom: did you mean --who?"]),
        (["--xyz", "Ada"], ["unknown option --xyz: the tool has --who", "missing --who"]),
        (["--whom", "Ada", "--args", "{}"], ["unknown option --whom: did you mean --who?"]),
    ],
)
def test_an_option_that_was_meant_is_not_missing_too(words: list[str], faults: list[str]) -> None:
    with pytest.raises(WordsError) as error:
        parse_words(words, {"properties": {"who": TEXT}, "required": ["who"]})
    assert error.value.faults == faults
