"""Patience: what looks unfinished is waited for, but not for ever; and whether somebody has a file open."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from mcppd.reloading.loaded import Loaded, Look, Scan
from mcppd.reloading.loader import Loader
from mcppd.reloading.patience import SECONDS, Patience, Unfinished, is_open_for_writing
from mcppd.reloading.stamps import stamp


def _open(path: Path) -> bool:
    return is_open_for_writing(str(path), stamp(str(path)))


def test_a_file_that_is_open_for_writing_is_known(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    with path.open("w") as file:
        assert _open(path)
        file.write("x")
    assert not _open(path)
    with path.open("a"):
        assert _open(path)
    with path.open():
        assert not _open(path)


def test_the_look_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("x")
    for _ in range(100):
        assert not _open(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)  # fails while a lease is held
        os.close(descriptor)


def test_what_was_written_long_ago_is_finished_whoever_has_it_open(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    with path.open("w") as file:
        found = stamp(str(path))
        assert found is not None
        long_ago = time.time_ns() - int(SECONDS["open"] * 2e9)
        assert not is_open_for_writing(str(path), (long_ago, long_ago, *found[2:]))
        file.write("x")


def test_what_can_not_be_opened_is_not_open_for_writing(tmp_path: Path) -> None:
    now = time.time_ns()
    assert not is_open_for_writing(str(tmp_path / "nosuch"), (now, now, 0, 0))


@pytest.mark.parametrize("why", SECONDS)
def test_each_reason_is_believed_for_its_time(why: Unfinished, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    patience = Patience()
    for moment, waits in ((0.0, True), (SECONDS[why] * 0.9, True), (SECONDS[why], False), (9.0, False)):
        now = 100.0 + moment
        patience.next_scan()
        assert patience.waits("/a", why) is waits


def test_another_write_or_another_reason_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    patience = Patience()
    assert patience.waits("/a", "open", (1, 1, 1, 1))
    now += SECONDS["open"]
    patience.next_scan()
    assert patience.waits("/a", "open", (2, 2, 2, 1))
    now += SECONDS["open"]
    patience.next_scan()
    assert patience.waits("/a", "empty")


def test_what_was_finished_in_between_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    patience = Patience()
    assert patience.waits("/a", "gone")
    now += SECONDS["gone"]
    patience.next_scan()
    patience.next_scan()
    assert patience.waits("/a", "gone")


def test_the_files_of_a_directory_that_goes_are_waited_for_as_long_as_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    module = tmp_path / "tools" / "one"
    module.mkdir(parents=True)
    (module / "mcpptool.py").write_text("def execute(*_): ...\n")
    (module / "tool.yaml").write_text("name: one\ntools: [{name: first}]\n")
    (tmp_path / "tools.yaml").write_text("modules:\n  - path: tools/*\n")
    loader, scan = Loader(str(tmp_path / "tools.yaml"), {}), Scan()
    scan = loader.scan(scan, Look(youth=0.0))
    (module / "mcpptool.py").unlink()
    scan = loader.scan(scan, Look(youth=0.0, only=frozenset({str(module)})))
    shutil.rmtree(module)
    seen: list[Loaded] = []
    while scan.modules:
        now += SECONDS["gone"] / 4
        scan = loader.scan(scan, Look(youth=0.0, only=frozenset()))
        seen += scan.modules
    assert len(seen) >= 4
    assert [loaded.fault for loaded in seen if loaded.fault] == []
