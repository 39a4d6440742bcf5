"""Whether a lock is held, with real locks."""

from __future__ import annotations

import fcntl
from pathlib import Path

from mcppd.cli.locks import is_locked
from mcppd.transport.lock import hold_lock


def test_a_lock_is_seen_while_it_is_held_and_not_afterwards(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert not is_locked(str(path))
    with path.open("w") as file:
        assert not is_locked(str(path))
        fcntl.flock(file, fcntl.LOCK_EX)
        assert is_locked(str(path))
    assert not is_locked(str(path))


def test_looking_at_a_lock_keeps_nobody_from_taking_it(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    Path(path).touch()
    assert not is_locked(path)
    hold_lock(path)
    assert is_locked(path)
