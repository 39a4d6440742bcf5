"""What the demo shows, step by step: what is done, what has to be seen, and how long it took."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from mcppd.cli.demo_stage import CHANGED, Stage
from mcppd.client import ClientError

STEP_LIMIT: Final = 20.0
"""Seconds for a step: a busy machine takes one for the start, and a tenth for each other."""

CODE: Final = '''\
"""Greets people."""


def execute(tool_name, arguments, context=None):
    words = {"greet": "Hello", "part": "Goodbye"}
    return {"success": True, "result": f"{words[tool_name]}, {arguments['who']}!"}
'''
EDITED: Final = CODE.replace("Hello", "Good morning")
BROKEN: Final = EDITED.replace("context=None):", "context=None)")
BROKEN_LINE: Final = 4
REPAIRED: Final = CODE.replace("Hello", "Welcome")

MANIFEST: Final = """\
name: greeting
about: Greets people.
scope: global
tools:
  - name: greet
    description: Greets somebody by name. Returns the greeting.
    inputSchema: &who
      type: object
      properties:
        who: {type: string}
      required: [who]
"""
ADDED: Final = """\
  - name: part
    description: Says goodbye to somebody by name. Returns the goodbye.
    inputSchema: *who
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """A step that came out as it has to."""

    step: str
    milliseconds: float
    what: str


@dataclass(frozen=True, slots=True)
class Missed:
    """A step that didn't, with the last lines of the daemon's log."""

    step: str
    expected: str
    came: str
    log: tuple[str, ...]


class MissedError(Exception):
    """The demo ends here."""

    def __init__(self, missed: Missed) -> None:
        super().__init__(missed.step)
        self.missed = missed


class OtherwiseError(Exception):
    """Something else came; the text says what."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that is done; `run` returns since when the time counts, until when, and what was seen."""

    name: str
    expected: str
    run: Callable[[Stage], Awaitable[tuple[float, float, str]]]


async def play(stage: Stage) -> AsyncIterator[Seen]:
    """Go through the steps. Raises MissedError where one doesn't come out as it has to."""
    for step in STEPS:
        try:
            async with asyncio.timeout(STEP_LIMIT):
                since, until, what = await step.run(stage)
        except TimeoutError:
            came = f"nothing of it within {STEP_LIMIT:g} s"
        except (OtherwiseError, ClientError, OSError) as error:
            came = str(error)
        else:
            yield Seen(step.name, (until - since) * 1000, what)
            continue
        raise MissedError(Missed(step.name, step.expected, came, stage.last_words()))


async def _start(stage: Stage) -> tuple[float, float, str]:
    stage.save("mcpptool.py", CODE)
    stage.save("tool.yaml", MANIFEST)
    since = time.monotonic()
    await stage.start()
    await stage.connect()
    await stage.client.list_tools()
    return since, time.monotonic(), f"a daemon, a shim and a client are up, in {stage.directory}"


async def _list(stage: Stage) -> tuple[float, float, str]:
    return await _listed(stage, {"greet", "help"})


async def _call(stage: Stage) -> tuple[float, float, str]:
    since, until, what = await _called(stage, time.monotonic(), "greet", "Hello, Ada!")
    return since, until, f"{what} The first call starts a worker."


async def _add(stage: Stage) -> tuple[float, float, str]:
    since = stage.save("tool.yaml", MANIFEST + ADDED)
    await stage.next_change()
    return since, stage.changed_at, f"a tool added and saved → {CHANGED}"


async def _list_again(stage: Stage) -> tuple[float, float, str]:
    seen = await _listed(stage, {"greet", "part", "help"})
    _check_changes(stage)
    return seen


async def _call_added(stage: Stage) -> tuple[float, float, str]:
    seen = await _called(stage, time.monotonic(), "part", "Goodbye, Ada!")
    _check_changes(stage)
    return seen


async def _edit(stage: Stage) -> tuple[float, float, str]:
    since, until, what = await _called(
        stage, stage.save("mcpptool.py", EDITED), "greet", "Good morning, Ada!"
    )
    _check_changes(stage)
    return since, until, f"code edited and saved → {what} No notification."


async def _break(stage: Stage) -> tuple[float, float, str]:
    since = stage.save("mcpptool.py", BROKEN)
    answer, *notices = await _texts(stage, "greet")
    until = time.monotonic()
    place = f"{stage.module}/mcpptool.py:{BROKEN_LINE}"
    if answer != "Good morning, Ada!" or len(notices) != 1 or place not in notices[0]:
        raise OtherwiseError(" | ".join([answer, *notices]))
    _check_changes(stage)
    fault = notices[0][notices[0].index(place) :].removeprefix(f"{stage.module.parent}/")
    return since, until, f"a mistake saved → {answer} Notice: {fault}"


async def _repair(stage: Stage) -> tuple[float, float, str]:
    since, until, what = await _called(stage, stage.save("mcpptool.py", REPAIRED), "greet", "Welcome, Ada!")
    await stage.client.list_tools()  # what was sent before this answer has come too
    _check_changes(stage)
    return since, until, f"repaired and saved → {what} The notice is gone."


STEPS: Final = (
    Step("start", "a list of tools through the shim", _start),
    Step("list", "the tools greet and help", _list),
    Step("call", "the answer Hello, Ada!", _call),
    Step("add", f"one {CHANGED} after the save", _add),
    Step("list", f"the tools greet, help and part, after one {CHANGED}", _list_again),
    Step("call", f"the answer Goodbye, Ada! from the new tool, after one {CHANGED}", _call_added),
    Step("edit", "the new answer to the call after the save, and no notification", _edit),
    Step(
        "break",
        f"the answer of the version before, with a notice that names mcpptool.py:{BROKEN_LINE}, and no notification",
        _break,
    ),
    Step("repair", "the repaired answer to the call after the save, no notice and no notification", _repair),
)


async def _listed(stage: Stage, expected: set[str]) -> tuple[float, float, str]:
    since = time.monotonic()
    tools = await stage.client.list_tools()
    until = time.monotonic()
    names = [str(tool.get("name")) for tool in tools]
    if set(names) != expected or len(names) != len(expected):
        raise OtherwiseError(f"the tools {', '.join(names)}")
    return since, until, f"the tools are {', '.join(names)}"


async def _called(stage: Stage, since: float, tool: str, expected: str) -> tuple[float, float, str]:
    texts = await _texts(stage, tool)
    until = time.monotonic()
    if texts != [expected]:
        raise OtherwiseError(" | ".join(texts))
    return since, until, f"{tool} says: {expected}"


async def _texts(stage: Stage, tool: str) -> list[str]:
    result: dict[str, Any] = await stage.client.call_tool(tool, {"who": "Ada"}, limit=STEP_LIMIT)
    texts = [str(item.get("text")) for item in result.get("content", ()) if isinstance(item, dict)]
    if result.get("isError") or not texts:
        raise OtherwiseError(" | ".join(texts) or "a result without any text")
    return texts


def _check_changes(stage: Stage) -> None:
    if stage.changes != 1:
        raise OtherwiseError(f"what was expected, but {stage.changes} notifications by now")
