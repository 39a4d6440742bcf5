"""Names: safe on the wire, the same in every run, and never one for two."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mcppd.core.names import MAX_ALIAS, full_name, identifier, nearest, wire_name

SAFE = re.compile(r"[A-Za-z0-9_-]{1,64}")

any_name = st.text(min_size=1, max_size=90) | st.text("ab_./:-é\n", min_size=1, max_size=90)


@pytest.mark.parametrize("name", ["a", "read_file", "A-b_9", "_", "-", "0", "x" * 64])
def test_a_name_that_every_client_takes_is_kept(name: str) -> None:
    assert wire_name(name) == name


@pytest.mark.parametrize(
    "name", ["x" * 65, "a.b", "a/b", "a::b", "a b", "é", "日本語", "a\n", "", "٣", "\ud800", "a\0"]
)
def test_any_other_name_gets_a_safe_and_short_alias(name: str) -> None:
    alias = wire_name(name)
    assert SAFE.fullmatch(alias)
    assert len(alias) <= MAX_ALIAS


def test_an_alias_shows_what_it_stands_for() -> None:
    assert wire_name("files/read.text").startswith("files_read_text_")
    assert full_name("my module", "read.text").startswith("my_module__read_text_")
    assert identifier("my-module").startswith("my_module_")


@given(any_name, any_name)
def test_two_names_never_share_an_alias(one: str, other: str) -> None:
    assume(one != other)
    assert wire_name(one) != wire_name(other)
    assert identifier(one) != identifier(other)


def test_names_that_differ_in_what_is_cut_or_replaced_have_aliases_of_their_own() -> None:
    names = [
        "a.b",
        "a/b",
        "a:b",
        "a b",
        "a_b",
        "a.b.",
        "x" * 65,
        "x" * 66,
        "x" * 64 + "y",
        "é",
        "è",
        "a\n",
        "a\r",
    ]
    assert len({wire_name(name) for name in names}) == len(names)
    assert len({identifier(name) for name in names}) == len(names)
    assert len({full_name("m", name) for name in names}) == len(names)
    assert len({full_name(name, "t") for name in names}) == len(names)


def test_the_border_between_module_and_tool_counts_in_an_alias() -> None:
    assert full_name("a.", "b") != full_name("a", ".b")
    assert full_name("a.b", "c__d") != full_name("a.b__c", "d")


@given(any_name, any_name)
def test_a_full_name_is_safe_and_fits(module: str, tool: str) -> None:
    name = full_name(module, tool)
    assert SAFE.fullmatch(name)
    assert name == f"{module}__{tool}" or len(name) <= MAX_ALIAS


@pytest.mark.parametrize(("tool", "kept"), [("t" * 60, True), ("t" * 61, False)])
def test_a_full_name_is_the_module_and_the_tool_as_long_as_it_fits(tool: str, kept: bool) -> None:
    assert (full_name("mm", tool) == f"mm__{tool}") is kept


@given(any_name)
def test_an_identifier_is_one(name: str) -> None:
    made = identifier(name)
    assert made.isidentifier()
    assert made.isascii()
    assert identifier(made) == made


@pytest.mark.parametrize("name", ["plan", "fetch_page", "_template", "A9", "match"])
def test_a_name_that_is_an_identifier_is_kept(name: str) -> None:
    assert identifier(name) == name


@pytest.mark.parametrize(
    "name", ["class", "None", "__path__", "__init__", "9a", "", "ﬁ", "a.b", "-", "x" * 65]
)
def test_a_name_that_can_not_be_imported_is_changed(name: str) -> None:
    assert identifier(name) != name
    exec(f"{identifier(name)} = 1", {})


def test_names_are_the_same_in_every_run() -> None:
    code = "from mcppd.core.names import *; print(wire_name('a.b'), full_name('ä', 'b c'), identifier('a-b'))"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert runs == {f"{wire_name('a.b')} {full_name('ä', 'b c')} {identifier('a-b')}"}


class TestNearest:
    KNOWN = ("timeout", "inputSchema", "tools", "about", "read_file", "read_files", "write_file", "read_fil")

    @pytest.mark.parametrize(
        ("name", "first"),
        [
            ("timeot", "timeout"),
            ("Timeout", "timeout"),
            ("TOOLS", "tools"),
            ("input_schema", "inputSchema"),
            ("read-file", "read_file"),
            ("abuot", "about"),
        ],
    )
    def test_the_likest_comes_first(self, name: str, first: str) -> None:
        assert nearest(name, self.KNOWN)[0] == first

    def test_there_are_no_more_than_asked_for(self) -> None:
        assert nearest("read_file", self.KNOWN) == ["read_file", "read_files", "read_fil"]
        assert nearest("read_file", self.KNOWN, 1) == ["read_file"]

    @pytest.mark.parametrize("name", ["", "zzz", "日本", "\ud800"])
    def test_nothing_is_near_to_what_is_far(self, name: str) -> None:
        assert nearest(name, self.KNOWN) == []
        assert nearest(name, []) == []

    def test_names_without_end_are_compared_by_their_beginning(self) -> None:
        known = ["ab" * 50_000 + str(number) for number in range(200)]
        assert nearest("ba" * 50_000, known) == [known[0]]
