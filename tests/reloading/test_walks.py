"""Walks come to their end in any tree, and find in the others what `glob` and `os.walk` find."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from mcppd.reloading.walks import Allowance, TooMuchError, fixed_part, matches, source_files


def found(pattern: object, **limits: float) -> tuple[set[str], set[str]]:
    """(what a glob names, the directories that were entered)."""
    entered: set[str] = set()
    return set(matches(str(pattern), Allowance(**limits), entered.add)), entered  # type: ignore[arg-type]


def plant(root: Path, *files: str) -> Path:
    for file in files:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).touch()
    return root


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = plant(
        tmp_path / "a [1] tree",
        *("one/tool.yaml", "two/tool.yaml", "two/x.csv", ".hidden/tool.yaml", "deep/a/b/c/x.csv"),
        *("deep/.git/x.csv", "deep/y.csv", "file", "deep/a/.y.csv", "deep/[x]/x.csv"),
    )
    (root / "link").symlink_to(root / "deep" / "a")
    (root / "dead").symlink_to(root / "nothing")
    return root


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "*",
            "**",
            "one",
            "nothing",
            "nothing/*",
            "*/tool.yaml",
            "*/*",
            "**/*",
            "**/*.csv",
            "deep/**/x.csv",
        ),
        *(
            ".*",
            "*/.*",
            "deep/**",
            "**/a/**/*.csv",
            "o?e/*",
            "[ot]*/tool.yaml",
            "file/*",
            "deep/[[]x]/*",
            "*/b/*",
        ),
        *("**/**/*.csv", "dead", "*/nothing"),
    ],
)
def test_a_glob_names_what_python_has_it_name(tree: Path, pattern: str) -> None:
    whole = f"{glob.escape(str(tree))}/{pattern}"
    assert found(whole)[0] == {path.rstrip("/") for path in glob.iglob(whole, recursive=True)}


def test_every_directory_in_which_a_match_may_come_is_entered(tree: Path) -> None:
    root = glob.escape(str(tree))
    assert found(f"{root}/*")[1] == {str(tree)}
    every = {str(tree / name) for name in ("one", "two", "deep", "link")}
    assert found(f"{root}/*/tool.yaml")[1] == {str(tree), *every}
    assert found(f"{root}/two/*.csv")[1] == {str(tree / "two")}
    assert found(f"{root}/two/x.csv")[1] == {str(tree / "two")}
    below = {str(tree / "deep" / name) for name in ("", "a", "a/b", "a/b/c", "[x]")}
    assert {path.rstrip("/") for path in found(f"{root}/deep/**/*.csv")[1]} == {
        each.rstrip("/") for each in below
    }
    assert found(f"{root}/later/*.csv") == (set(), {str(tree / "later")})


def test_a_glob_of_a_whole_disk_ends(tmp_path: Path) -> None:
    plant(tmp_path, *(f"{number % 10}/{number}/file" for number in range(100)))
    assert len(found(f"{tmp_path}/**/*/*")[0]) == 200
    with pytest.raises(TooMuchError):
        found(f"{tmp_path}/**/*/*", entries=150)
    with pytest.raises(TooMuchError):
        found("/**/*/*/*/*", entries=5000)
    with pytest.raises(TooMuchError):
        found("/" + "*/" * 2000 + "x")
    with pytest.raises(TooMuchError):
        found(f"{tmp_path}/**/*/*", seconds=-1.0)


def test_links_that_lead_back_are_followed_once(tmp_path: Path) -> None:
    plant(tmp_path, "a/file", "b/file")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "other").symlink_to(tmp_path / "b")
    (tmp_path / "b" / "other").symlink_to(tmp_path / "a")
    (tmp_path / "b" / "loop").symlink_to(tmp_path / "b" / "loop")
    every = {os.path.relpath(path, tmp_path) for path in found(f"{tmp_path}/**/file")[0]}
    assert every == {"a/file", "b/file", "a/other/file", "b/other/file"}
    sources = list(source_files(str(tmp_path), Allowance()))
    assert len(sources) == 3


def test_a_deep_tree_is_walked(tmp_path: Path) -> None:
    here = tmp_path
    for _ in range(400):
        here /= "d"
        here.mkdir()
    (here / "x.py").touch()
    assert found(f"{tmp_path}/**/x.py")[0] == {str(here / "x.py")}
    assert [path for path, is_directory in source_files(str(tmp_path), Allowance()) if not is_directory] == [
        str(here / "x.py")
    ]


def test_sources_are_found_but_not_in_what_is_not_the_authors(tmp_path: Path) -> None:
    plant(
        tmp_path,
        *("a.py", "sub/b.py", "sub/.hidden.py", ".git/c.py", "node_modules/d.py", "__pycache__/e.py"),
        *("venv/pyvenv.cfg", "venv/lib/f.py", "data/1.bin", "pyvenv.cfg"),
    )
    every = list(source_files(str(tmp_path), Allowance()))
    assert {os.path.relpath(path, tmp_path) for path, is_directory in every if not is_directory} == {
        "a.py",
        "sub/b.py",
    }
    assert {os.path.relpath(path, tmp_path) for path, is_directory in every if is_directory} == {
        ".",
        "sub",
        "data",
    }


def test_a_huge_directory_that_holds_no_sources_is_too_much(tmp_path: Path) -> None:
    plant(tmp_path, "mcpptool.py", *(f"data/{number}" for number in range(200)))
    assert len(list(source_files(str(tmp_path), Allowance()))) == 3
    with pytest.raises(TooMuchError):
        list(source_files(str(tmp_path), Allowance(entries=100)))


@pytest.mark.parametrize(
    ("pattern", "fixed"),
    [("/a/*/b", "/a"), ("/a/b", "/a/b"), ("/*", "/"), ("/a/[[]x]/?", "/a/[x]"), ("/**/*/*", "/")],
)
def test_the_fixed_part_ends_above_the_first_pattern(pattern: str, fixed: str) -> None:
    assert fixed_part(pattern) == fixed
