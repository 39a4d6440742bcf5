"""What is written into the files of a new plan, and how plans work, in words."""

from __future__ import annotations

from typing import Final

HOW_IT_WORKS: Final = """\
A plan is a directory with four files:

- WHAT.md: the goal. What is wanted and why, and how to tell that it is reached.
- HOW.md: the approach. How it will be done, what was decided, and what was turned down.
- ACTIONS.md: the log. What was done, with its date, newest last.
- TASKS.md: the checklist. What is left to do, one line each, ticked when it is done.

Write WHAT.md first, and go on only when it is agreed. Keep the others true as the work goes on.
"""

README: Final = f"""\
# Plans

{HOW_IT_WORKS}
Plans can be grouped in directories: `auth/login` is the plan `login` in the group `auth`.
"""

PLAN_FILES: Final = {
    "WHAT.md": """\
# {name}: what

## Goal

## Why

## Done when
""",
    "HOW.md": """\
# {name}: how

## Approach

## Decisions

## Turned down
""",
    "ACTIONS.md": """\
# {name}: actions

What was done, newest last, each line with its date.
""",
    "TASKS.md": """\
# {name}: tasks

- [ ] Write down the goal in WHAT.md
""",
}
"""The files of a plan and what they say at first; `{name}` stands for the plan's name."""
