"""What a person sees of a result: a few lines of Markdown that read well in a terminal and in a chat."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .marking import code, line, quote

Result = Mapping[str, Any]

MARKS: Final = {"planned": "[ ]", "started": "[>]", "complete": "[x]"}

ALL_DONE: Final = "Every step is complete."


def task_new(result: Result) -> str:
    """The new task."""
    return blocks(f"New task {head(result['task'])}, now active", steps(result["steps"]))


def task_list(result: Result) -> str:
    """The tasks, a line each; whose, if they are of several people."""
    tasks = result["tasks"]
    if not tasks:
        return f"No tasks in {line(result['project_name'])}. `plan_task_new` makes one."
    has_others = len({task["owner"] for task in tasks}) > 1
    lines = [f"- {head(task)} · {facts(task, with_owner=has_others)}" for task in tasks]
    return blocks(f"**Tasks in {line(result['project_name'])}**", "\n".join(lines))


def task_show(result: Result) -> str:
    """The task, its steps and its notes."""
    task = result["task"]
    return blocks(f"Task {head(task)} · {facts(task)}", steps(result["steps"]), notes(result["notes"]))


def task_status(result: Result) -> str:
    """Where the caller is."""
    task, project = result["active_task"], line(result["project_name"])
    if task is None:
        return f"**{project}**: no active task. `plan_task_new` makes one, `plan_task_switch` takes one up."
    return blocks(f"**{project}**: {head(task)} · {counts(result['counts'])}", what_now(result))


def task_switch(result: Result) -> str:
    """The task that is active now."""
    back = ", out of the archive" if result["was_archived"] else ""
    task = result["task"]
    return blocks(f"Now active{back}: {head(task)} · {counts(task['counts'])}", what_now(result))


def task_archive(result: Result) -> str:
    """The task that is archived now."""
    return f"Archived: {head(result['task'])}"


def task_notes(result: Result) -> str:
    """The notes of a task."""
    return blocks(f"Notes of {code(result['task_name'])}", notes(result["notes"]) or "There are none.")


def step_list(result: Result) -> str:
    """The steps of a task."""
    name = f"Steps of {code(result['task_name'])}"
    return blocks(f"{name} · {counts(result['counts'])}", steps(result["steps"]))


def step_show(result: Result) -> str:
    """One step, with all there is about it."""
    step = result["step"]
    completed = f"Complete since {when(step['completed_at'])}" if step["completed_at"] else ""
    where = f"Step {step['number']} of {code(result['task_name'])}"
    return blocks(
        where, step_line(step), completed, quote(step["description"]) if step["description"] else "",
        notes(result["notes"]),
    )  # fmt: skip


def step_switch(result: Result) -> str:
    """The step that is started now, and the one that was."""
    again = " (it was complete)" if result["was"] == "complete" else ""
    former = result["former_step"]
    back = f"Step {former} is planned again." if former is not None else ""
    return blocks(f"Started in {code(result['task_name'])}{again}", step_line(result["step"]), back)


def step_done(result: Result) -> str:
    """The step that is complete now, and what is next."""
    title = f"Complete in {code(result['task_name'])} · {counts(result['counts'])}"
    return blocks(title, step_line(result["step"]), what_now(result))


def step_new(result: Result) -> str:
    """The step that is new."""
    step = result["step"]
    state = ", and started" if step["status"] == "started" else ""
    return blocks(
        f"Added to {code(result['task_name'])}{state}", step_line(step),
        quote(step["description"]) if step["description"] else "",
    )  # fmt: skip


def step_delete(result: Result) -> str:
    """The step that is gone, and what is next."""
    deleted = result["deleted"]
    title = f"Deleted from {code(result['task_name'])}: {deleted['number']}. {line(deleted['title'])}"
    return blocks(f"{title} · {counts(result['counts'])}", what_now(result))


def step_notes(result: Result) -> str:
    """The notes of a step."""
    title = f"Notes of step {result['step']['number']} of {code(result['task_name'])}"
    return blocks(title, step_line(result["step"]), notes(result["notes"]) or "There are none.")


def user(result: Result) -> str:
    """Who calls."""
    return (
        f"You are **{line(result['display_name'])}** (login {code(result['login'])}, number {result['id']})."
    )


def project(result: Result) -> str:
    """The project."""
    name = f"**{line(result['name'])}** (project {result['id']})"
    return blocks(name, code(result["path"]), quote(result["description"]) if result["description"] else "")


SHOWN: Final[Mapping[str, Callable[[Result], str]]] = {
    "plan_task_new": task_new,
    "plan_task_list": task_list,
    "plan_task_show": task_show,
    "plan_task_status": task_status,
    "plan_task_switch": task_switch,
    "plan_task_archive": task_archive,
    "plan_task_notes": task_notes,
    "plan_step_list": step_list,
    "plan_step_show": step_show,
    "plan_step_switch": step_switch,
    "plan_step_done": step_done,
    "plan_step_new": step_new,
    "plan_step_delete": step_delete,
    "plan_step_notes": step_notes,
    "plan_user_show": user,
    "plan_user_set": user,
    "plan_project_show": project,
    "plan_project_set": project,
}
"""How the result of each tool is shown."""


def blocks(*parts: str) -> str:
    """Paragraphs, without those that are empty."""
    return "\n\n".join(part for part in parts if part)


def head(task: Result) -> str:
    """A task's name, and its title if that says more."""
    title = "" if task["title"] == task["name"] else f" {line(task['title'])}"
    return f"**{code(task['name'])}**{title}"


def facts(task: Result, *, with_owner: bool = False) -> str:
    """How far a task is, and what there is to say about it besides."""
    parts = [line(task["owner_name"])] if with_owner else []
    parts.append(counts(task["counts"]))
    parts += ["active"] if task["active"] else []
    parts += [f"archived {when(task['archived_at'])}"] if task["archived_at"] else []
    return " · ".join(parts)


def counts(number: Mapping[str, int]) -> str:
    """How many steps are complete, of how many."""
    total = sum(number.values())
    if not total:
        return "no steps"
    return f"{number['complete']} of {total} step{'' if total == 1 else 's'} complete"


def steps(found: Sequence[Result]) -> str:
    """Steps, a line each."""
    return "\n".join(map(step_line, found)) or "No steps yet. `plan_step_new` adds one."


def step_line(step: Result) -> str:
    """A step with its mark."""
    return f"- {MARKS[step['status']]} {step['number']}. {line(step['title'])}"


def what_now(result: Result) -> str:
    """The step that is started; if none is, the one that is next."""
    active, due = result["active_step"], result["next_step"]
    if active is not None:
        return step_line(active)
    if due is not None:
        start = f"Nothing is started. Next (`plan_step_switch` with number {due['number']} starts it):"
        return blocks(start, step_line(due))
    counted = result.get("counts") or result["task"]["counts"]
    return ALL_DONE if counted["complete"] else "No steps yet. `plan_step_new` adds one."


def notes(found: Sequence[Mapping[str, str]]) -> str:
    """Notes with their times."""
    return "\n\n".join(f"Note of {when(note['at'])}:\n\n{quote(note['text'])}" for note in found)


def when(at: str) -> str:
    """A time for people."""
    return f"{at[:10]} {at[11:16]} UTC"
