"""Polling: which file systems tell nothing, and what a look finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcppd.reloading.polling import Mounts, changed, look

MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:40 / /mnt/c rw,noatime - 9p C:\\134 rw,aname=drvfs
31 27 0:41 / /home/me/nfs rw shared:1 master:2 - nfs4 server:/home rw
32 31 0:42 / /home/me/nfs/local rw - tmpfs tmpfs rw
33 27 0:43 / /mnt/my\\040disk rw - fuse.sshfs me@there:/ rw
34 27 0:44 / /mnt/over rw - cifs //there/share rw
35 34 0:45 / /mnt/over rw - ext4 /dev/vdb rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/tools", None),
        ("/mnt/c/Users/me", "9p"),
        ("/mnt/cd", None),
        ("/home/me/nfs", "nfs4"),
        ("/home/me/nfs/tools/one", "nfs4"),
        ("/home/me/nfs/local/tools", None),
        ("/mnt/my disk/tools", "fuse.sshfs"),
        ("/mnt/over/tools", None),
    ],
)
def test_file_systems_that_tell_nothing_are_known_by_their_type(path: str, kind: str | None) -> None:
    assert Mounts(MOUNTS).silent(path) == kind


def test_a_link_to_such_a_file_system_is_on_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    text = f"27 1 254:0 / / rw - ext4 /dev/vda rw\n30 27 0:40 / {tmp_path}/real rw - nfs s:/ rw\n"
    assert Mounts(text).silent(str(tmp_path / "link")) == "nfs"
    assert Mounts(text).silent(str(tmp_path)) is None


def test_the_mounts_of_this_machine_can_be_read(tmp_path: Path) -> None:
    assert Mounts().silent("/proc") is None


def test_a_look_finds_what_was_made_written_and_removed(tmp_path: Path) -> None:
    for name in ("kept", "written", "removed"):
        (tmp_path / name).write_text("1")
    before = look([str(tmp_path), str(tmp_path / "nosuch")])
    (tmp_path / "written").write_text("22")
    (tmp_path / "removed").unlink()
    (tmp_path / "made").write_text("1")
    (tmp_path / "nosuch").mkdir()
    now = look([str(tmp_path), str(tmp_path / "nosuch")])
    names = ("written", "removed", "made", "nosuch")
    assert changed(before, now) == {str(tmp_path), *(str(tmp_path / name) for name in names)}
    assert changed(now, now) == set()
