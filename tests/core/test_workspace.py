"""Which directory is the agent's project."""

from __future__ import annotations

import pytest

from mcppd.core.errors import ToolError
from mcppd.core.workspace import Hints, choose_workspace, directory_of

HERE = Hints(cwd="/projects/here", home="/home/me")


@pytest.mark.parametrize(
    ("hints", "variables", "roots", "expected"),
    [
        (HERE, {}, (), "/projects/here"),
        (HERE, {}, ("file:///there",), "/there"),
        (HERE, {}, ("file:///a", "file:///b"), "/projects/here"),
        (HERE, {"WORKSPACE_FOLDER_PATHS": "/ws"}, ("file:///there",), "/ws"),
        (HERE, {"WORKSPACE_FOLDER_PATHS": "/ws,/other"}, (), "/projects/here"),
        (HERE, {"CLAUDE_PROJECT_DIR": "/claude", "WORKSPACE_FOLDER_PATHS": "/ws"}, (), "/claude"),
        (Hints("/named", "/projects/here", "/home/me"), {"CLAUDE_PROJECT_DIR": "/claude"}, (), "/named"),
        (HERE, {"CLAUDE_PROJECT_DIR": "relative"}, (), "/projects/here"),
        (Hints(cwd="/home/me", home="/home/me"), {}, ("file:///there/%C3%A4",), "/there/ä"),
    ],
    ids=str,
)
def test_the_order_of_hints(
    hints: Hints, variables: dict[str, str], roots: tuple[str, ...], expected: str
) -> None:
    def variable(name: str) -> str | None:
        return variables.get(name)

    assert choose_workspace(hints, variable, roots, "local") == expected


@pytest.mark.parametrize("cwd", ["/", "/home/me", None])
def test_a_local_tool_without_a_hint_is_refused_and_a_global_one_served(cwd: str | None) -> None:
    hints = Hints(cwd=cwd, home="/home/me")
    with pytest.raises(ToolError):
        choose_workspace(hints, lambda name: None, (), "local")
    assert choose_workspace(hints, lambda name: None, (), "global") == (cwd or "/")


@pytest.mark.parametrize("uri", ["https://x/y", "file://other/y", "nonsense", ""])
def test_other_uris_are_no_directories(uri: str) -> None:
    assert directory_of(uri) is None
