"""The figures, a file each; each has `measure`, and says in its docstring what is measured, from when to when."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bench.figures import (
    call,
    cold,
    flood,
    idle,
    lists,
    memory,
    plan,
    restart,
    save,
    spawn,
    start,
    throughput,
    wedge,
)
from bench.plan import Plan
from bench.results import Figure

FIGURES: Final[dict[str, Callable[[Plan], Figure]]] = {
    "start": start.measure,
    "cold": cold.measure,
    "call": call.measure,
    "lists": lists.measure,
    "flood": flood.measure,
    "throughput": throughput.measure,
    "wedge": wedge.measure,
    "save": save.measure,
    "restart": restart.measure,
    "plan": plan.measure,
    "spawn": spawn.measure,
    "memory": memory.measure,
    "idle": idle.measure,
}
