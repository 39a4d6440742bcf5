"""Whether files are still what they were."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mcppd.reloading.polling import Mounts, is_fine
from mcppd.reloading.stamps import differing, is_young, links_on, stamp


def test_a_file_differs_when_it_is_replaced_by_one_of_the_same_time_and_size(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("1")
    known = {str(path): stamp(str(path)), str(tmp_path / "absent"): None}
    assert not differing(known)
    other = tmp_path / "b.py"
    other.write_text("2")
    os.utime(other, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))
    other.replace(path)
    assert differing(known)


def test_young_is_what_was_changed_a_moment_ago_by_any_clock(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.touch()
    found = stamp(str(path))
    now = path.stat().st_mtime
    assert is_young([found], now=now + 0.01)
    assert is_young([found], now=now - 0.01)
    assert not is_young([found], now=now + 1)
    assert not is_young([found], now=now - 3600)
    assert not is_young([None], now=time.time())


def test_links_on_the_way_to_a_path(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "link").symlink_to(target)
    assert str(tmp_path) in set(links_on(str(tmp_path / "link" / "x")))


def test_where_stamps_are_fine_each_change_after_a_look_is_another_stamp(tmp_path: Path) -> None:
    if not is_fine([Mounts().kind(str(tmp_path))]):
        pytest.skip(
            "optional: stamps are not fine here: that takes Linux 6.13, and ext4, xfs, btrfs or tmpfs"
        )
    path = tmp_path / "a.py"
    path.write_text("0")
    seen = [stamp(str(path))]
    for number in range(1000):
        path.write_text(str(number % 10))
        seen.append(stamp(str(path)))
    assert len(set(seen)) == len(seen)
