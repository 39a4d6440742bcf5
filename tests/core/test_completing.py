"""Completion without code."""

from __future__ import annotations

from mcppd.core.completing import complete_from


def test_what_begins_with_what_was_typed_is_offered_in_order_and_once() -> None:
    values = ("Berlin", "bern", "Bonn", "bern", "Paris")
    assert complete_from(values, "be") == {"values": ["Berlin", "bern"], "total": 2, "hasMore": False}
    assert complete_from(values, "BER") == {"values": ["Berlin", "bern"], "total": 2, "hasMore": False}
    assert complete_from(values, "x") == {"values": [], "total": 0, "hasMore": False}


def test_nothing_typed_offers_all_but_no_more_than_a_hundred() -> None:
    values = [f"v{number}" for number in range(101)]
    assert complete_from(values, "") == {"values": values[:100], "total": 101, "hasMore": True}
    assert complete_from(values[:100], "") == {"values": values[:100], "total": 100, "hasMore": False}


def test_case_is_nothing_in_any_script() -> None:
    assert complete_from(["Straße", "ÄRA"], "STRASS")["values"] == ["Straße"]
    assert complete_from(["Straße", "ÄRA"], "ä")["values"] == ["ÄRA"]
