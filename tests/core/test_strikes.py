"""Strikes: workers that die again and again are paused for, then given up, and forgiven at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mcppd.core.strikes import PATIENCE, PAUSES, Strikes


def died(strikes: Strikes, count: int, now: float = 0.0) -> None:
    for _ in range(count):
        strikes.died(strikes.incidents, "a call of 'x' exited with status 3.", now)


def test_a_few_deaths_cost_only_their_calls() -> None:
    strikes = Strikes()
    died(strikes, PATIENCE - 1)
    assert strikes.condition(0.0) is None
    assert strikes.may_try(0.0)


def test_more_of_them_in_a_row_are_followed_by_pauses_that_grow_and_then_by_the_end() -> None:
    strikes, now = Strikes(), 100.0
    died(strikes, PATIENCE - 1, now)
    for pause in PAUSES:
        died(strikes, 1, now)
        condition = strikes.condition(now)
        assert condition is not None
        assert (condition.state, condition.seconds) == ("backoff", pause)
        assert not strikes.may_try(now + pause * 0.99)
        now += pause
        assert strikes.may_try(now)
        later = strikes.condition(now)
        assert later is not None
        assert (later.text, later.seconds) == (condition.text, 0.0)
    died(strikes, 1, now)
    condition = strikes.condition(now)
    assert condition is not None
    assert (condition.state, condition.seconds) == ("failed", 0.0)
    assert not strikes.may_try(now + 10**9)


def test_an_answer_or_a_person_ends_it_at_once() -> None:
    strikes = Strikes()
    died(strikes, PATIENCE + len(PAUSES))
    strikes.forgive()
    assert strikes.condition(0.0) is None
    assert strikes.may_try(0.0)
    died(strikes, PATIENCE - 1)
    assert strikes.may_try(0.0)


def test_workers_that_die_together_are_one_incident() -> None:
    strikes = Strikes()
    for _ in range(100):
        strikes.died(0, "was killed by SIGKILL", 0.0)
    assert strikes.incidents == 1
    assert strikes.condition(0.0) is None


def test_what_a_call_is_told_names_the_module_the_death_and_the_way_out() -> None:
    strikes = Strikes()
    died(strikes, PATIENCE, 10.0)
    condition = strikes.condition(10.4)
    assert condition is not None
    told = condition.told("weather")
    for word in (
        "'weather'",
        "0.6 s",
        f"{PATIENCE} times",
        "exited with status 3",
        "saved",
        "`mcppd reload`",
    ):
        assert word in told
    died(strikes, len(PAUSES), 10.0)
    condition = strikes.condition(99.0)
    assert condition is not None
    assert "has failed" in condition.told("weather")


@given(st.lists(st.sampled_from(["died", "answered"])))
def test_it_is_the_row_that_counts(events: list[str]) -> None:
    strikes, row = Strikes(), 0
    for event in events:
        if event == "died":
            died(strikes, 1)
            row += 1
        else:
            strikes.forgive()
            row = 0
        assert (strikes.condition(0.0) is None) == (row < PATIENCE)
