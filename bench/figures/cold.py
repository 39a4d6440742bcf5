"""An agent starts, and there is no daemon.

From just before the shim's process is made to the last byte of the answer to `tools/list`, with 100 modules of 10
tools: with what the manifests came to kept from before, and without (the first start ever); and with two modules of
one tool. Against: an interpreter that imports what the daemon depends on, and ends. All bytecode and all
files are in the caches.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Final

from bench.figures.start import MODULES, TOOLS, ended, listed
from bench.homes import Home, new_home
from bench.plan import Plan
from bench.results import Figure, Row
from bench.series import Subject, take_turns

IMPORTS: Final = "import asyncio, click, jsonschema, orjson, yaml, uvloop"
FEW: Final = 2
FIRST_EVERY: Final = 5
"""In how many rounds the first start ever is measured once: it takes as long as ten others."""


def measure(plan: Plan) -> Figure:
    """Start without a daemon, list, end both; again and again."""
    with new_home() as many, new_home() as few:
        many.add_modules(MODULES, TOOLS)
        few.add_modules(FEW, 1)
        subjects = [
            Subject("agent start to tools/list, no daemon", lambda: _cold(many, MODULES * TOOLS)),
            Subject("the same, nothing kept from before", lambda: _first(many, MODULES * TOOLS), FIRST_EVERY),
            Subject("the same, 2 modules of 1 tool", lambda: _cold(few, FEW)),
            Subject("import of the daemon's dependencies", lambda: [ended(many, "-c", IMPORTS)]),
        ]
        kept, first, small, floor = take_turns(subjects, plan.rounds(30, 4))
    return Figure(
        "cold",
        "agent start to the tools/list reply, 100 modules x 10 tools, no daemon",
        (Row(kept, floor, goal=3.0), Row(first, floor), Row(small, floor)),
    )


def _first(home: Home, tools: int) -> Iterator[float]:
    shutil.rmtree(home.cache, ignore_errors=True)
    return _cold(home, tools)


def _cold(home: Home, tools: int) -> Iterator[float]:
    yield listed(home.agent, tools)
    home.stop_daemon()
