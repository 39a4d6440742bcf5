"""The bundled module `what`: plans as files in the workspace, and nothing outside of `what/`."""

from __future__ import annotations

import importlib.util
import re
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from mcppd.core.manifest import parse_manifest
from mcppd.core.yaml import read_yaml

MODULE = Path(__file__).parents[2] / "tools" / "what"
PLAN_FILES = ["WHAT.md", "HOW.md", "ACTIONS.md", "TASKS.md"]


def load() -> Any:
    """The module as a worker has it: a package of its own whose submodules are its siblings."""
    spec = importlib.util.spec_from_file_location(
        "mcpp_tools.what", MODULE / "mcpptool.py", submodule_search_locations=[str(MODULE)]
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


WHAT = load()


def call(workspace: Path, tool: str = "what_add", **arguments: Any) -> dict[str, Any]:
    answer = WHAT.execute(tool, arguments, {"workspace_dir": str(workspace)})
    assert isinstance(answer, dict)
    return answer


def add(workspace: Path, name: str, **arguments: Any) -> dict[str, Any]:
    answer = call(workspace, name=name, **arguments)
    assert answer["success"] is True, answer
    result = answer["result"]
    assert isinstance(result, dict)
    return result


def tree(directory: Path) -> dict[str, str]:
    """Every file and link below a directory, with its text or its target."""
    found = {}
    for path in directory.rglob("*"):
        if path.is_symlink():
            found[path.relative_to(directory).as_posix()] = f"-> {path.readlink()}"
        elif path.is_file():
            found[path.relative_to(directory).as_posix()] = path.read_text()
    return found


def test_a_new_plan_has_its_four_files_and_the_readme(tmp_path: Path) -> None:
    result = add(tmp_path, "first")
    written = ["what/README.md", *(f"what/first/{name}" for name in PLAN_FILES)]
    assert result == {"plan_dir": str(tmp_path / "what/first"), "written": written, "skipped": []}
    assert sorted(tree(tmp_path)) == sorted(written)
    assert all(text.strip() for text in tree(tmp_path).values())


def test_files_name_their_plan(tmp_path: Path) -> None:
    add(tmp_path, "auth/größe {name}")
    assert (tmp_path / "what/auth/größe {name}/HOW.md").read_text().startswith("# auth/größe {name}: how\n")


def test_the_display_names_the_files(tmp_path: Path) -> None:
    assert "what/first/WHAT.md" in call(tmp_path, name="first")["display"]


def test_what_is_there_already_is_left_as_it_is(tmp_path: Path) -> None:
    add(tmp_path, "first")
    (tmp_path / "what/first/HOW.md").write_text("mine")
    (tmp_path / "what/README.md").write_text("mine too")
    (tmp_path / "what/first/TASKS.md").unlink()
    result = add(tmp_path, "first")
    assert result["written"] == ["what/first/TASKS.md"]
    assert result["skipped"] == [
        "what/README.md",
        *(f"what/first/{name}" for name in PLAN_FILES if name != "TASKS.md"),
    ]
    assert (tmp_path / "what/first/HOW.md").read_text() == "mine"
    assert (tmp_path / "what/README.md").read_text() == "mine too"


def test_overwrite_replaces_the_plan_but_never_the_readme(tmp_path: Path) -> None:
    add(tmp_path, "first")
    fresh = (tmp_path / "what/first/HOW.md").read_text()
    (tmp_path / "what/first/HOW.md").write_text("mine")
    (tmp_path / "what/README.md").write_text("mine too")
    result = add(tmp_path, "first", overwrite=True)
    assert result["written"] == [f"what/first/{name}" for name in PLAN_FILES]
    assert result["skipped"] == ["what/README.md"]
    assert (tmp_path / "what/first/HOW.md").read_text() == fresh
    assert (tmp_path / "what/README.md").read_text() == "mine too"


def test_plans_can_be_grouped_below_plans(tmp_path: Path) -> None:
    add(tmp_path, "a/b/c")
    add(tmp_path, "a")
    assert call(tmp_path, "what")["result"]["plans"] == ["a", "a/b/c"]


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../x", "a/../../x", "a/..", "/tmp/x", "//x", "a//b", "a/", "/"),
        *("a\0b", "a\nb", "a\\b", "..\\x", ".hidden", "a/.git", "-rf", "~", "a.", "a ", "C:x", "\ud800"),
        *("x" * 201, "ü" * 141, "a/" * 120, "README.md", "readme.MD", "a/What.md", "\u202eevil"),
    ],
)
def test_a_name_that_is_no_plan_s_name_is_refused_and_leaves_nothing(tmp_path: Path, name: str) -> None:
    workspace = tmp_path / "outer" / "workspace"
    workspace.mkdir(parents=True)
    answer = call(workspace, name=name)
    assert answer["success"] is False
    assert answer["error"]
    assert list(tmp_path.rglob("*")) == [workspace.parent, workspace]


@given(name=st.text(max_size=30) | st.text(alphabet="ab./\\~ \0", max_size=12))
@example("a/b")
@example("a/../b")
def test_no_name_whatever_reaches_outside_of_what(name: str) -> None:
    with TemporaryDirectory() as outer:
        workspace = Path(outer) / "workspace"
        workspace.mkdir()
        answer = call(workspace, name=name)
        assert list(Path(outer).iterdir()) == [workspace]
        assert list(workspace.iterdir()) == ([workspace / "what"] if answer["success"] else [])
        files = {Path(path).name for path in tree(workspace)}
        assert files == ({*PLAN_FILES, "README.md"} if answer["success"] else set())


@pytest.mark.parametrize("link", ["what", "what/a", "what/a/b"])
def test_a_link_to_a_directory_elsewhere_is_refused(tmp_path: Path, link: str) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    (workspace / link).parent.mkdir(parents=True)
    elsewhere.mkdir()
    (workspace / link).symlink_to(elsewhere)
    answer = call(workspace, name="a/b", overwrite=True)
    assert answer["success"] is False
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_link_in_the_place_of_a_file_is_not_written_through(tmp_path: Path, *, overwrite: bool) -> None:
    secret = tmp_path / "secret"
    secret.write_text("mine")
    plan = tmp_path / "workspace" / "what" / "first"
    plan.mkdir(parents=True)
    (plan / "WHAT.md").symlink_to(secret)
    (plan / "HOW.md").symlink_to(tmp_path / "not there")
    result = add(tmp_path / "workspace", "first", overwrite=overwrite)
    assert secret.read_text() == "mine"
    assert not (tmp_path / "not there").exists()
    assert ("what/first/WHAT.md" in result["written"]) is overwrite
    assert (plan / "WHAT.md").is_symlink() is not overwrite


def test_a_file_in_the_place_of_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "what").write_text("mine")
    assert call(tmp_path, name="first")["success"] is False
    assert tree(tmp_path) == {"what": "mine"}


def test_a_directory_in_the_place_of_a_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "what/first/WHAT.md").mkdir(parents=True)
    assert call(tmp_path, name="first", overwrite=True)["success"] is False


def test_two_plans_never_differ_in_case_alone(tmp_path: Path) -> None:
    add(tmp_path, "First/one")
    before = tree(tmp_path)
    for name in ("first", "first/one", "First/ONE"):
        assert call(tmp_path, name=name)["success"] is False
    assert tree(tmp_path) == before


def test_one_spelling_of_a_letter_is_one_plan(tmp_path: Path) -> None:
    add(tmp_path, "cafe\u0301")
    assert add(tmp_path, "caf\u00e9")["written"] == []


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A disk that is full, as far as a file written meanwhile can tell."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    add(tmp_path, "first")
    (tmp_path / "what/first/WHAT.md").write_text("mine")
    before = tree(tmp_path)
    with files_of_at_most(10):
        answer = call(tmp_path, name="first", overwrite=True)
    assert answer["success"] is False
    assert tree(tmp_path) == before


def test_two_who_add_the_same_plan_at_once_never_write_a_file_twice(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(lambda _: add(tmp_path, "a/b"), range(32)))
    written = sorted(file for result in results for file in result["written"])
    assert written == sorted(["what/README.md", *(f"what/a/b/{name}" for name in PLAN_FILES)])
    assert sorted(tree(tmp_path)) == written


def test_a_workspace_that_is_gone_is_an_error_that_names_it(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    answer = call(gone, name="first")
    assert answer["success"] is False
    assert str(gone) in answer["error"]


def test_an_unknown_tool_is_an_error(tmp_path: Path) -> None:
    assert call(tmp_path, "what_else")["success"] is False


def test_what_lists_the_plans_and_changes_nothing(tmp_path: Path) -> None:
    assert call(tmp_path, "what")["result"]["plans"] == []
    assert tree(tmp_path) == {}
    add(tmp_path, "second")
    add(tmp_path, "first")
    (tmp_path / "what/no plan").mkdir()
    answer = call(tmp_path, "what")
    assert answer["result"]["plans"] == ["first", "second"]
    assert "what/second" in answer["display"]


def test_linked_and_hidden_directories_are_not_listed(tmp_path: Path) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    workspace.mkdir()
    elsewhere.mkdir()
    add(elsewhere, "other")
    add(workspace, "first")
    (workspace / "what/link").symlink_to(elsewhere / "what")
    (workspace / "what/first").rename(workspace / "what/.first")
    assert call(workspace, "what")["result"]["plans"] == []


def test_a_linked_what_is_not_listed(tmp_path: Path) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    workspace.mkdir()
    elsewhere.mkdir()
    add(elsewhere, "other")
    (workspace / "what").symlink_to(elsewhere / "what")
    assert call(workspace, "what")["result"]["plans"] == []


def test_help_lists_the_plans_of_the_workspace(tmp_path: Path) -> None:
    add(tmp_path, "first")
    assert WHAT.get_info({"workspace_dir": str(tmp_path)})["plans"] == ["first"]


def manifest() -> dict[str, Any]:
    value = yaml.safe_load((MODULE / "tool.yaml").read_text())
    assert isinstance(value, dict)
    return value


def test_the_manifest_is_one_that_every_client_takes() -> None:
    tools = manifest()["tools"]
    assert [tool["name"] for tool in tools] == ["what", "what_add"]
    for tool in tools:
        assert re.fullmatch(r"[a-z][a-z0-9_]{0,39}", tool["name"])
        assert 0 < len(tool["description"].encode()) < 2048
        schema = tool["inputSchema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.Draft7Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False
        for value in schema["properties"].values():
            assert isinstance(value["type"], str)
            assert value["description"]


def test_the_manifest_is_read_without_a_fault() -> None:
    file = MODULE / "tool.yaml"
    read = parse_manifest(read_yaml(file.read_bytes(), str(file)))
    assert (read.name, read.scope, read.faults, read.warnings) == ("what", "local", (), ())
    assert [(tool.name, tool.fault) for tool in read.tools] == [("what", None), ("what_add", None)]


def test_schema_and_code_agree_on_the_longest_name(tmp_path: Path) -> None:
    schema = manifest()["tools"][1]["inputSchema"]
    longest = schema["properties"]["name"]["maxLength"]
    name = "a/" * (longest // 2 - 1) + "aa"
    assert len(name) == longest
    add(tmp_path, name)
    assert call(tmp_path, name=f"{name}a")["success"] is False
