"""Asking the bundled module `plan` as any user in any project, with its arguments checked as the daemon does it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import jsonschema
import yaml

from tools.plan import mcpptool

MODULE: Final = Path(__file__).parents[2] / "tools" / "plan"
MANIFEST: Final[dict[str, Any]] = yaml.safe_load((MODULE / "tool.yaml").read_text())
TOOLS: Final[dict[str, dict[str, Any]]] = {tool["name"]: tool for tool in MANIFEST["tools"]}
CHECKS: Final = {name: jsonschema.Draft202012Validator(tool["inputSchema"]) for name, tool in TOOLS.items()}
TIMES: Final = frozenset({"created_at", "archived_at", "completed_at", "at"})


class Person:
    """Somebody who works in a project."""

    def __init__(self, workspace: Path, login: str = "ada") -> None:
        self.workspace = workspace
        self.login = login
        workspace.mkdir(parents=True, exist_ok=True)

    def answer(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers to arguments that are in order."""
        CHECKS[tool].validate(arguments)
        answer: dict[str, Any] = mcpptool.answer(tool, arguments, str(self.workspace), self.login)
        return answer

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a call that succeeds."""
        answer = self.answer(tool, **arguments)
        assert answer["success"] is True, answer
        assert answer["display"].strip()
        result: dict[str, Any] = answer["result"]
        assert result["project_name"]
        return result

    def error(self, tool: str, **arguments: Any) -> str:
        """The error of a call that fails."""
        answer = self.answer(tool, **arguments)
        assert answer.keys() == {"success", "error"}, answer
        assert answer["success"] is False
        return str(answer["error"])

    def shown(self, tool: str, **arguments: Any) -> str:
        """What a person sees of a call that succeeds."""
        self_answer = self.answer(tool, **arguments)
        assert self_answer["success"] is True, self_answer
        return str(self_answer["display"])

    def marks(self, **arguments: Any) -> str:
        """The steps of a task, a letter for each: p, s or c."""
        return "".join(step["status"][0] for step in self.ask("plan_step_list", **arguments)["steps"])


def a_step(number: int, title: str, status: str, description: str = "") -> dict[str, object]:
    """A step as a result has it, timeless."""
    return {
        "number": number,
        "title": title,
        "description": description,
        "status": status,
        "created_at": True,
        "completed_at": status == "complete",
    }


def timeless(value: Any) -> Any:
    """A value in which it is only told whether there is a time."""
    match value:
        case Mapping():
            return {
                name: each is not None if name in TIMES else timeless(each) for name, each in value.items()
            }
        case list():
            return list(map(timeless, value))
    return value


def rows_of(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All that is in a database, without its times; a file that isn't there has nothing in it."""
    if not path.exists():
        return {}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        query = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
        tables = [name for (name,) in connection.execute(query)]
        return {table: rows for table in tables if (rows := _rows(connection, table))}


def _rows(connection: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    found = connection.execute(f"SELECT * FROM {table}")
    is_time = [name.endswith("_at") for name, *_ in found.description]
    return sorted(
        tuple(each is not None if time else each for each, time in zip(row, is_time, strict=True))
        for row in found
    )


def counts_are_right(path: Path) -> bool:
    """Whether the counts that are kept for each task are those of its steps."""
    with closing(sqlite3.connect(path)) as connection:
        wrong = connection.execute("""
            SELECT id FROM tasks WHERE (planned, started, complete) IS NOT (
                SELECT coalesce(sum(status = 'planned'), 0), coalesce(sum(status = 'started'), 0),
                    coalesce(sum(status = 'complete'), 0)
                FROM steps WHERE task_id = tasks.id AND deleted_at IS NULL)
        """)
        return wrong.fetchall() == []
