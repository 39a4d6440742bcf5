"""What of `mcppd dev` needs no daemon: how room is shared, what fits, and the thread that writes."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mcppd.cli.answers import Status
from mcppd.cli.dev_layout import Section, row, section_lines, share
from mcppd.cli.dev_news import Warned, error_lines
from mcppd.cli.dev_pen import Pen
from mcppd.cli.dev_picture import Story, picture
from mcppd.core.events import CallEnded, Reloaded
from mcppd.core.reports import ModuleChange, Report

WANTS = st.lists(st.integers(0, 60), max_size=6)


@given(st.integers(0, 100), WANTS)
def test_room_is_shared_fully_and_fairly(room: int, wanted: list[int]) -> None:
    shares = share(room, wanted)
    assert sum(shares) == min(room, sum(wanted))
    assert all(have <= want for have, want in zip(shares, wanted, strict=True))
    hungry = [have for have, want in zip(shares, wanted, strict=True) if have < want]
    assert not hungry or max(shares) - min(hungry) <= 1


def test_a_section_says_how_many_things_it_leaves_out() -> None:
    rows = [row("ok", "one"), row("what is wrong with it"), row("ok", "two"), row("ok", "three")]
    lines = section_lines([Section("modules", "", tuple(rows), more=5)], 40, 4)
    assert [line.plain.rstrip(" ─") for line in lines] == [
        "── modules",
        " ok  one",
        "    what is wrong with it",
        "  … 7 more",
    ]


def test_columns_align_and_the_last_takes_what_is_left() -> None:
    rows = (row("a", "bb", "c" * 50), row("aaa", "b", "c"))
    lines = section_lines([Section("x", "", rows)], 30, 9)
    assert [line.plain for line in lines[1:]] == [" a    bb  ccccccccccccccccccc…", " aaa  b   c"]


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@pytest.mark.slow
@given(st.integers(1, 220), st.integers(1, 60), TEXT, st.integers(0, 70))
def test_the_picture_fits_any_size_whatever_it_shows(width: int, height: int, text: str, count: int) -> None:
    fault = {"message": text, "file": f"/{text}/x.py", "line": 3, "source": text}
    module = {"name": text, "directory": f"/m/{text}", "state": "broken", "fault": fault, "warnings": (text,)}
    session = {"client": {"name": text}, "workspace": text, "calls": 3}
    status = Status(modules=(module,) * count, sessions=(session,) * count, registry=text, warnings=(text,))
    story = Story()
    for _ in range(count):
        story.take("12:00:00", CallEnded(text, text, 0.1, "failed", text))
        story.take(
            "12:00:00", Reloaded(Report("", 0.1, (ModuleChange(text, 1, 2, (text,)),), list_changed=True))
        )
        story.take("12:00:00", Warned("error", text))
    lines = [str(line) for line in picture(status, story, text, width, height).renderables]
    assert len(lines) <= height
    assert max(map(cell_len, lines)) <= width
    assert not any("\n" in line or "\x1b" in line for line in lines)


def test_of_an_error_the_headline_and_the_innermost_frame_are_shown() -> None:
    told = (
        "ValueError: no\n  a.py:1 in f: g()\n  a.py:9 in g: raise\ncaused by KeyError: 'x'\n  b.py:2 in h: x"
    )
    assert error_lines(told) == ["ValueError: no", "a.py:9 in g: raise"]
    assert error_lines("Error: alone") == ["Error: alone"]
    assert error_lines("") == []


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(write)


def test_a_pen_tells_a_reader_that_is_gone_from_a_fault_of_its_own(pipe: tuple[int, int]) -> None:
    pen = Pen(pipe[1])
    pen.do(lambda: pen.write("é"))
    assert pen.finish()
    assert os.read(pipe[0], 9) == "é".encode()
    assert pen.has_reader
    os.close(pipe[0])
    pen.do(lambda: pen.write("more"))
    assert pen.finish()
    with pytest.raises(BrokenPipeError):
        pen.say_last("last")
    broken = Pen(pipe[1])
    broken.do(lambda: 1 // 0)
    assert broken.finish()
    with pytest.raises(ZeroDivisionError):
        assert broken.has_reader
