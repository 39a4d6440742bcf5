"""How to use the plan tools, in words."""

from __future__ import annotations

from typing import Final

SHORT: Final = """\
A task is a piece of work of yours in this project; it has steps, numbered from 1: planned, started or complete. One of
your tasks is the active one, and at most one step of a task is started.

Begin with plan_task_status. Nothing active: plan_task_new with a name and its steps. Then, for each step: do it,
plan_step_done with its number, plan_step_switch to the next. plan_task_notes and plan_step_notes keep what is worth
remembering. plan_readme says more.
"""

README: Final = """\
# The plan tools

They keep what is to be done, and how far it is, across sessions and agents: in a database outside of the project.

A **project** is the directory that you work in. A **task** is a piece of work of one person in one project. It has
**steps**, numbered from 1 without gaps, which are planned `[ ]`, started `[>]` or complete `[x]`. One of your tasks in
a project is the active one; at most one step of a task is started. What you see and change are the tasks of the user
that you work for, in this project; only plan_task_list with show_all shows other people's.

## A day with it

1. plan_task_status: which task is active, which step is started, what is next.
2. plan_task_new with name, title and steps, if the work is new: it becomes the active task, its first step is started.
   plan_task_switch, if the work is an older task.
3. Work on the started step. When it is finished: plan_step_done with its number. The answer says which step is next;
   plan_step_switch starts it. No step is started by itself when another is done.
4. Something comes up: plan_step_new appends a step, plan_step_delete removes one; the later ones move up by one.
5. Something is worth knowing later: plan_step_notes (about a step) or plan_task_notes (about the task), with text.
6. The task is finished: plan_task_new or plan_task_switch makes another active, then plan_task_archive puts it away.
   The last task stays active until there is another; nothing has to be made up for that.

## Good to know

- Where a task or step can be left out, the active task or the started step is meant.
- A name of a task is used once for each user and project, also after it was archived; upper and lower case differ.
  A name that consists of digits is a name like any other. Steps are told by their numbers.
- plan_task_switch to an archived task takes it out of the archive. An archived task can be read, not changed.
- plan_step_switch to a complete step starts it again; nothing else makes a complete step incomplete.
- plan_step_new starts the new step if no other step of the task is started.
- plan_task_notes and plan_step_notes append with `text`, and always return all notes.
- A call that fails has changed nothing; its error says what to do.
- Times are UTC.

## The tools

- Tasks: plan_task_new, plan_task_list, plan_task_show, plan_task_status, plan_task_switch, plan_task_archive,
  plan_task_notes
- Steps of the active task: plan_step_list, plan_step_show, plan_step_switch, plan_step_done, plan_step_new,
  plan_step_delete, plan_step_notes
- Who and where: plan_user_show, plan_user_set, plan_project_show, plan_project_set
- plan_readme: this text
"""
