"""What the module `plan` has to answer, worked out with lists and dictionaries: none of its code, no database."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


class Refused(Exception):  # noqa: N818 - it is an answer
    """The call comes to nothing."""


@dataclass
class Step:
    title: str
    description: str = ""
    status: str = "planned"
    notes: list[str] = field(default_factory=list)


@dataclass
class Task:
    login: str
    path: str
    name: str
    title: str
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    archived: bool = False


@dataclass
class Project:
    number: int
    name: str
    description: str = ""


class Model:
    """All users, projects and tasks."""

    def __init__(self) -> None:
        self.users: dict[str, str] = {}  # login -> display name, in the order of their coming
        self.projects: dict[str, Project] = {}
        self.tasks: list[Task] = []
        self.active: dict[tuple[str, str], Task] = {}

    def answer(self, login: str, path: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """The result, times replaced by whether there is one; None if the call is refused."""
        new_user, new_project = login not in self.users, path not in self.projects
        self.users.setdefault(login, login)
        self.projects.setdefault(path, Project(len(self.projects) + 1, path.rpartition("/")[2]))
        self.login, self.path = login, path
        try:
            result = getattr(self, tool.removeprefix("plan_"))(**arguments)
        except Refused:
            if new_user:
                del self.users[login]
            if new_project:
                del self.projects[path]
            return None
        return {"project_name": self.projects[path].name, **result}

    # looking up

    def named(self, name: str | None) -> Task:
        if name is None:
            task = self.active.get((self.login, self.path))
        else:
            mine = (each for each in self.tasks if (each.login, each.path) == (self.login, self.path))
            task = next((each for each in mine if each.name == name), None)
        if task is None:
            raise Refused
        return task

    def open(self, name: str | None) -> Task:
        task = self.named(name)
        if task.archived:
            raise Refused
        return task

    def step(self, task: Task, number: int | None) -> tuple[int, Step]:
        if number is None:
            started = [(at, step) for at, step in enumerate(task.steps, 1) if step.status == "started"]
            if not started:
                raise Refused
            return started[0]
        if number > len(task.steps):
            raise Refused
        return number, task.steps[number - 1]

    # showing

    def of_task(self, task: Task) -> dict[str, Any]:
        return {
            "name": task.name,
            "title": task.title,
            "owner": task.login,
            "owner_name": self.users[task.login],
            "active": self.active.get((task.login, task.path)) is task,
            "created_at": True,
            "archived_at": task.archived,
            "counts": counts(task),
        }

    def now(self, task: Task, after: int = 0) -> dict[str, Any]:
        planned = [at for at, step in enumerate(task.steps, 1) if step.status == "planned"]
        started = [at for at, step in enumerate(task.steps, 1) if step.status == "started"]
        due = [at for at in planned if at > after] or planned
        steps = of_steps(task)
        return {
            "active_step": steps[started[0] - 1] if started else None,
            "next_step": steps[due[0] - 1] if due else None,
        }

    # the tools

    def task_new(self, name: str, title: str | None = None, steps: tuple[str, ...] = ()) -> dict[str, Any]:
        mine = {each.name for each in self.tasks if (each.login, each.path) == (self.login, self.path)}
        if name in mine:
            raise Refused
        task = Task(self.login, self.path, name, title or name, [Step(each) for each in steps])
        for step in task.steps[:1]:
            step.status = "started"
        self.tasks.append(task)
        self.active[self.login, self.path] = task
        return {"task": self.of_task(task), "steps": of_steps(task)}

    def task_list(self, *, show_archived: bool = False, show_all: bool = False) -> dict[str, Any]:
        seen = [
            task
            for task in self.tasks
            if task.path == self.path
            and (show_all or task.login == self.login)
            and (show_archived or not task.archived)
        ]
        return {"tasks": [self.of_task(task) for task in seen]}

    def task_show(self, name: str | None = None) -> dict[str, Any]:
        task = self.named(name)
        return {"task": self.of_task(task), "steps": of_steps(task), "notes": of_notes(task.notes)}

    def task_status(self) -> dict[str, Any]:
        task = self.active.get((self.login, self.path))
        if task is None:
            return {
                "active_task": None,
                "active_step": None,
                "next_step": None,
                "counts": {"planned": 0, "started": 0, "complete": 0},
            }
        head = {"name": task.name, "title": task.title}
        return {"active_task": head, **self.now(task), "counts": counts(task)}

    def task_switch(self, name: str) -> dict[str, Any]:
        task = self.named(name)
        was_archived, task.archived = task.archived, False
        self.active[self.login, self.path] = task
        return {"task": self.of_task(task), "was_archived": was_archived, **self.now(task)}

    def task_archive(self, name: str) -> dict[str, Any]:
        task = self.named(name)
        if self.active.get((self.login, self.path)) is task:
            raise Refused
        task.archived = True
        return {"task": self.of_task(task)}

    def task_notes(self, text: str | None = None, name: str | None = None) -> dict[str, Any]:
        task = self.named(name) if text is None else self.open(name)
        if text is not None:
            task.notes.append(text)
        return {"task_name": task.name, "notes": of_notes(task.notes)}

    def step_list(self, task: str | None = None) -> dict[str, Any]:
        found = self.named(task)
        return {"task_name": found.name, "counts": counts(found), "steps": of_steps(found)}

    def step_show(self, number: int | None = None) -> dict[str, Any]:
        task = self.named(None)
        at, step = self.step(task, number)
        return {"task_name": task.name, "step": of_step(at, step), "notes": of_notes(step.notes)}

    def step_switch(self, number: int) -> dict[str, Any]:
        task = self.named(None)
        at, step = self.step(task, number)
        was, former = step.status, None
        for other_at, other in enumerate(task.steps, 1):
            if other.status == "started" and other is not step:
                other.status, former = "planned", other_at
        step.status = "started"
        return {"task_name": task.name, "step": of_step(at, step), "was": was, "former_step": former}

    def step_done(self, number: int) -> dict[str, Any]:
        task = self.named(None)
        at, step = self.step(task, number)
        step.status = "complete"
        return {
            "task_name": task.name,
            "step": of_step(at, step),
            **self.now(task, at),
            "counts": counts(task),
        }

    def step_new(self, title: str, task: str | None = None, description: str = "") -> dict[str, Any]:
        found = self.open(task)
        is_free = all(step.status != "started" for step in found.steps)
        step = Step(title, description, "started" if is_free else "planned")
        found.steps.append(step)
        return {"task_name": found.name, "step": of_step(len(found.steps), step)}

    def step_delete(self, number: int, task: str | None = None) -> dict[str, Any]:
        found = self.open(task)
        at, step = self.step(found, number)
        del found.steps[at - 1]
        return {
            "task_name": found.name,
            "deleted": of_step(at, step),
            **self.now(found, at - 1),
            "counts": counts(found),
        }

    def step_notes(self, text: str | None = None, number: int | None = None) -> dict[str, Any]:
        task = self.named(None)
        at, step = self.step(task, number)
        if text is not None:
            step.notes.append(text)
        head = {"number": at, "title": step.title, "status": step.status}
        return {"task_name": task.name, "step": head, "notes": of_notes(step.notes)}

    def user_show(self) -> dict[str, Any]:
        number = list(self.users).index(self.login) + 1
        return {"id": number, "login": self.login, "display_name": self.users[self.login]}

    def user_set(self, alias: str) -> dict[str, Any]:
        self.users[self.login] = alias
        return self.user_show()

    def project_show(self) -> dict[str, Any]:
        project = self.projects[self.path]
        return {
            "id": project.number,
            "name": project.name,
            "path": self.path,
            "description": project.description,
        }

    def project_set(self, name: str | None = None, description: str | None = None) -> dict[str, Any]:
        if name is None and description is None:
            raise Refused
        project = self.projects[self.path]
        project.name = project.name if name is None else name
        project.description = project.description if description is None else description
        return self.project_show()


def counts(task: Task) -> dict[str, int]:
    statuses = [step.status for step in task.steps]
    return {status: statuses.count(status) for status in ("planned", "started", "complete")}


def of_step(number: int, step: Step) -> dict[str, Any]:
    return {
        "number": number,
        "title": step.title,
        "description": step.description,
        "status": step.status,
        "created_at": True,
        "completed_at": step.status == "complete",
    }


def of_steps(task: Task) -> list[dict[str, Any]]:
    return [of_step(number, step) for number, step in enumerate(task.steps, 1)]


def of_notes(notes: list[str]) -> list[dict[str, Any]]:
    return [{"at": True, "text": text} for text in notes]
