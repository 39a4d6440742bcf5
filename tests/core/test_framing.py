"""Lines and frames come out the same however the bytes are cut, and nothing is kept for ever."""

from __future__ import annotations

import struct
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcppd.core import framing
from mcppd.core.framing import BlobFraming, FramingError, LineFraming, Overlong, encode_frame

steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Not judged by time: a fresh checkout first builds its Unicode tables, for seconds."""


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


# --- lines ---


@steady
@given(st.binary(max_size=200), st.lists(st.integers(min_value=0), max_size=20))
def test_lines_are_the_same_however_the_bytes_are_cut(data: bytes, places: list[int]) -> None:
    framing = LineFraming()
    found = [line for chunk in cut(data, places) for line in framing.feed(chunk)]
    *lines, tail = data.split(b"\n")
    assert found == [line for line in lines if line.strip()]
    assert framing.pending is bool(tail)


@steady
@given(
    st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    st.lists(st.integers(min_value=0), max_size=20),
)
def test_a_line_over_the_limit_costs_only_itself(lines: list[bytes], places: list[int]) -> None:
    framing = LineFraming(limit=6)
    data = b"".join(line + b"\n" for line in lines)
    found = [line for chunk in cut(data, places) for line in framing.feed(chunk)]
    assert [None if isinstance(line, Overlong) else line for line in found] == [
        None if len(line) > 6 else line for line in lines if len(line) > 6 or line.strip()
    ]
    assert all(line.size > line.limit == 6 for line in found if isinstance(line, Overlong))
    assert not framing.pending


def test_blank_lines_are_nothing_however_many() -> None:
    framing = LineFraming()
    assert framing.feed(b"\n" * 100_000 + b"1\n\r\n \t\r\n2\r\n" + b"\r\n" * 100_000) == [b"1", b"2\r"]
    assert not framing.pending


def test_a_line_of_exactly_the_limit_is_a_line() -> None:
    assert LineFraming(limit=4).feed(b"1234\n") == [b"1234"]
    assert LineFraming(limit=4).feed(b"12345\n") == [Overlong(5, 4)]


def test_a_line_over_the_limit_is_reported_at_once_and_once() -> None:
    framing = LineFraming(limit=4)
    assert framing.feed(b"123") == []
    assert framing.feed(b"456") == [Overlong(6, 4)]
    assert not framing._held
    assert framing.feed(b"7890") == []
    assert framing.pending
    assert framing.feed(b"..\nnext\n") == [b"next"]
    assert not framing.pending


def test_a_line_without_end_is_not_kept() -> None:
    framing = LineFraming(limit=1 << 16)
    chunk = b"x" * 4096
    tracemalloc.start()
    try:
        reports = [report for _ in range(4096) for report in framing.feed(chunk)]
        assert tracemalloc.get_traced_memory()[1] < 1 << 18  # 16 MiB went through
    finally:
        tracemalloc.stop()
    assert len(reports) == 1


@pytest.mark.parametrize("size", [(1 << 16) - 1, 1 << 16, (1 << 20) + 1, 17 << 20])
def test_long_lines_come_whole(size: int) -> None:
    framing = LineFraming()
    line = b"x" * size
    found = [each for at in range(0, size, 65536) for each in framing.feed(line[at : at + 65536])]
    assert found == []
    assert framing.feed(b"\n") == [line]


def test_a_held_line_is_not_copied_for_each_piece() -> None:
    framing = LineFraming()
    framing.feed(b"begin")
    held = framing._held
    framing.feed(b"goes on")
    assert framing._held is held


# --- frames ---

frames = st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=40)), max_size=6)


@steady
@given(frames, st.binary(max_size=7), st.lists(st.integers(min_value=0), max_size=20))
def test_frames_are_the_same_however_the_bytes_are_cut(
    sent: list[tuple[bytes, bytes]], tail: bytes, places: list[int]
) -> None:
    framing = BlobFraming()
    data = b"".join(encode_frame(*frame) for frame in sent) + tail
    found = [frame for chunk in cut(data, places) for frame in framing.feed(chunk)]
    assert found == sent
    assert framing.pending is bool(tail)


def test_frames_are_the_same_byte_by_byte() -> None:
    framing = BlobFraming()
    data = encode_frame(b"{}", b"blob") + encode_frame(b"[]") + encode_frame(b"", b"x")
    found = [frame for byte in data for frame in framing.feed(bytes([byte]))]
    assert found == [(b"{}", b"blob"), (b"[]", b""), (b"", b"x")]


def test_a_big_frame_in_small_pieces_comes_whole() -> None:
    framing = BlobFraming()
    blob = bytes(range(256)) * (1 << 16)
    data = encode_frame(b'{"op":"result"}', blob)
    found = [frame for at in range(0, len(data), 4096) for frame in framing.feed(data[at : at + 4096])]
    assert found == [(b'{"op":"result"}', blob)]


def test_a_held_frame_is_not_copied_for_each_piece() -> None:
    framing = BlobFraming()
    frame = encode_frame(b"{}", b"x" * 1000)
    framing.feed(frame[:20])
    held = framing._held
    framing.feed(frame[20:30])
    assert framing._held is held


@pytest.mark.parametrize(
    "sizes", [(framing.MAX_FRAME + 1, 0), (0, framing.MAX_FRAME + 1), (2**32 - 1, 2**32 - 1)]
)
def test_a_header_over_the_limit_ends_the_stream(sizes: tuple[int, int]) -> None:
    framing = BlobFraming()
    with pytest.raises(FramingError):
        framing.feed(struct.pack(">II", *sizes))
    with pytest.raises(FramingError):
        framing.feed(encode_frame(b"{}"))


def test_a_header_of_exactly_the_limit_is_one() -> None:
    assert BlobFraming().feed(struct.pack(">II", framing.MAX_FRAME, framing.MAX_FRAME)) == []


def test_what_no_receiver_takes_is_not_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(framing, "MAX_FRAME", 4)
    assert encode_frame(b"1234", b"1234")
    with pytest.raises(FramingError):
        encode_frame(b"12345")
    with pytest.raises(FramingError):
        encode_frame(b"", b"12345")
