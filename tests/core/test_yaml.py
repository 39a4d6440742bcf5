"""YAML 1.2 as values with places; whatever the bytes, a Document or a FaultError, and soon."""

from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mcppd.core import yaml as reader
from mcppd.core.documents import Document
from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.yaml import MAX_BYTES, MAX_DEPTH, MAX_NODES, read_yaml

QUICK = 5.0  # seconds of the processor; without the limits it would be hours, or all of the memory

WORDS: dict[str, Any] = dict.fromkeys(("null", "Null", "NULL", "~")) | dict.fromkeys(
    ("true", "True", "TRUE"), True
)
WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)
NUMBERS: dict[str, float] = {
    "012": 12,
    "-012": -12,
    "+7": 7,
    "0o17": 15,
    "0x1F": 31,
    "0": 0,
    "08": 8,
    "1" * 30: int("1" * 30),
}
NUMBERS |= {
    "1.5": 1.5,
    ".5": 0.5,
    "1.": 1.0,
    "1e3": 1000.0,
    "-1.5E-3": -0.0015,
    "+.5": 0.5,
    "1e999": math.inf,
}
NUMBERS |= {".inf": math.inf, "-.Inf": -math.inf, "+.INF": math.inf}
TAGGED: dict[str, Any] = {
    "!!int '12'": 12,
    "!!float 12": 12.0,
    "!!bool 'true'": True,
    "!!null ''": None,
    "!!str true": "true",
}
TAGGED |= {"!!map {a: 1}": {"a": 1}, "!!seq [1]": [1], "! {a: 1}": {"a": 1}}


@pytest.fixture(params=["libyaml", "python"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test runs with libyaml and with the loader that stands in for it."""
    if request.param == "python":
        monkeypatch.setattr(reader, "FAST", yaml.SafeLoader)
    return str(request.param)


def read(text: str | bytes) -> Document:
    return read_yaml(text if isinstance(text, bytes) else text.encode(), "tool.yaml")


def value_of(text: str | bytes) -> Any:
    return read(text).value


def fault_of(text: str | bytes) -> Fault:
    with pytest.raises(FaultError) as caught:
        read(text)
    return caught.value.fault


def place_of(text: str | bytes) -> tuple[int | None, int | None]:
    fault = fault_of(text)
    assert fault.file == "tool.yaml"
    return fault.line, fault.column


def each(texts: str) -> list[str]:
    """The texts of a table that is written in one line."""
    return texts.split(" | ")


class TestScalars:
    @pytest.mark.parametrize(
        "text", each("on | off | yes | No | y | 2024-01-01 | 2024-01-01 10:00:00 | 1:30")
    )
    def test_what_yaml_1_1_took_for_something_else_is_text(self, text: str) -> None:
        assert value_of(text) == text

    @pytest.mark.parametrize(
        "text", each("1_000 | 0b11 | 0o8 | 0xg | 1.2.3 | 1e | + | . | --1 | -0x1 | ٣ | 1 2")
    )
    def test_what_is_almost_a_number_is_text(self, text: str) -> None:
        assert value_of(text) == text

    @pytest.mark.parametrize("text", each("tRue | nULL | .Nan | .iNF | =| nan | Infinity | ~~"))
    def test_what_is_almost_a_word_is_text(self, text: str) -> None:
        assert value_of(text) == text

    @pytest.mark.parametrize(("text", "value"), WORDS.items())
    def test_words_are_read_in_three_casings(self, text: str, value: Any) -> None:
        assert value_of(text) is value
        assert value_of(f"a: [{text}]")["a"][0] is value

    @pytest.mark.parametrize(("text", "value"), NUMBERS.items())
    def test_numbers_are_read_by_the_core_schema_of_yaml_1_2(self, text: str, value: float) -> None:
        for found in (value_of(text), value_of(f"a: {text}")["a"], value_of(f"[{text}]")[0]):
            assert found == value
            assert type(found) is type(value)

    def test_nan_is_not_a_number(self) -> None:
        assert all(math.isnan(value) for value in value_of("[.nan, .NaN, .NAN]"))

    def test_a_key_without_a_value_is_null(self) -> None:
        assert value_of("a:\nb: ''\n") == {"a": None, "b": ""}

    @pytest.mark.parametrize("text", ["'12'", '"12"', "! 12", "!!str 12", "|-\n 12", ">-\n 12"])
    def test_quoted_and_block_scalars_are_texts(self, text: str) -> None:
        assert value_of(text) == "12"

    @pytest.mark.parametrize(("text", "value"), TAGGED.items())
    def test_explicit_tags_of_json_are_honoured(self, text: str, value: Any) -> None:
        assert value_of(text) == value
        assert type(value_of(text)) is type(value)

    @pytest.mark.parametrize(
        "text",
        each(
            "!!int x | !!int 1.5 | !!int true | !!bool yes | !!null x | !!float x | !!float true | !!map [a]"
        )
        + each("!!seq {a: 1} | !foo 1 | !!binary aGk= | !!timestamp 2024-01-01 | !!set {a}")
        + each("!<int> 12 | !<tag:x> 1 | !!python/object/apply:os.system [ls] | !!python/name:os.system ''"),
    )
    def test_other_tags_are_refused_where_they_stand(self, text: str) -> None:
        assert place_of(f"a: 1\nb: {text}\n") == (2, 4)

    @pytest.mark.parametrize("text", ["1" * 401, "0x" + "f" * 400, "1." + "0" * 400, "1" * 500_000])
    def test_a_number_without_end_is_refused(self, text: str) -> None:
        assert place_of(f"a: {text}") == (1, 4)


class TestCollections:
    def test_lists_and_mappings_keep_their_order(self) -> None:
        value = value_of("b: [1, {c: 2}]\na:\n- x\n- y\n")
        assert list(value.items()) == [("b", [1, {"c": 2}]), ("a", ["x", "y"])]

    @pytest.mark.parametrize("key", each("200 | 012 | true | ~ | on | null | 2024-01-01 | a b"))
    def test_a_plain_key_is_its_own_text(self, key: str) -> None:
        assert value_of(f"{key}: x") == {key: "x"}

    @pytest.mark.parametrize(("text", "key"), {"'1'": "1", "!!str 1": "1", "'<<'": "<<", "''": ""}.items())
    def test_a_quoted_key_is_what_is_in_the_quotes(self, text: str, key: str) -> None:
        assert value_of(f"{text}: x") == {key: "x"}

    @pytest.mark.parametrize(
        "text",
        each(
            "? [a]\n: x | ? {a: 1}\n: x | a: {{ b }} | 1.5: x | .nan: x | !!int 1: x | : x | {: x} | ? \n: x"
        ),
    )
    def test_a_key_that_is_no_text_is_refused(self, text: str) -> None:
        assert fault_of(text).line == 1

    @pytest.mark.parametrize("text", ["a: 1\nb: 2\na: 3\n", "1: x\nb: 2\n'1': x\n", "{a: 1,\n b: 2,\na: 3}"])
    def test_a_key_that_is_there_twice_is_refused_with_both_places(self, text: str) -> None:
        fault = fault_of(text)
        assert (fault.line, fault.column) == (3, 1)
        assert "1:" in fault.message

    def test_merge_keys_bring_in_what_is_not_there(self) -> None:
        bases = "base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\n"
        value = value_of(bases + "one: {<<: *b, x: 9}\nmany:\n  <<: [*b, *o]\n  w: 0\n")
        assert value["one"] == {"x": 9, "y": 2}
        assert value["many"] == {"x": 1, "y": 2, "z": 4, "w": 0}

    @pytest.mark.parametrize("merged", ["1", "[1]", "x", "[[{a: 1}]]"])
    def test_only_mappings_can_be_merged(self, merged: str) -> None:
        assert place_of(f"a: 1\n<<: {merged}\n") == (2, 1)

    def test_a_second_merge_key_is_refused(self) -> None:
        assert place_of("<<: {a: 1}\nb: 2\n<<: {c: 1}\n") == (3, 1)

    def test_an_alias_is_a_value_of_its_own(self) -> None:
        value = value_of("a: &x [1, {b: 2}]\nc: *x\n")
        value["a"][1]["b"] = 3
        assert value["c"] == [1, {"b": 2}]

    def test_an_anchor_can_be_set_anew(self) -> None:
        assert value_of("[&a 1, *a, &a 2, *a]") == [1, 1, 2, 2]

    def test_a_key_can_be_an_alias_of_a_text(self) -> None:
        assert value_of("a: &x name\n*x : 1\n") == {"a": "name", "name": 1}


class TestWholeFiles:
    @pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "---\n...\n", "\ufeff", "   \n"])
    def test_a_file_of_nothing_is_none(self, text: str) -> None:
        assert value_of(text) is None

    def test_a_byte_order_mark_is_ignored(self) -> None:
        assert value_of("\ufeffa: 1\n") == {"a": 1}
        assert place_of("\ufeffa: 1\na: 2") == (2, 1)
        assert place_of("\ufeffa: *b") == (1, 4)
        assert fault_of("\ufeffa: *b").source == "a: *b"

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_every_line_ending_is_one(self, end: str) -> None:
        assert value_of(f"a: 1{end}b: 2{end}") == {"a": 1, "b": 2}
        assert fault_of(f"a: 1{end}a: 2{end}c: 3").source == "a: 2"

    @pytest.mark.parametrize(
        "text", ["a: 1\n---\nb: 2\n", "a: 1\n---\n", "--- 1\n--- 2\n", "a: 1\n...\n---\nb: 1"]
    )
    def test_a_second_document_is_refused(self, text: str) -> None:
        assert fault_of(text).line in (2, 3)

    @pytest.mark.parametrize("character", ["\x85", "\u2028", "\u2029"])
    def test_line_breaks_of_yaml_1_1_are_plain_characters(self, character: str) -> None:
        assert value_of(f"a: x{character}y\nb: |\n  x{character}y\n") == {
            "a": f"x{character}y",
            "b": f"x{character}y\n",
        }
        assert fault_of(f"a: x{character}y\na: 2").source == "a: 2"

    def test_text_in_any_script_is_kept(self) -> None:
        assert value_of('a: héllo 🎉\nb: "日本\\u2028\\n"\n') == {"a": "héllo 🎉", "b": "日本\u2028\n"}
        assert place_of("🎉: &a [1, *b]") == (1, 11)

    def test_what_json_writes_is_read_as_json_reads_it(self) -> None:
        value = {"a": ["\U0001f600", "\\d800", None, 1.5e10, -3, True], "b": {"c": "é\u2028\x7f\t"}}
        assert value_of(json.dumps(value)) == value

    def test_half_a_surrogate_pair_is_replaced_with_a_warning(self) -> None:
        document = read('a: "x\\ud800y"\nb: "\\ud83d\\ude00"\n"\\udfff": 1\nc: \'\\ud800\'\n')
        assert document.value == {"a": "x\ufffdy", "b": "\U0001f600", "\ufffd": 1, "c": "\\ud800"}
        assert [(warning.line, warning.column) for warning in document.warnings] == [(1, 4), (3, 1)]

    def test_a_file_without_oddities_has_no_warnings(self) -> None:
        document = read("a: [1, 1.5, x, true, ~]\nb: 'yes'\nc: \"012\"\n")
        assert (document.warnings, document.yaml11_warnings) == ((), ())


class TestFaults:
    @pytest.mark.parametrize(
        ("text", "place"),
        [
            ("a:\n\tb: 1\n", (2, 1)),
            ("a:\n  b: 1\n\tc: 2\n", (3, 1)),
            ("a: b: c\n", (1, 5)),
            ("a: 1\nb: @x\n", (2, 4)),
            ("a: `x`\n", (1, 4)),
            ("a: [1, 2\n", (1, 4)),
            ('a: 1\nb: "x\n\n', (2, 4)),
            ("a: 'x", (1, 4)),
            ("a: [", (1, 5)),
            ("a: 1\n  b: 2\n", (2, 4)),
            ('a: "\\q"\n', (1, None)),
            ('a: 1\nb: "\\U00110000"\n', (2, None)),
            ('a: 1\nb: "\\UFFFFFFFF"\n', (2, None)),
            ("a: 1\nb: *x\n", (2, 4)),
            ("a: &x\n  b: *x\n", (2, 6)),
            ("a: &x [*x]\n", (1, 8)),
            ("a: 1\nb: x\x00y\n", (2, 5)),
            ("a: 1\nb: x\x1by\n", (2, 5)),
            ("a: \ufffe\n", (1, 4)),
            (b"a: 1\nb: x\xff\n", (2, 5)),
            (b"a: \xed\xa0\x80\n", (1, 4)),
            (b"\xff\xfea\x00:\x00", (1, 1)),
        ],
    )
    def test_what_is_no_yaml_is_refused_where_it_stands(self, text: str | bytes, place: Any) -> None:
        line, column = place_of(text)
        assert line == place[0]
        assert place[1] in (None, column)

    @pytest.mark.parametrize("text", ["%FOO\n", "%YAML 9.1\n--- a", "%YAML 1." + "9" * 5000 + "\n--- a"])
    def test_a_directive_that_makes_no_sense_is_refused(self, text: str) -> None:
        assert fault_of(text).line is not None

    def test_a_fault_shows_the_line(self) -> None:
        assert fault_of("a: 1\nb: 2\na: 3 # again\nc: 4\n").source == "a: 3 # again"

    def test_a_long_line_is_cut(self) -> None:
        assert len(fault_of("a: [" + "x, " * 5000 + "*b]").source or "") < 1000

    def test_a_path_leads_to_the_key_or_to_the_value(self) -> None:
        document = read("name: x\ntools:\n  - name: a\n    inputSchema: [1]\n  - b\n")
        path = ("tools", 0, "inputSchema")
        assert str(document.fault(path, "m").place) == "tool.yaml:4:5"
        assert document.fault(path, "m", at_value=True).place == "tool.yaml:4:18"
        assert document.fault((*path, 0), "m").place == "tool.yaml:4:19"
        assert document.fault(("tools", 1), "m").place == "tool.yaml:5:5"
        assert document.fault((), "m").place == "tool.yaml:1:1"
        assert document.fault(path, "m").source == "    inputSchema: [1]"

    def test_a_path_that_ends_nowhere_leads_to_the_nearest_place(self) -> None:
        document = read("a:\n  b: {c: 1}\n")
        for path in [("a", "b", "x"), ("a", "b", "x", 5, "y"), ("a", "b", 0)]:
            assert document.fault(path, "m", at_value=True).place == "tool.yaml:2:3"
        assert read("").fault(("a",), "m").place == "tool.yaml:1:1"

    def test_places_lead_through_aliases_and_merges(self) -> None:
        document = read("base: &b\n  x: 1\nlist:\n- *b\nmap:\n  <<: *b\n  y: 2\n")
        assert document.fault(("list", 0), "m").place == "tool.yaml:4:3"
        assert document.fault(("list", 0, "x"), "m").place == "tool.yaml:2:3"
        assert document.fault(("map", "x"), "m").place == "tool.yaml:2:3"
        assert document.fault(("map", "y"), "m").place == "tool.yaml:7:3"


class TestYaml11:
    @pytest.mark.parametrize(
        "text",
        each("yes | No | on | OFF | 012 | -012 | 0o17 | 08 | 1:30 | 1:30.5 | 2024-01-01 | 1_000 | 0b1 | 1e3"),
    )
    def test_what_yaml_1_1_reads_otherwise_is_told(self, text: str) -> None:
        (warning,) = read(f"a: x\nb: {text}\n").yaml11_warnings
        assert (warning.line, warning.column, warning.source) == (2, 4, f"b: {text}")

    @pytest.mark.parametrize(
        "text", each("true | ~ | x | 1 | -1 | 0 | 00 | 07 | 1.5 | .inf | .nan | 0x1F | ''")
    )
    def test_what_both_read_alike_is_not(self, text: str) -> None:
        assert read(f"b: {text}\n").yaml11_warnings == ()

    def test_it_is_told_of_keys_once_and_of_quoted_texts_never(self) -> None:
        document = read("on: &x {yes: 'no'}\nb: *x\nc: \"012\"\nd: !!str off\n")
        assert [warning.line for warning in document.yaml11_warnings] == [1, 1]


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 9) + "]" for n in range(1, levels)]
    return "\n".join(lines)


class TestLimits:
    @pytest.mark.parametrize(
        "text",
        [
            laughs(10),
            "a: &a {x: 1}\n"
            + "\n".join(f"b{n}: &b{n} [*a, {'*b' + str(n - 1) if n else '*a'}]" for n in range(3000)),
            "[" * 500_000,
            "[\n" * 300_000,
            "{a: " * 200_000,
            "- " * 300_000,
            "? " * 300_000,
            pytest.param("[" + "1," * 300_000 + "]", marks=pytest.mark.slow),
            "x: [" + "*a, " * 200_000 + "]",
            "x" * (MAX_BYTES + 1),
        ],
        ids=[
            "laughs",
            "chain",
            "flow",
            "flow lines",
            "flow maps",
            "list",
            "keys",
            "many",
            "aliases",
            "large",
        ],
    )
    def test_a_file_that_would_take_everything_is_refused_at_once(self, text: str, parser: str) -> None:
        start = time.process_time()
        fault_of(text)
        assert time.process_time() - start < QUICK * (5 if parser == "python" else 1)

    @pytest.mark.parametrize(("levels", "fits"), [(MAX_DEPTH, True), (MAX_DEPTH + 1, False)])
    def test_depth_is_limited(self, levels: int, fits: bool) -> None:
        texts = [
            "[" * levels + "]" * levels,
            "".join(" " * n + "a:\n" for n in range(levels)) + " " * levels + "x",
        ]
        for text in texts:
            if fits:
                read(text)
            else:
                fault_of(text)

    def test_aliases_do_not_get_around_the_depth(self) -> None:
        half = MAX_DEPTH // 2
        inner = "[" * half + "]" * half
        read(f"[&a {inner}, {'[' * (half - 1)}*a{']' * (half - 1)}]")
        fault_of(f"[&a {inner}, {'[' * half}*a{']' * half}]")

    @pytest.mark.parametrize(("more", "fits"), [(999, True), (1000, False)])
    def test_the_number_of_values_is_limited_with_aliases_counted(self, more: int, fits: bool) -> None:
        aliases = MAX_NODES // 1000 - 2  # the list itself, 1000 values under &a and as many under each alias
        text = f"[&a [{'1,' * 999}], {'*a, ' * aliases}{'1,' * more}]"
        if fits:
            assert len(value_of(text)) == 1 + aliases + more
        else:
            fault_of(text)

    def test_a_file_of_the_allowed_size_is_read(self) -> None:
        assert len(value_of("x" * MAX_BYTES)) == MAX_BYTES

    def test_many_halves_of_pairs_are_read_in_one_more_go(self) -> None:
        document = read("\n".join('- "\\ud800"' for _ in range(2000)))
        assert document.value == ["\ufffd"] * 2000
        assert len(document.warnings) == 2000


PIECES = st.sampled_from(
    each(r"a | b:  | -  | [ | ] | { | } | , | :  | ?  | &a  | *a | <<:  | !!int  | !x  | ! ")
    + each(r"' | \" | # | @ | ` | % | \ud800 | \U00110000 | \x | \ | 1 | 012 | .nan | yes | ~ | 🎉")
    + each("|\n | >-\n | ---\n | ...\n | %YAML 1.2\n | \n | \n   | \t | \r | \r\n")
    + each("\ufeff | \x85 | \u2028 | \x00 | \x7f")
)


def assert_sound(value: Any) -> None:
    match value:
        case dict():
            assert all(type(key) is str for key in value)
            for member in value.values():
                assert_sound(member)
        case list():
            for member in value:
                assert_sound(member)
        case str():
            value.encode()
        case _:
            assert value is None or type(value) in (bool, int, float)


def fault_or_document(data: bytes) -> Fault | Document:
    try:
        return read_yaml(data, "f")
    except FaultError as error:
        return error.fault


def assert_document_or_fault(data: bytes) -> None:
    match fault_or_document(data):
        case Fault() as fault:
            assert fault.file == "f"
            assert fault.line is None or (fault.line >= 1 and fault.source is not None)
            str(fault).encode()
        case document:
            assert_sound(document.value)
            for warning in (*document.warnings, *document.yaml11_warnings):
                assert warning.source is not None


fuzzed = settings(max_examples=300, deadline=None)


class TestAnything:
    @pytest.fixture(autouse=True)
    def parser(self) -> None:
        """Both parsers take part in each test here."""

    @fuzzed
    @given(st.binary(max_size=200), st.booleans())
    @example(b"\xef\xbb\xbf", True)
    def test_any_bytes_are_a_document_or_a_fault(self, data: bytes, pure: bool) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if pure:
                patch.setattr(reader, "FAST", yaml.SafeLoader)
            assert_document_or_fault(data)

    @fuzzed
    @given(st.lists(PIECES, max_size=40).map("".join), st.booleans())
    def test_any_pieces_of_yaml_are_a_document_or_a_fault(self, text: str, pure: bool) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if pure:
                patch.setattr(reader, "FAST", yaml.SafeLoader)
            assert_document_or_fault(text.encode())

    @pytest.mark.slow
    @fuzzed
    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(),
            lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=40), inner),
            max_leaves=20,
        )
    )
    def test_any_json_is_read_as_json_reads_it(self, value: Any) -> None:
        assert read_yaml(json.dumps(value).encode(), "f").value == value
