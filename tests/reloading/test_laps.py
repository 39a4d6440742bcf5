"""The time of each stage of a reload, whichever passes it takes."""

from __future__ import annotations

import pytest

from mcppd.reloading.laps import Laps


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    def go(self, seconds: float) -> None:
        self.now += seconds


def test_each_stage_has_the_time_since_the_last_and_noticed_counts_from_the_event() -> None:
    clock = Clock()
    laps = Laps(clock)
    laps.begin(99.5)
    for stage, seconds in (("read", 2.0), ("published", 1.0)):
        clock.go(seconds)
        laps.lap(stage)
    assert laps.stages == pytest.approx({"noticed": 0.5, "read": 2.0, "published": 1.0})
    assert laps.seconds == pytest.approx(3.5)
    assert list(laps.stages) == ["noticed", "read", "published"]


def test_a_reload_of_two_passes_has_their_sum_and_what_lay_between() -> None:
    clock = Clock()
    laps = Laps(clock)
    laps.begin(None)
    clock.go(1.0)
    laps.lap("read")
    clock.go(4.0)
    laps.begin(103.0)
    clock.go(2.0)
    laps.lap("read")
    assert laps.stages == pytest.approx({"noticed": 0.0, "waited": 4.0, "read": 3.0})


def test_what_comes_after_the_end_is_another_reload() -> None:
    clock = Clock()
    laps = Laps(clock)
    laps.begin(None)
    clock.go(1.0)
    laps.lap("read")
    laps.end()
    clock.go(50.0)
    laps.begin(None)
    clock.go(0.25)
    laps.lap("read")
    assert laps.stages == pytest.approx({"noticed": 0.0, "read": 0.25})


def test_an_event_in_the_future_counts_as_now() -> None:
    laps = Laps(Clock())
    laps.begin(200.0)
    assert laps.seconds == 0.0
