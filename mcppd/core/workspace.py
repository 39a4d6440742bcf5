"""Which directory is the agent's project: the order of CONTRACT.md, "Workspace"."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from mcppd.core.errors import ToolError


@dataclass(frozen=True, slots=True)
class Hints:
    """What a session lets us know about where its agent works; None where it doesn't."""

    named: str | None = None  # the shim's --workspace
    cwd: str | None = None  # the shim's working directory
    home: str | None = None  # the agent's home directory


def choose_workspace(
    hints: Hints, variable: Callable[[str], str | None], roots: tuple[str, ...], scope: str
) -> str:
    """The absolute path of the workspace of a call; raises ToolError where a local tool would have none."""
    folders = variable("WORKSPACE_FOLDER_PATHS")
    candidates = (
        hints.named,
        variable("CLAUDE_PROJECT_DIR"),
        folders if folders and "," not in folders and ":" not in folders else None,
        directory_of(roots[0]) if len(roots) == 1 else None,
        hints.cwd if hints.cwd not in (None, "/", hints.home) else None,
    )
    for candidate in candidates:
        if candidate and posixpath.isabs(candidate):
            return posixpath.normpath(candidate)
    if scope != "global":
        raise ToolError(
            "Error: no workspace is known for this tool: the agent was started in "
            f"{hints.cwd or 'an unknown directory'} and named none. Start the agent in its project, or add "
            "`--workspace DIR` to the arguments of mcppd-shim in its configuration (of `mcppd call`, for a person)."
        )
    return hints.cwd or "/"


def directory_of(uri: str) -> str | None:
    """The path of a file URI of this machine (RFC 8089), None for any other."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return None
    return unquote(parts.path, errors="surrogateescape") or None
