"""How a death is told, by what its spawner knows of it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from mcppd.workers import spawner_memory
from mcppd.workers.bounds import Excess
from mcppd.workers.deaths import Death


@pytest.mark.parametrize(
    ("death", "said"),
    [
        (Death(3 << 8), "exited with status 3"),
        (Death(signal.SIGSEGV), "was killed by SIGSEGV"),
        (Death(64), "was killed by SIGRTMAX"),
        (Death(50), "was killed by signal 50"),
        (Death(signal.SIGKILL), "was killed by SIGKILL"),
        (Death(signal.SIGKILL, was_ended=True, is_cut=True), "was ended: the tool closed"),
        (Death(signal.SIGKILL, is_cut=True), "was killed by SIGKILL"),
        (Death(None), "ended together with"),
        (Death(signal.SIGKILL, excess=Excess("processes", None, 5)), "was ended: more than 5 processes"),
    ],
)
def test_a_death_is_told_by_its_cause(death: Death, said: str) -> None:
    assert str(death).startswith(said)


def test_the_kernel_is_named_only_where_it_may_have_been() -> None:
    hint = "want of memory"
    assert hint in str(Death(signal.SIGKILL, oom_kills=1))
    assert hint not in str(Death(signal.SIGKILL))
    assert hint not in str(Death(signal.SIGKILL, oom_kills=1, was_ended=True))
    assert hint not in str(Death(signal.SIGTERM, oom_kills=1))


def test_deaths_for_want_of_memory_are_counted_since_the_last_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = tmp_path / "vmstat"
    monkeypatch.setattr(spawner_memory, "_MACHINE", str(counts))
    counts.write_text("pgfault 7\noom_kill 2\n")
    memory = spawner_memory.OutOfMemory()
    assert memory.killed() == 0
    counts.write_text("pgfault 9\noom_kill 5\n")
    assert memory.killed() == 3
    memory.look(100.0)
    assert memory.killed() == 0
    counts.write_text("pgfault 9\noom_kill 6\n")
    memory.look(100.1)  # too soon to look again
    assert memory.killed() == 1


def test_where_nothing_tells_of_them_there_are_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spawner_memory, "_MACHINE", str(tmp_path / "nothing"))
    monkeypatch.setattr(spawner_memory, "_GROUPS", str(tmp_path))
    memory = spawner_memory.OutOfMemory()
    memory.look(1.0)
    assert memory.killed() == 0
