"""The tools whose names begin with plan_task: each gives its result, or raises PlanError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .calls import Call
from .errors import PlanError
from .finding import (
    TASKS,
    Task,
    active_task,
    add_note,
    all_notes,
    all_steps,
    changeable_task,
    find_task,
    next_step,
    started_step,
    task_named,
)
from .texts import a_name, a_text

Result = dict[str, Any]

NO_STEPS: Final = {"planned": 0, "started": 0, "complete": 0}


def new(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_task_new: a task with its steps, made the active one."""
    name = a_name(arguments["name"], "the name of a task")
    title = a_text(arguments.get("title", name), "the title")
    titles = [a_text(step, f"step {at}") for at, step in enumerate(arguments.get("steps", ()), 1)]
    refuse_taken(call, name)
    inserted = call.connection.execute(
        "INSERT INTO tasks (project_id, user_id, name, title, created_at) VALUES (?, ?, ?, ?, ?)",
        (call.project.id, call.user.id, name, title, call.now),
    )
    insert_steps(call, inserted.lastrowid or 0, titles)
    activate(call, inserted.lastrowid or 0)
    task = find_task(call, None)
    return {"task": task.data(), "steps": [step.data() for step in all_steps(call, task)]}


def refuse_taken(call: Call, name: str) -> None:
    """Raise PlanError if the caller has a task of that name; an archived one keeps its name too."""
    task = task_named(call, name)
    if task is not None:
        state = ", which is archived" if task.archived_at else ""
        raise PlanError(
            f"You have a task {name!r} in this project already{state}: "
            "plan_task_switch takes it up again; a new one needs another name."
        )


def insert_steps(call: Call, task: int, titles: Sequence[str]) -> None:
    """Give a new task its steps, the first of them started."""
    call.connection.executemany(
        "INSERT INTO steps (task_id, number, title, status, created_at) VALUES (?, ?, ?, ?, ?)",
        (
            (task, number, title, "started" if number == 1 else "planned", call.now)
            for number, title in enumerate(titles, 1)
        ),
    )


def activate(call: Call, task: int) -> None:
    """Make a task the caller's active one in this project."""
    call.connection.execute(
        "INSERT INTO active_tasks (project_id, user_id, task_id) VALUES (?, ?, ?)"
        " ON CONFLICT (project_id, user_id) DO UPDATE SET task_id = excluded.task_id",
        (call.project.id, call.user.id, task),
    )


def list_all(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_task_list: the caller's tasks in this project, or everybody's."""
    wanted = "tasks.project_id = :project"
    if not arguments.get("show_all", False):
        wanted += " AND tasks.user_id = :user"
    if not arguments.get("show_archived", False):
        wanted += " AND archived_at IS NULL"
    rows = call.connection.execute(
        f"{TASKS} WHERE {wanted} ORDER BY tasks.id", {"project": call.project.id, "user": call.user.id}
    )
    return {"tasks": [Task(*row).data() for row in rows]}


def show(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_task_show: a task with its steps and notes."""
    task = find_task(call, arguments.get("name"))
    return {
        "task": task.data(),
        "steps": [step.data() for step in all_steps(call, task)],
        "notes": all_notes(call, task),
    }


def status(call: Call, _arguments: Mapping[str, Any]) -> Result:
    """plan_task_status: where the caller is."""
    task = active_task(call)
    if task is None:
        return {"active_task": None, "active_step": None, "next_step": None, "counts": NO_STEPS}
    active, due = started_step(call, task), next_step(call, task)
    return {
        "active_task": {"name": task.name, "title": task.title},
        "active_step": active and active.data(),
        "next_step": due and due.data(),
        "counts": task.counts(),
    }


def switch(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_task_switch: another active task; an archived one comes back."""
    task = find_task(call, arguments["name"])
    call.connection.execute("UPDATE tasks SET archived_at = NULL WHERE id = ?", (task.id,))
    activate(call, task.id)
    active, due = started_step(call, task), next_step(call, task)
    return {
        "task": find_task(call, None).data(),
        "was_archived": task.archived_at is not None,
        "active_step": active and active.data(),
        "next_step": due and due.data(),
    }


def archive(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_task_archive: out of the list, and still there."""
    task = find_task(call, arguments["name"])
    if task.is_active:
        raise PlanError(
            f"Task {task.name!r} is your active one, so it can't be archived: "
            "make another active first, with plan_task_switch or plan_task_new. "
            "If it is the last one and nothing else is to be done, leave it as it is: it can be archived "
            "when the next task has begun."
        )
    call.connection.execute(
        "UPDATE tasks SET archived_at = coalesce(archived_at, ?) WHERE id = ?", (call.now, task.id)
    )
    return {"task": find_task(call, task.name).data()}


def notes(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_task_notes: the notes of a task, with one more if there is a text."""
    if "text" in arguments:
        task = changeable_task(call, arguments.get("name"))
        add_note(call, task, None, a_text(arguments["text"], "the note"))
    else:
        task = find_task(call, arguments.get("name"))
    return {"task_name": task.name, "notes": all_notes(call, task)}
