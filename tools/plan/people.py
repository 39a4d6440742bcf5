"""The tools about who calls and in which project: plan_user and plan_project."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .calls import Call
from .errors import PlanError
from .texts import a_name, clean

Result = dict[str, Any]


def show_user(call: Call, _arguments: Mapping[str, Any]) -> Result:
    """plan_user_show."""
    return {"id": call.user.id, "login": call.user.login, "display_name": call.user.display_name}


def set_user(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_user_set: another display name."""
    alias = a_name(arguments["alias"], "the alias")
    call.connection.execute("UPDATE users SET alias = ? WHERE id = ?", (alias, call.user.id))
    return {"id": call.user.id, "login": call.user.login, "display_name": alias}


def show_project(call: Call, _arguments: Mapping[str, Any]) -> Result:
    """plan_project_show."""
    project = call.project
    return {
        "id": project.id,
        "name": project.name,
        "path": project.path,
        "description": project.description,
    }


def set_project(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_project_set: another name or description; an empty description takes it away."""
    if not arguments:
        raise PlanError("say what to set: name, description, or both")
    name, description = call.project.name, call.project.description
    if "name" in arguments:
        name = a_name(arguments["name"], "the name of a project")
    if "description" in arguments:
        description = clean(arguments["description"]).strip()
    call.connection.execute(
        "UPDATE projects SET name = ?, description = ? WHERE id = ?", (name, description, call.project.id)
    )
    return {
        "project_name": name,
        "id": call.project.id,
        "name": name,
        "path": call.project.path,
        "description": description,
    }
