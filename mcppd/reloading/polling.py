"""Polling: what changed in directories of which the system tells nothing, found by looking, and which those are."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Mapping
from typing import Final

from mcppd.reloading.stamps import Stamp, stamp

MOUNTS: Final = "/proc/self/mountinfo"
SILENT: Final = frozenset(
    {
        *(
            "nfs",
            "nfs4",
            "cifs",
            "smb3",
            "smbfs",
            "ncpfs",
            "afs",
            "coda",
            "ceph",
            "lustre",
            "glusterfs",
            "gfs2",
        ),
        *(
            "ocfs2",
            "gpfs",
            "beegfs",
            "orangefs",
            "9p",
            "virtiofs",
            "drvfs",
            "vboxsf",
            "vmhgfs",
            "prl_fs",
            "acfs",
        ),
        "ecryptfs",
    }
)
"""File systems on which others write without our kernel being told: over a network, or from outside of a machine."""
FINE: Final = frozenset({"btrfs", "ext4", "tmpfs", "xfs"})
"""File systems on which a file that was looked at gets another stamp with each change (Linux 6.13, "Multigrain
Timestamps")."""
FINE_SINCE: Final = (6, 13)
SILENT_PREFIX: Final = "fuse"
"""FUSE and all that is built with it: what changes behind it is told to nobody."""

View = Mapping[str, Stamp]
"""A directory and what lies in it, by path."""


class Mounts:
    """What is mounted where, at one moment."""

    def __init__(self, text: str | None = None) -> None:
        """`text` is that of proc(5)'s mountinfo; without it, it is read."""
        # mount point -> type; the last one mounted at a place is the one that is seen
        self._kinds = dict(map(_mount, (_mounts() if text is None else text).splitlines()))
        self._of_devices: dict[int, str] = {}

    def kind(self, directory: str) -> str:
        """The type of the file system that a directory lies on; empty where nobody knows."""
        try:
            device = os.stat(directory).st_dev
        except OSError:
            return self._at(directory)
        if device not in self._of_devices:  # all that lies on one device lies on one file system
            self._of_devices[device] = self._at(directory)
        return self._of_devices[device]

    def _at(self, directory: str) -> str:
        place = os.path.realpath(directory)
        while place not in self._kinds and place != "/":
            place = os.path.dirname(place)
        return self._kinds.get(place, "")


def is_silent(kind: str) -> bool:
    """Whether a file system of this type tells nothing of what is changed on it."""
    return kind in SILENT or kind.startswith(SILENT_PREFIX)


def is_fine(kinds: Iterable[str], release: str = os.uname().release) -> bool:
    """Whether each change of a file gives it another stamp, on file systems of all these types."""
    version = tuple(int(number) for number in re.findall(r"\d+", release)[:2])
    return version >= FINE_SINCE and FINE.issuperset(kinds)


def look(directories: Iterable[str]) -> dict[str, View]:
    """What lies in directories now; may take as long as a network does."""
    return {directory: _view(directory) for directory in directories}


def changed(before: Mapping[str, View], now: Mapping[str, View]) -> set[str]:
    """The paths that differ between two looks, in directories that are in both."""
    found = set()
    for directory in before.keys() & now.keys():
        old, new = before[directory], now[directory]
        found |= {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}
    return found


def _view(directory: str) -> View:
    view = {directory: stamp(directory)}
    with contextlib.suppress(OSError):  # gone, or not ours to read: its own stamp tells when that changes
        view |= {entry.path: stamp(entry.path) for entry in os.scandir(directory)}
    return view


def _mounts() -> str:
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _mount(line: str) -> tuple[str, str]:
    """(mount point, type) of a line of mountinfo; blanks in a path are octal there."""
    head, _, tail = line.partition(" - ")
    point = (head.split(" ")[4:5] or [""])[0]
    for written, meant in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        point = point.replace(written, meant)
    return point, tail.split(" ")[0]
