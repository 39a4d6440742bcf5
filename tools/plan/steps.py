"""The tools whose names begin with plan_step: each gives its result, or raises PlanError."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .calls import Call
from .finding import (
    Step,
    Task,
    add_note,
    all_notes,
    all_steps,
    changeable_task,
    due_step,
    find_step,
    find_task,
    next_step,
    started_step,
)
from .texts import a_text, clean

Result = dict[str, Any]


def list_all(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_step_list: the steps of a task."""
    task = find_task(call, arguments.get("task"))
    return {
        "task_name": task.name,
        "counts": task.counts(),
        "steps": [step.data() for step in all_steps(call, task)],
    }


def show(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_step_show: one step of the active task, with its notes."""
    task = find_task(call, None)
    step = due_step(call, task, arguments.get("number"))
    return {"task_name": task.name, "step": step.data(), "notes": all_notes(call, task, step)}


def switch(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_step_switch: the step becomes the started one, also if it was complete."""
    task = find_task(call, None)
    step, former = find_step(call, task, arguments["number"]), started_step(call, task)
    if former is not None and former.id != step.id:
        set_status(call, former, "planned")
    set_status(call, step, "started")
    return {
        "task_name": task.name,
        "step": find_step(call, task, step.number).data(),
        "was": step.status,
        "former_step": None if former is None or former.id == step.id else former.number,
    }


def set_status(call: Call, step: Step, status: str) -> None:
    """Change the status of a step; one that is complete stays complete since when it was."""
    call.connection.execute(
        "UPDATE steps SET status = :status,"
        " completed_at = CASE :status WHEN 'complete' THEN coalesce(completed_at, :now) END WHERE id = :id",
        {"status": status, "now": call.now, "id": step.id},
    )


def done(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_step_done: the step is complete; no other is started by that."""
    task = find_task(call, None)
    step = find_step(call, task, arguments["number"])
    set_status(call, step, "complete")
    return {
        "task_name": task.name,
        "step": find_step(call, task, step.number).data(),
        **what_now(call, find_task(call, None), step.number),
    }


def what_now(call: Call, task: Task, after: int) -> Result:
    """Where a task is after one of its steps was done or deleted."""
    active, due = started_step(call, task), next_step(call, task, after)
    return {"active_step": active and active.data(), "next_step": due and due.data(), "counts": task.counts()}


def new(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_step_new: a step at the end, which is started if none else is."""
    title = a_text(arguments["title"], "the title")
    description = clean(arguments.get("description", "")).strip()
    task = changeable_task(call, arguments.get("task"))
    status = "planned" if task.started else "started"
    call.connection.execute(
        "INSERT INTO steps (task_id, number, title, description, status, created_at) VALUES (?, ?, ?, ?, ?, ?)",
        (task.id, task.steps + 1, title, description, status, call.now),
    )
    return {"task_name": task.name, "step": find_step(call, task, task.steps + 1).data()}


def delete(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_step_delete: the step is seen no more, and those after it move up."""
    task = changeable_task(call, arguments.get("task"))
    step = find_step(call, task, arguments["number"])
    call.connection.execute("UPDATE steps SET deleted_at = ? WHERE id = ?", (call.now, step.id))
    close_gap(call, task, step.number)
    return {
        "task_name": task.name,
        "deleted": step.data(),
        **what_now(call, find_task(call, task.name), step.number - 1),
    }


def close_gap(call: Call, task: Task, number: int) -> None:
    """Renumber the steps after a number that is free; by way of negative numbers, since each is there once."""
    call.connection.execute(
        "UPDATE steps SET number = -number WHERE task_id = ? AND deleted_at IS NULL AND number > ?",
        (task.id, number),
    )
    call.connection.execute(
        "UPDATE steps SET number = -number - 1 WHERE task_id = ? AND deleted_at IS NULL AND number < 0",
        (task.id,),
    )


def notes(call: Call, arguments: Mapping[str, Any]) -> Result:
    """plan_step_notes: the notes of a step of the active task, with one more if there is a text."""
    task = find_task(call, None)
    step = due_step(call, task, arguments.get("number"))
    if "text" in arguments:
        add_note(call, task, step, a_text(arguments["text"], "the note"))
    return {
        "task_name": task.name,
        "step": {"number": step.number, "title": step.title, "status": step.status},
        "notes": all_notes(call, task, step),
    }
