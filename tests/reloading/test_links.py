"""Links: what is met on the way to a path."""

from __future__ import annotations

from pathlib import Path

from mcppd.reloading.links import LINKS_LIMIT, trail, trails


def test_a_path_without_links_has_no_trail(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    real = tmp_path.resolve()
    assert list(trail(str(real / "a"))) == []
    assert list(trail(str(real / "nosuch" / "below"))) == []


def test_links_through_links_and_where_they_lead(tmp_path: Path) -> None:
    real = tmp_path.resolve()
    (real / "v1").mkdir()
    (real / "v1" / "file").touch()
    (real / "data").symlink_to("v1")
    (real / "file").symlink_to("data/file")
    assert list(trail(str(real / "file"))) == [
        str(real / "file"),
        str(real / "data"),
        str(real / "v1" / "file"),
    ]


def test_a_link_above_and_one_that_climbs(tmp_path: Path) -> None:
    real = tmp_path.resolve()
    (real / "a" / "b").mkdir(parents=True)
    (real / "c").mkdir()
    (real / "a" / "b" / "up").symlink_to("../../c")
    assert list(trail(str(real / "a" / "b" / "up" / "x"))) == [
        str(real / "a" / "b" / "up"),
        str(real / "c" / "x"),
    ]


def test_a_link_to_nowhere_and_one_to_itself(tmp_path: Path) -> None:
    real = tmp_path.resolve()
    (real / "lost").symlink_to("nosuch")
    (real / "loop").symlink_to("loop")
    assert list(trail(str(real / "lost"))) == [str(real / "lost"), str(real / "nosuch")]
    assert set(trail(str(real / "loop"))) == {str(real / "loop")}
    assert len(list(trail(str(real / "loop")))) == LINKS_LIMIT + 1


def test_trails_look_at_the_last_part_of_each_file(tmp_path: Path) -> None:
    real = tmp_path.resolve()
    (real / "module").mkdir()
    (real / "plain.py").touch()
    (real / "module" / "linked.py").symlink_to(real / "plain.py")
    (real / "module" / "own.py").touch()
    found = trails(str(real / "module"), [str(real / "module" / name) for name in ("linked.py", "own.py")])
    assert found == {str(real / "module" / "linked.py"), str(real / "plain.py")}
