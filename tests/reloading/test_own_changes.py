"""Own changes: what counts as a module's own doing, and when that is ended."""

from __future__ import annotations

import pytest

from mcppd.reloading.own_changes import TIMES, WITHIN, OwnChanges


class Case:
    """One module that writes a file, at times that the test tells."""

    def __init__(self) -> None:
        self.now = 0.0
        self.changes = OwnChanges(lambda: self.now)

    def reload(self, *paths: str) -> None:
        self.changes.reloaded("/m", frozenset(paths))


@pytest.fixture
def case() -> Case:
    return Case()


def test_what_the_module_does_not_write_always_counts(case: Case) -> None:
    for _ in range(10):
        case.reload("/m/a.py")
    assert case.changes.ignored == {}


def test_what_it_writes_is_ignored_after_some_reloads_in_a_short_time(case: Case) -> None:
    case.changes.written("/m", ["/m/a.py"])
    for _ in range(TIMES - 1):
        case.reload("/m/a.py")
    assert case.changes.ignored == {}
    case.reload("/m/a.py")
    assert case.changes.ignored == {"/m": frozenset({"/m/a.py"})}
    [warning] = case.changes.warnings()
    assert str(warning).startswith("/m/a.py: the module in /m changes this file itself")


def test_that_it_writes_may_be_known_only_afterwards(case: Case) -> None:
    for _ in range(TIMES):
        case.reload("/m/a.py")
    assert case.changes.written("/m", ["/m/a.py"])
    assert not case.changes.written("/m", ["/m/a.py"])
    assert case.changes.ignored == {"/m": frozenset({"/m/a.py"})}


def test_reloads_that_are_further_apart_count(case: Case) -> None:
    case.changes.written("/m", ["/m/a.py"])
    for _ in range(10):
        case.reload("/m/a.py")
        case.now += WITHIN / (TIMES - 1)
    assert case.changes.ignored == {}


def test_how_long_a_reload_takes_does_not_count(case: Case) -> None:
    case.changes.written("/m", ["/m/a.py"])
    for _ in range(TIMES):
        assert case.changes.ignored == {}
        case.reload("/m/a.py")
        case.now += 10 * WITHIN
        case.changes.prepared("/m", 10 * WITHIN)
    assert case.changes.ignored == {"/m": frozenset({"/m/a.py"})}


def test_a_save_of_another_file_lets_it_count_again(case: Case) -> None:
    case.changes.written("/m", ["/m/a.py"])
    for _ in range(TIMES):
        case.reload("/m/a.py")
    case.now += WITHIN
    case.reload("/m/b.py")
    assert case.changes.ignored == {}


def test_a_reload_that_was_asked_for_forgets_all(case: Case) -> None:
    case.changes.written("/m", ["/m/a.py"])
    for _ in range(TIMES):
        case.reload("/m/a.py")
    case.changes.forget()
    assert case.changes.ignored == {}
    assert list(case.changes.warnings()) == []
