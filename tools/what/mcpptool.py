"""The module `what`: `what_add` starts a plan in the workspace, `what` lists the plans."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .plans import PlanError, add_plan, list_plans
from .texts import HOW_IT_WORKS

Result = dict[str, Any]


def execute(tool_name: str, arguments: Mapping[str, Any], context: Mapping[str, Any] | None = None) -> Result:
    """Run a tool; its arguments have been checked against its schema in tool.yaml."""
    try:
        workspace = workspace_of(context)
        match tool_name:
            case "what":
                return show(list_plans(workspace))
            case "what_add":
                return add(workspace, arguments["name"], overwrite=arguments.get("overwrite", False))
            case _:
                return failure(f"this module has no tool {tool_name!r}")
    except PlanError as error:
        return failure(str(error))
    except OSError as error:
        return failure(f"{error.filename}: {error.strerror}")


def get_info(context: Mapping[str, Any] | None = None) -> Result:
    """What `help` shows about this module."""
    return {"how": HOW_IT_WORKS, "plans": list_plans(workspace_of(context))}


def workspace_of(context: Mapping[str, Any] | None) -> Path:
    """The directory that the calling agent works in."""
    return Path(context["workspace_dir"]) if context else Path.cwd()


def show(plans: list[str]) -> Result:
    """The answer of `what`: data for the agent, and a list for a person to read."""
    lines = [f"- `what/{plan}`" for plan in plans] or ["No plans yet: `what_add` starts one."]
    return {
        "success": True,
        "result": {"plans": plans, "how": HOW_IT_WORKS},
        "display": "\n".join(["**Plans**", "", *lines]),
    }


def add(workspace: Path, name: str, *, overwrite: bool) -> Result:
    """The answer of `what_add`."""
    plan = add_plan(workspace, name, overwrite=overwrite)
    lines = [f"- wrote `{file}`" for file in plan.written] + [f"- kept `{file}`" for file in plan.skipped]
    return {
        "success": True,
        "result": {"plan_dir": str(plan.directory), "written": plan.written, "skipped": plan.skipped},
        "display": "\n".join([f"**Plan {name}**", "", *lines]),
    }


def failure(error: str) -> Result:
    """The answer of a call that came to nothing."""
    return {"success": False, "error": error}
