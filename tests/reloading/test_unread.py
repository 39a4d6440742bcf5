"""What the watcher tells of is read again only where it isn't what was read last."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from mcppd.reloading.loaded import Look, Scan
from mcppd.reloading.loader import Loader
from mcppd.reloading.owners import Owners
from mcppd.reloading.stamps import YOUNG
from mcppd.reloading.unread import Unread


class Read:
    """A registry with a module, what was read of it, and how often more was wanted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.module = root / "tools" / "one"
        self.module.mkdir(parents=True)
        self.code = self.module / "mcpptool.py"
        self.code.write_text("def execute(*_): ...\n")
        (self.module / "tool.yaml").write_text("name: one\ntools: [{name: t}]\n")
        (root / "tools.yaml").write_text("modules:\n  - path: tools/*\n")
        self.wanted: list[tuple[float | None, frozenset[str] | None]] = []
        self._owners = Owners()
        self.unread = Unread(self._owners, lambda *wanted: self.wanted.append(wanted))
        self._loader, self._scan = Loader(str(root / "tools.yaml"), {}), Scan()
        self.scan()

    def scan(self) -> None:
        with self.unread.reading():
            self._scan = self._loader.scan(self._scan, Look())
        self._owners.take(self._scan)
        self.unread.read(self._scan)

    def told(self, *paths: Path) -> int:
        """How often a scan was wanted because of these."""
        self.wanted.clear()
        self.unread.told(map(str, paths), 1.0)
        return len(self.wanted)


@pytest.fixture
def read(tmp_path: Path) -> Read:
    return Read(tmp_path)


def test_what_was_read_already_is_not_read_again(read: Read) -> None:
    read.code.write_text("def execute(*_): return {}\n")
    assert read.told(read.code) == 1
    read.scan()
    assert read.told(read.code) == 0
    assert read.told(read.module / "tool.yaml", read.root / "tools.yaml", read.module) == 0


def test_a_file_that_comes_or_goes_is_read(read: Read) -> None:
    new = read.module / "more.py"
    new.touch()
    assert read.told(new) == 1
    read.scan()
    assert read.told(new) == 0
    new.unlink()
    assert read.told(new) == 1
    read.scan()
    assert read.told(new) == 0  # it went, and that was read
    assert read.told(read.root / "tools" / "two") == 0
    (read.root / "tools" / "two").mkdir()
    assert read.told(read.root / "tools" / "two") == 1


def test_what_nobody_has_read_may_be_a_source(read: Read, tmp_path: Path) -> None:
    assert read.told(tmp_path / "elsewhere" / "x.py") == 1
    assert read.told(tmp_path / "elsewhere" / "x.txt") == 0


def test_a_link_that_is_pointed_elsewhere_is_always_read(read: Read) -> None:
    link = read.root / "tools" / "link"
    link.symlink_to(read.module)
    read.scan()
    assert read.told(link) == 1


def test_what_changes_while_files_are_read_waits_for_what_they_come_to(read: Read) -> None:
    with read.unread.reading():
        assert read.told(read.code) == 0
        read.code.write_text("changed = True\n")
    read.unread.read(Scan())
    assert read.wanted == [(1.0, frozenset({str(read.module)}))]
    read.wanted.clear()
    with read.unread.reading():
        assert read.told(read.code) == 0
    read.scan()
    assert read.wanted == []


def test_a_touch_is_another_stamp(read: Read) -> None:
    deadline = time.monotonic() + 10 * YOUNG
    before = read.code.stat().st_mtime_ns
    while read.code.stat().st_mtime_ns == before and time.monotonic() < deadline:
        os.utime(read.code)
    assert read.told(read.code) == 1
