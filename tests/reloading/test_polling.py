"""Polling: which file systems tell nothing, and what a look finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcppd.reloading.polling import Mounts, changed, is_fine, is_silent, look

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
        ("/home/me/tools", "ext4"),
        ("/mnt/c/Users/me", "9p"),
        ("/mnt/cd", "ext4"),
        ("/home/me/nfs", "nfs4"),
        ("/home/me/nfs/tools/one", "nfs4"),
        ("/home/me/nfs/local/tools", "tmpfs"),
        ("/mnt/my disk/tools", "fuse.sshfs"),
        ("/mnt/over/tools", "ext4"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_the_nearest_mount(path: str, kind: str) -> None:
    assert Mounts(MOUNTS).kind(path) == kind


@pytest.mark.parametrize("kind", ["9p", "nfs4", "fuse.sshfs", "fuseblk", "ecryptfs"])
def test_file_systems_that_tell_nothing_are_known_by_their_type(kind: str) -> None:
    assert is_silent(kind)
    assert not is_fine([kind], "6.18.0")


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", ""])
def test_the_others_tell(kind: str) -> None:
    assert not is_silent(kind)


def test_stamps_are_fine_where_the_kernel_and_all_file_systems_have_such() -> None:
    assert is_fine(["ext4", "tmpfs"], "6.13.0-rc1-amd64")
    assert is_fine(["ext4"], "7.0")
    assert not is_fine(["ext4"], "6.12.48+deb13-amd64")
    assert not is_fine(["ext4", "overlay"], "6.13.0")
    assert not is_fine(["ext4"], "of my own")


def test_a_link_to_another_file_system_is_on_it(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    text = f"27 1 254:0 / / rw - ext4 /dev/vda rw\n30 27 0:40 / {tmp_path}/real rw - nfs s:/ rw\n"
    assert Mounts(text).kind(str(tmp_path / "link")) == "nfs"
    assert Mounts(text).kind(str(tmp_path / "nosuch")) == "ext4"


def test_the_mounts_of_this_machine_can_be_read() -> None:
    assert Mounts().kind("/proc") == "proc"


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
