"""What we keep on disk is written whole or not at all, also where the disk is full."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mcppd.reloading.keeping import write_whole
from tests.harness import LIMIT, REPOSITORY

IN_A_SMALL_ROOM = """
import os, sys
from mcppd.core.manifest import parse_manifest
from mcppd.core.yaml import read_yaml
from mcppd.reloading.readings import Reading, Readings
from mcppd.reloading.verdicts import _read, _write

kept, full = Readings(sys.argv[1] + "/readings"), sys.argv[2] == "full"
if full:
    filler = os.open(sys.argv[1] + "/filler", os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(filler, bytes(4096))
    except OSError:
        pass
else:
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
text = b"name: m\\nabout: " + bytes(9000) .replace(bytes(1), b"x") + b"\\ntools: [{name: t}]\\n"
for number in range(3):
    path = f"/m{number}/tool.yaml"
    kept.keep(path, text, Reading(parse_manifest(read_yaml(text, path)), ()))
    assert kept.recall(path, text) is None
verdicts = sys.argv[1] + "/schemas.json"
_write(verdicts, {str(number): "x" * 99 for number in range(999)})
assert _read(verdicts) == {}
left = [name for _, _, names in os.walk(sys.argv[1]) for name in names]
print(sorted(left))
"""


def _left(place: Path, how: str, *before: str) -> str:
    """The names of the files that are there after everything was tried."""
    command = [sys.executable, "-c", IN_A_SMALL_ROOM, str(place), how]
    if before:
        command = ["unshare", "-m", "sh", "-c", f'{" ".join(before)} && exec "$@"', "sh", *command]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _may_mount() -> bool:
    try:
        tried = ["unshare", "-m", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]
        return subprocess.run(tried, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not _may_mount(), reason="optional: only root mounts file systems, and not everywhere")
def test_a_full_disk_keeps_nothing_by_halves(tmp_path: Path) -> None:
    assert _left(tmp_path, "full", f"mount -t tmpfs -o size=64k tmpfs '{tmp_path}'") == "['filler']"


def test_a_limit_on_the_size_of_files_keeps_nothing_by_halves(tmp_path: Path) -> None:
    assert _left(tmp_path, "limited") == "[]"


def test_what_cannot_be_replaced_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "kept" / "file"
    assert write_whole(str(file), b"first")
    assert write_whole(str(file), b"second")
    (tmp_path / "kept" / "directory").mkdir()
    assert not write_whole(str(tmp_path / "kept" / "directory"), b"never")
    assert sorted(path.name for path in file.parent.iterdir()) == ["directory", "file"]
    assert file.read_bytes() == b"second"
    assert file.stat().st_mode & 0o777 == 0o600
