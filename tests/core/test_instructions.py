"""What every client is told of the server: joined with headings, under a limit."""

from __future__ import annotations

from mcppd.core.catalog import Module
from mcppd.core.instructions import FIRST, MAX_INSTRUCTIONS, instructions, room_left


def module(name: str, about: str = "") -> Module:
    return Module(name, f"/modules/{name}", about=about)


def test_our_own_words_come_first_then_the_registry_then_the_modules_under_their_names() -> None:
    text = instructions(
        [module("b", " keeps notes\n"), module("none"), module("a", "two\nlines")], " be kind\n"
    )
    assert text == f"{FIRST}\n\nbe kind\n\n## b\nkeeps notes\n\n## a\ntwo\nlines"


def test_without_anything_it_is_our_own_words() -> None:
    assert instructions([module("a")], "") == FIRST


def test_what_is_too_long_is_cut_between_modules_and_the_rest_is_counted() -> None:
    text = instructions([module(f"m{number}", "x" * 300) for number in range(50)], "")
    assert len(text) <= MAX_INSTRUCTIONS
    whole, _, more = text.rpartition("\n\n")
    count = whole.count("## ")
    assert f"{50 - count} more modules" in more
    assert whole.endswith("x" * 300)
    assert len(text) > MAX_INSTRUCTIONS - 500


def test_one_module_too_many_is_one_more() -> None:
    text = instructions([module("a", "fine"), module("b", "x" * 5000)], "")
    assert "## a\nfine" in text
    assert "1 more module:" in text


def test_a_text_of_the_registry_that_is_too_long_is_cut_itself() -> None:
    long = "y" * 5000
    text = instructions([module("a", "fine")], long)
    assert len(text) <= MAX_INSTRUCTIONS
    assert "y…" in text
    assert "1 more module:" in text
    assert room_left(long) < 0
    assert instructions([], "y" * room_left("")).endswith("y")
