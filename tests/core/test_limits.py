"""Limits: how they are written, and which of several holds."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcppd.core import limits
from mcppd.core.limits import Limits, ToolLimits, as_size, of_tool, over, size


@pytest.mark.parametrize(
    ("written", "count"),
    [
        (0, 0),
        (4096, 4096),
        (1024.0, 1024),
        ("100000", 100_000),
        ("512M", 512 * 2**20),
        ("512m", 512 * 2**20),
        ("512MB", 512 * 2**20),
        ("512 MiB", 512 * 2**20),
        (" 1.5G ", 3 * 2**29),
        ("0.5K", 512),
        ("2T", 2 * 2**40),
        ("7B", 7),
        ("00", 0),
    ],
)
def test_a_size_is_read_as_people_write_it(written: Any, count: int) -> None:
    assert size(written) == count


@pytest.mark.parametrize(
    "written",
    [
        -1,
        1.5,
        math.inf,
        math.nan,
        True,
        None,
        [1],
        "",
        "M",
        "1P",
        "1e5",
        "-2",
        "1,5G",
        "1_000",
        "1 000",
        "9999T",
        2**60,
    ],
)
def test_what_is_no_size_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match="size"):
        size(written)


@given(st.integers(0, limits.MAX_SIZE))
def test_a_size_that_is_shown_can_be_written(count: int) -> None:
    shown = as_size(count)
    assert size(shown.removesuffix(" bytes")) == count


def test_a_slip_of_the_finger_is_no_limit_of_memory_or_output() -> None:
    for convert in (limits.memory, limits.output):
        assert convert(0) == 0
        with pytest.raises(ValueError, match="at least"):
            convert(512)


@pytest.mark.parametrize(
    ("convert", "good", "bad"),
    [
        (limits.workers, [1, 64], [0, 65, 1.0, "2", True]),
        (limits.queue, [0, 10_000], [-1, 10_001, None]),
        (limits.processes, [0, 1, 2**22], [-1, 2**23, "all"]),
    ],
)
def test_counts_have_bounds(convert: Any, good: list[Any], bad: list[Any]) -> None:
    assert [convert(each) for each in good] == good
    for each in bad:
        with pytest.raises(ValueError, match="whole number"):
            convert(each)


def test_the_registry_goes_before_the_manifest() -> None:
    registry, manifest = Limits(timeout=0.0, workers=2), Limits(timeout=9.0, memory=2**26, queue=0)
    assert over(registry, manifest) == Limits(timeout=0.0, workers=2, memory=2**26, queue=0)


@pytest.mark.parametrize(
    ("registry", "patterns", "manifest", "own", "timeout"),
    [
        (Limits(), {}, Limits(), ToolLimits(), None),
        (Limits(), {}, Limits(timeout=1), ToolLimits(), 1),
        (Limits(), {}, Limits(timeout=1), ToolLimits(timeout=2), 2),
        (Limits(timeout=3), {}, Limits(timeout=1), ToolLimits(timeout=2), 3),
        (Limits(timeout=3), {"t*": ToolLimits(timeout=4)}, Limits(), ToolLimits(timeout=2), 4),
        (Limits(), {"t*": ToolLimits(timeout=4), "t": ToolLimits(timeout=5)}, Limits(), ToolLimits(), 5),
        (Limits(), {"t*": ToolLimits(timeout=4), "t": ToolLimits(output=5)}, Limits(), ToolLimits(), 4),
        (Limits(), {"x*": ToolLimits(timeout=4)}, Limits(), ToolLimits(), None),
        (Limits(), {"?": ToolLimits(timeout=6), "*": ToolLimits(timeout=7)}, Limits(), ToolLimits(), 6),
    ],
)
def test_what_holds_for_a_tool(
    registry: Limits,
    patterns: dict[str, ToolLimits],
    manifest: Limits,
    own: ToolLimits,
    timeout: float | None,
) -> None:
    assert of_tool("t", registry, patterns, manifest, own).timeout == timeout


def test_what_clients_were_promised_holds_unless_the_registry_says_otherwise() -> None:
    own = ToolLimits(output=1000, chars=5000)
    assert of_tool("t", Limits(), {}, Limits(), own) == own
    assert of_tool("t", Limits(output=2000), {}, Limits(), own) == ToolLimits(output=2000)
    assert of_tool("t", Limits(), {"*": ToolLimits(output=2000)}, Limits(), own) == ToolLimits(output=2000)
