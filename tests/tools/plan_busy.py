"""`python plan_busy.py NUMBER SECONDS WORKSPACE LOGIN`: works with the module `plan` for so long, as one of many.

It begins when a line comes on stdin, and prints as JSON what it has made and every error that it got.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from tools.plan import mcpptool


def main() -> None:
    """Work, and tell."""
    number, seconds, workspace, login = sys.argv[1:]
    made: Counter[str] = Counter()
    errors: list[str] = []

    def ask(tool: str, **arguments: Any) -> None:
        answer = mcpptool.answer(tool, arguments, workspace, login)
        if answer["success"]:
            made[tool] += 1
        else:
            errors.append(f"{tool}: {answer['error']}")

    sys.stdin.readline()
    end = time.monotonic() + float(seconds)
    chance, rounds = Random(int(number)), 0
    while time.monotonic() < end or rounds == 0:
        one_round(ask, f"{number}-{rounds}", chance)
        rounds += 1
    sys.stdout.write(json.dumps({"made": made, "errors": errors}))


def one_round(ask: Callable[..., None], name: str, chance: Random) -> None:
    """A task with what is done with one; told by its name, since others of this login make theirs active meanwhile."""
    ask("plan_task_new", name=name, steps=["one", "two"])
    for at in range(chance.randrange(4)):
        ask("plan_step_new", title=f"more {at}", task=name)
    ask("plan_task_notes", text=f"note of {name}", name=name)
    ask("plan_step_delete", number=1, task=name)
    ask("plan_task_status")
    ask("plan_task_show", name=name)
    ask("plan_user_set", alias=name)
    ask("plan_project_set", description=name)
    if chance.random() < 0.02:  # it grows
        ask("plan_task_list", show_all=True)


if __name__ == "__main__":
    main()
