"""Answers: one entry for all that clients ask and that needs work; the one place where exceptions become answers."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

import orjson

from mcppd.core.calls import Spent
from mcppd.core.catalog import CALL_TOOL
from mcppd.core.effects import CallTool, Complete, GetPrompt, InputRequired, List, ReadResource, Work
from mcppd.core.eras_results import Answer
from mcppd.core.errors import INTERNAL_ERROR, InputRequiredError, ProtocolError, ToolError
from mcppd.core.events import CallEnded, Tell
from mcppd.core.results import ToolResult, error_result
from mcppd.serving.callbacks import Callbacks
from mcppd.serving.callers import Caller, Origin
from mcppd.serving.completions import Completions
from mcppd.serving.helping import Help
from mcppd.serving.lists import Lists
from mcppd.serving.live_resources import LiveResources
from mcppd.serving.prompts import Prompts
from mcppd.serving.resources import Resources
from mcppd.serving.seams import Calls, Checks, Served
from mcppd.serving.stored_results import StoredResults
from mcppd.serving.tools import ToolCalls

__all__ = ["Answers", "Caller"]

logger = logging.getLogger("mcppd.calls")

ERROR_SHOWN: Final = 4000
"""Characters of what a caller was told that are told to a person too: more than fit on a screen."""
URI_SHOWN: Final = 200
"""Characters of a URI that are logged, and nothing after its `?`, where secrets are."""


class Answers:
    """Answers what sessions ask."""

    def __init__(
        self,
        served: Served,
        calls: Calls,
        stored: StoredResults,
        tasks: asyncio.TaskGroup,
        tell: Tell,
        note: str = "",
    ) -> None:
        """`note` is what `help` has to say of this daemon."""
        live = LiveResources(calls, tasks)
        self._lists = Lists(served, live)
        self._tools = ToolCalls(
            served,
            calls,
            Help(served, calls, lambda catalog: (*filter(None, [note]), *live.notes(catalog))),
            stored,
        )
        self._prompts = Prompts(served, calls)
        self._resources = Resources(served, calls, live, stored)
        self._completions = Completions(served, calls)
        self._calls = calls
        self._tell = tell

    @property
    def checks(self) -> Checks:
        """Validation, of answers to questions too."""
        return self._calls.checks

    async def answer(
        self, caller: Caller, effect: Work, size: int, callbacks: Callbacks, spent: Spent
    ) -> Answer:
        """The answer to a request that came in a line of `size` bytes, whatever happens to it."""
        started = time.monotonic()
        origin = Origin(caller, effect.ticket, callbacks, spent)
        answer: Answer
        try:
            answer = await self._work(origin, effect, size)
        except ToolError as error:
            answer = _failure(effect, error)
        except ProtocolError as error:
            answer = error
        except InputRequiredError as error:
            answer = InputRequired(error.requests, error.state)
        except asyncio.CancelledError:
            self._note(effect, started, origin.spent, "cancelled")
            raise
        except Exception:
            logger.exception("%s failed inside mcppd", effect.ticket.method)
            answer = ProtocolError(INTERNAL_ERROR, "Internal error: see the daemon's log")
        self._note(effect, started, origin.spent, *_outcome(answer))
        return answer

    async def _work(self, origin: Origin, effect: Work, size: int) -> Answer:
        match effect:
            case CallTool():
                return await self._tools.call(origin, effect, size)
            case GetPrompt():
                return await self._prompts.get(origin, effect)
            case ReadResource():
                return await self._resources.read(origin, effect)
            case Complete():
                return await self._completions.complete(origin, effect)
            case List():
                return await self._lists.page(origin, effect)

    def _note(self, effect: Work, started: float, spent: Spent, outcome: str, error: str = "") -> None:
        """Tell people how a request ended; lists and completions are no news."""
        name = _name(effect)
        if name is not None:
            client = effect.ticket.client
            agent = client.name if client else "unknown"
            self._tell(CallEnded(agent, name, time.monotonic() - started, outcome, error, spent.waited))


def _failure(effect: Work, error: ToolError) -> Answer:
    """A tool's failure is a result that a model reads; nothing else has such results."""
    if isinstance(effect, CallTool):
        return error_result(error.text)
    return ProtocolError(INTERNAL_ERROR, error.text.removeprefix("Error: "))


def _outcome(answer: Answer) -> tuple[str, str]:
    """How a request ended, and what its caller was told if not well."""
    match answer:
        case ProtocolError(code=code, message=message):
            return f"error {code}", message
        case ToolResult(is_error=True):
            return "failed", _first_text(answer)
        case InputRequired():
            return "asks", ""
        case _:
            return "ok", ""


def _first_text(result: ToolResult) -> str:
    try:
        items = orjson.loads(result.content)
    except orjson.JSONDecodeError:  # numbers that only others read
        return ""
    return next((str(item["text"]) for item in items if item.get("type") == "text"), "")[:ERROR_SHOWN]


def _name(effect: Work) -> str | None:
    """What a person knows the request by."""
    match effect:
        case CallTool(name=name, arguments=arguments):
            inner = arguments.get("name") if name == CALL_TOOL else None
            return f"{inner} ({CALL_TOOL})" if isinstance(inner, str) else name
        case GetPrompt(name=name):
            return f"{name} (prompt)"
        case ReadResource(uri=uri):
            return f"{uri.partition('?')[0][:URI_SHOWN]} (resource)"
        case _:
            return None
