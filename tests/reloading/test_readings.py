"""Readings: what is kept is what was read, and a file that is damaged, foreign or old is none."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from mcppd.core.manifest import parse_manifest
from mcppd.core.modules import make_offer
from mcppd.core.yaml import read_yaml
from mcppd.reloading import readings
from mcppd.reloading.readings import DIGEST, Reading, Readings

TEXT = """\
name: weather
about: Über das Wetter
tools:
  - name: now
    description: The weather now
    inputSchema:
      type: object
      properties: {place: {type: string}, big: {const: 123456789012345678901234567890}}
  - name: bad
    inputSchema: 3
""".encode()


def read(path: str) -> Reading:
    manifest = parse_manifest(read_yaml(TEXT, path))
    return Reading(manifest, tuple(make_offer(each.name, each.definition) for each in manifest.tools))


def kept_file(directory: Path) -> Path:
    (found,) = directory.iterdir()
    return found


def test_what_is_kept_is_recalled_for_the_same_path_and_bytes_only(tmp_path: Path) -> None:
    kept, reading = Readings(str(tmp_path / "kept")), read("/m/tool.yaml")
    kept.keep("/m/tool.yaml", TEXT, reading)
    assert Readings(str(tmp_path / "kept")).recall("/m/tool.yaml", TEXT) == reading
    assert kept.recall("/other/tool.yaml", TEXT) is None  # faults name the file
    assert kept.recall("/m/tool.yaml", TEXT + b"\n") is None


def test_only_its_owner_can_read_or_change_it(tmp_path: Path) -> None:
    Readings(str(tmp_path / "kept")).keep("/m/tool.yaml", TEXT, read("/m/tool.yaml"))
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700
    assert kept_file(tmp_path / "kept").stat().st_mode & 0o777 == 0o600


def test_another_version_of_the_rules_reads_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Readings(str(tmp_path)).keep("/m/tool.yaml", TEXT, read("/m/tool.yaml"))
    monkeypatch.setattr(readings, "_rules", lambda: b"other")
    assert Readings(str(tmp_path)).recall("/m/tool.yaml", TEXT) is None


@pytest.mark.parametrize("length", [0, 5, DIGEST, DIGEST + 1, -1])
def test_half_a_file_is_none(tmp_path: Path, length: int) -> None:
    kept = Readings(str(tmp_path))
    kept.keep("/m/tool.yaml", TEXT, read("/m/tool.yaml"))
    file = kept_file(tmp_path)
    file.write_bytes(file.read_bytes()[:length])
    assert kept.recall("/m/tool.yaml", TEXT) is None


class Hostile:
    """Runs a program where it is read as pickles are by default."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch /tmp/mcppd-hostile-reading",)


@pytest.mark.parametrize("value", [Hostile(), ["no reading"], Path("/")])
def test_a_file_that_holds_something_else_is_none(tmp_path: Path, value: object) -> None:
    kept = Readings(str(tmp_path))
    kept.keep("/m/tool.yaml", TEXT, read("/m/tool.yaml"))
    content = pickle.dumps(value)
    kept_file(tmp_path).write_bytes(readings._digest(content) + content)
    assert kept.recall("/m/tool.yaml", TEXT) is None
    assert not Path("/tmp/mcppd-hostile-reading").exists()


def test_a_disk_that_refuses_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file where the directory should be")
    kept = Readings(str(tmp_path / "kept"))
    kept.keep("/m/tool.yaml", TEXT, read("/m/tool.yaml"))
    kept.prune()
    assert kept.recall("/m/tool.yaml", TEXT) is None


def test_the_oldest_go_where_there_are_too_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "FILES_KEPT", 2)
    kept = Readings(str(tmp_path))
    for number in range(4):
        path = f"/m{number}/tool.yaml"
        kept.keep(path, TEXT, read(path))
        os.utime(max(tmp_path.iterdir(), key=lambda file: file.stat().st_ctime_ns), (number, number))
    kept.prune()
    assert [kept.recall(f"/m{number}/tool.yaml", TEXT) is not None for number in range(4)] == [
        False,
        False,
        True,
        True,
    ]
