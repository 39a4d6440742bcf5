"""Tasks, steps and notes as they are in the database; looked up in the caller's project among their own tasks only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from .calls import Call
from .errors import PlanError
from .texts import a_name, nearest

Status = Literal["planned", "started", "complete"]

NAMES: Final = 1000
"""Names that one that isn't there is compared with."""

NO_TASK: Final = (
    "You have no active task in this project: plan_task_new makes one, plan_task_switch takes up another."
)

TASKS: Final = """
    SELECT tasks.id, tasks.name, title, login, coalesce(alias, login), active_tasks.task_id IS NOT NULL,
        created_at, archived_at, planned, started, complete
    FROM tasks
    JOIN users ON users.id = tasks.user_id
    LEFT JOIN active_tasks ON active_tasks.project_id = tasks.project_id
        AND active_tasks.user_id = tasks.user_id AND active_tasks.task_id = tasks.id
"""
"""What a Task is made of."""

OWN_ACTIVE: Final = "tasks.id = (SELECT task_id FROM active_tasks WHERE project_id = ? AND user_id = ?)"
"""Which task is the active one."""

STEPS: Final = """
    SELECT id, number, title, description, status, created_at, completed_at
    FROM steps
    WHERE deleted_at IS NULL AND task_id = :task
"""
"""What a Step is made of."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task, with the counts of its steps."""

    id: int
    name: str
    title: str
    owner: str  # the login
    owner_name: str
    is_active: int  # of its owner, in this project
    created_at: str
    archived_at: str | None
    planned: int
    started: int
    complete: int

    @property
    def steps(self) -> int:
        """How many it has."""
        return self.planned + self.started + self.complete

    def data(self) -> dict[str, Any]:
        """The task as a result has it."""
        return {
            "name": self.name,
            "title": self.title,
            "owner": self.owner,
            "owner_name": self.owner_name,
            "active": bool(self.is_active),
            "created_at": self.created_at,
            "archived_at": self.archived_at,
            "counts": self.counts(),
        }

    def counts(self) -> dict[Status, int]:
        """How many of its steps are in which status."""
        return {"planned": self.planned, "started": self.started, "complete": self.complete}


@dataclass(frozen=True, slots=True)
class Step:
    """A step that is not deleted."""

    id: int
    number: int  # from 1, without gaps
    title: str
    description: str
    status: Status
    created_at: str
    completed_at: str | None

    def data(self) -> dict[str, Any]:
        """The step as a result has it."""
        return {
            "number": self.number,
            "title": self.title,
            "description": self.description,
            "status": self.status,
            "created_at": self.created_at,
            "completed_at": self.completed_at,
        }


def active_task(call: Call) -> Task | None:
    """The caller's active task in this project."""
    row = call.connection.execute(f"{TASKS} WHERE {OWN_ACTIVE}", (call.project.id, call.user.id)).fetchone()
    return None if row is None else Task(*row)


def find_task(call: Call, said: str | None) -> Task:
    """The caller's own task of that name, archived or not; without a name the active one. Raises PlanError."""
    if said is None:
        task = active_task(call)
        if task is None:
            raise PlanError(NO_TASK)
        return task
    name = a_name(said, "the name of a task")
    task = task_named(call, name)
    if task is None:
        raise PlanError(
            f"You have no task {name!r} in this project.{nearest(name, own_names(call))} "
            "plan_task_list shows which there are, with show_archived also those that are archived."
        )
    return task


def task_named(call: Call, name: str) -> Task | None:
    """The caller's own task of a name, if there is one."""
    row = call.connection.execute(
        f"{TASKS} WHERE tasks.project_id = ? AND tasks.user_id = ? AND tasks.name = ?",
        (call.project.id, call.user.id, name),
    ).fetchone()
    return None if row is None else Task(*row)


def changeable_task(call: Call, said: str | None) -> Task:
    """The caller's own task, which is not archived. Raises PlanError."""
    task = find_task(call, said)
    if task.archived_at is not None:
        raise PlanError(
            f"Task {task.name!r} is archived, so it stays as it is: plan_task_switch takes it up again."
        )
    return task


def own_names(call: Call) -> list[str]:
    """Names of the caller's tasks in this project, the newest first."""
    rows = call.connection.execute(
        "SELECT name FROM tasks WHERE project_id = ? AND user_id = ? ORDER BY id DESC LIMIT ?",
        (call.project.id, call.user.id, NAMES),
    )
    return [name for (name,) in rows]


def all_steps(call: Call, task: Task) -> list[Step]:
    """The steps of a task, in order."""
    rows = call.connection.execute(f"{STEPS} ORDER BY number", {"task": task.id})
    return [Step(*row) for row in rows]


def find_step(call: Call, task: Task, number: int) -> Step:
    """The step of a number. Raises PlanError."""
    step = step_numbered(call, task, number)
    if step is None:
        has = f"its steps are 1 to {task.steps}" if task.steps else "it has none yet; plan_step_new adds one"
        raise PlanError(f"Task {task.name!r} has no step {number}: {has}.")
    return step


def step_numbered(call: Call, task: Task, number: int) -> Step | None:
    """The step of a number, if there is one."""
    row = call.connection.execute(
        f"{STEPS} AND number = :number", {"task": task.id, "number": number}
    ).fetchone()
    return None if row is None else Step(*row)


def started_step(call: Call, task: Task) -> Step | None:
    """The step of a task that is being worked on."""
    if not task.started:
        return None
    row = call.connection.execute(f"{STEPS} AND status = 'started'", {"task": task.id}).fetchone()
    return None if row is None else Step(*row)


def next_step(call: Call, task: Task, after: int = 0) -> Step | None:
    """The first planned step after a number, else the first of all: what is due when nothing is started."""
    row = call.connection.execute(
        f"{STEPS} AND status = 'planned' AND number > :after ORDER BY number LIMIT 1",
        {"task": task.id, "after": after},
    ).fetchone()
    if row is None and after:
        return next_step(call, task)
    return None if row is None else Step(*row)


def due_step(call: Call, task: Task, number: int | None) -> Step:
    """The step of a number; without one, the started one. Raises PlanError."""
    if number is not None:
        return find_step(call, task, number)
    step = started_step(call, task)
    if step is None:
        due = next_step(call, task)
        hint = (
            f"start one with plan_step_switch ({due.number} is next)" if due else "add one with plan_step_new"
        )
        raise PlanError(f"Task {task.name!r} has no started step: say a number, or {hint}.")
    return step


def all_notes(call: Call, task: Task, step: Step | None = None) -> list[dict[str, str]]:
    """The notes of a task, or of one of its steps, oldest first."""
    rows = call.connection.execute(
        "SELECT created_at, text FROM notes WHERE task_id = ? AND step_id IS ? ORDER BY id",
        (task.id, step and step.id),
    )
    return [{"at": at, "text": text} for at, text in rows]


def add_note(call: Call, task: Task, step: Step | None, text: str) -> None:
    """Append a note to a task, or to one of its steps."""
    call.connection.execute(
        "INSERT INTO notes (task_id, step_id, text, created_at) VALUES (?, ?, ?, ?)",
        (task.id, step and step.id, text, call.now),
    )
