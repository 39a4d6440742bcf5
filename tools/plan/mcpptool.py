"""The module `plan`: tasks and their steps, of every user in every project, in one SQLite database."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from . import people, steps, tasks
from .calls import Call, find_call, login_of, make_call, project_path
from .database import Database
from .errors import PlanError
from .places import named_path
from .readme import README, SHORT
from .showing import SHOWN

Result = dict[str, Any]

DATABASE: Final = Database()


@dataclass(frozen=True, slots=True)
class Tool:
    """What a tool does, and whether it changes anything."""

    run: Callable[[Call, Mapping[str, Any]], Result]
    writes: bool | str = True  # the name of an argument: if it is given

    def is_writing(self, arguments: Mapping[str, Any]) -> bool:
        """Whether a call with these arguments changes anything."""
        return self.writes in arguments if isinstance(self.writes, str) else self.writes


TOOLS: Final[Mapping[str, Tool]] = {
    "plan_task_new": Tool(tasks.new),
    "plan_task_list": Tool(tasks.list_all, writes=False),
    "plan_task_show": Tool(tasks.show, writes=False),
    "plan_task_status": Tool(tasks.status, writes=False),
    "plan_task_switch": Tool(tasks.switch),
    "plan_task_archive": Tool(tasks.archive),
    "plan_task_notes": Tool(tasks.notes, writes="text"),
    "plan_step_list": Tool(steps.list_all, writes=False),
    "plan_step_show": Tool(steps.show, writes=False),
    "plan_step_switch": Tool(steps.switch),
    "plan_step_done": Tool(steps.done),
    "plan_step_new": Tool(steps.new),
    "plan_step_delete": Tool(steps.delete),
    "plan_step_notes": Tool(steps.notes, writes="text"),
    "plan_user_show": Tool(people.show_user, writes=False),
    "plan_user_set": Tool(people.set_user),
    "plan_project_show": Tool(people.show_project, writes=False),
    "plan_project_set": Tool(people.set_project),
}


def execute(tool_name: str, arguments: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> Result:
    """Run a tool; its arguments have been checked against its schema in tool.yaml."""
    return answer(tool_name, arguments, workspace_of(context), login_of(os.getuid()))


def get_info(context: Mapping[str, Any] | None = None) -> Result:
    """What `help` shows about this module."""
    try:
        database = named_path(os.environ)
    except PlanError as error:
        database = f"Error: {error}"
    return {"how": SHORT, "project": project_path(workspace_of(context)), "database": database}


def workspace_of(context: Mapping[str, Any] | None) -> str:
    """The directory that the calling agent works in."""
    return str(context["workspace_dir"]) if context else os.getcwd()


def answer(tool_name: str, arguments: Mapping[str, Any], workspace: str, login: str) -> Result:
    """The answer to a user in a workspace."""
    if tool_name == "plan_readme":
        return {"success": True, "result": README}
    tool = TOOLS.get(tool_name)
    if tool is None:
        return failure(f"this module has no tool {tool_name!r}")
    path = project_path(workspace)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    try:
        named = named_path(os.environ)
        done = None
        if not tool.is_writing(arguments):
            with DATABASE.transaction(named, writes=False) as connection:
                call = find_call(connection, login, path, now)
                done = run(tool_name, call, arguments) if call else None
        if done is None:  # it writes, or its user or project is new
            with DATABASE.transaction(named, writes=True) as connection:
                call = find_call(connection, login, path, now) or make_call(connection, login, path, now)
                done = run(tool_name, call, arguments)
    except PlanError as error:
        return failure(str(error))
    return done


def run(tool_name: str, call: Call, arguments: Mapping[str, Any]) -> Result:
    """The answer of a tool, all of it made before the transaction ends. Raises PlanError."""
    result = {"project_name": call.project.name} | TOOLS[tool_name].run(call, arguments)
    return {"success": True, "result": result, "display": SHOWN[tool_name](result)}


def failure(error: str) -> Result:
    """The answer of a call that came to nothing."""
    return {"success": False, "error": error}
