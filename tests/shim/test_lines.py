"""Bytes into lines, however they are cut; and lines that are too long."""

from __future__ import annotations

import json
import time
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from mcppd_shim.lines import Cutter

from tests.shim.talk import request, said
from tests.shim.world import World

TEXTS = st.lists(st.binary(max_size=12).map(lambda text: text.replace(b"\n", b"")), max_size=8)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(places)]


@settings(deadline=None)
@given(TEXTS, st.binary(max_size=5), st.lists(st.integers(min_value=0), max_size=10))
def test_lines_come_whole_however_they_are_cut(texts: list[bytes], rest: bytes, cuts: list[int]) -> None:
    rest = rest.replace(b"\n", b"")
    lines = [text + b"\n" for text in texts]
    cutter = Cutter()
    found = [line for piece in pieces(b"".join(lines) + rest, cuts) for line in cutter.cut(piece)]
    assert found == lines
    assert cutter.rest() == ([rest + b"\n"] if rest else [])
    assert cutter.rest() == []


@settings(deadline=None)
@given(TEXTS, st.lists(st.integers(min_value=0), max_size=10))
def test_a_line_over_the_limit_is_left_out_and_the_others_are_not(
    texts: list[bytes], cuts: list[int]
) -> None:
    overlong: list[None] = []
    cutter = Cutter(6, lambda: overlong.append(None))
    data = b"".join([text + b"\n" for text in texts])
    found = [line for piece in pieces(data, cuts) for line in cutter.cut(piece)]
    assert [line for line in found if len(line) <= 7] == [text + b"\n" for text in texts if len(text) <= 6]
    assert len(found) + len(overlong) == len(texts)


def test_a_line_in_very_many_pieces_is_no_large_work() -> None:
    cutter = Cutter()
    before = time.process_time()
    for _ in range(100_000):
        assert cutter.cut(b"x" * 300) == []
    [line] = cutter.cut(b"\n")
    assert len(line) == 30_000_001
    assert time.process_time() - before < 5  # far more than a linear cutter takes, far less than any other


def test_a_host_is_told_of_a_line_that_is_too_long_and_goes_on(world: World) -> None:
    listener = world.listen()
    host = world.start(form=world.plant(LINE_BYTES=200_000))
    peer = listener.accept()
    peer.read_hello()
    fits = b"[" * 200_000 + b"\n"
    host.write(fits + b"[" * 200_001 + b"\n" + b"[" * 1_000_000 + b"\n" + request(2, "ping"))
    assert peer.read_line() == fits
    for _ in range(2):
        error = said(host)
        assert (error["id"], error["error"]["code"]) == (None, -32700)
    assert json.loads(peer.read_line())["id"] == 2
