"""What goes into a call frame, and what a worker's answer or end means for whoever called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from mcppd.core.calls import CallContext, as_seconds
from mcppd.core.errors import ToolError
from mcppd.core.generation import Generation
from mcppd.core.limits import ToolLimits
from mcppd.core.modules import Module
from mcppd.core.results import OUTPUT, ToolResult, Whole
from mcppd.workers.bounds import where_to_change
from mcppd.workers.deaths import WorkerEndedError
from mcppd.workers.exchange import Answer
from mcppd.workers.speech import wanted_level


def surroundings(module: Module, context: CallContext, limit: float | None) -> dict[str, Any]:
    """The part of a call frame that says where a call runs and for whom."""
    return {
        "cwd": context.workspace or None,
        "progress": context.progress is not None,
        "log": wanted_level(module, context),
        "context": {
            "workspace_dir": context.workspace,
            "module_dir": module.directory,
            "module_scope": module.scope,
            "session_id": context.session,
            "client": context.client,
            "tool_timeout": limit,
        },
    }


def output_limits(limits: ToolLimits) -> dict[str, int | None]:
    """The part of a call frame that says how long the texts of a result may be."""
    output = OUTPUT if limits.output is None else limits.output
    return {"output": output, "chars": limits.chars} if output else {}


def result_of(answer: Answer) -> ToolResult:
    """The result out of a worker's answer; its bytes were encoded by the worker."""
    header, blob = answer.header, answer.blob
    content, structured, whole = header["content"], header.get("structured"), header.get("whole")
    rest = content + (structured or 0)
    return ToolResult(
        blob[:content],
        bool(header["error"]),
        blob[content:rest] if structured is not None else None,
        Whole(blob[rest:], is_structured=bool(header.get("whole_is_json"))) if whole is not None else None,
    )


def body_of(result: ToolResult) -> bytes:
    """The JSON text that a worker gave as its whole answer. Raises ToolError with what it gave instead."""
    if result.is_error:
        raise ToolError(str(orjson.loads(result.content)[0]["text"]))
    return result.content


def died_text(request: Mapping[str, Any], generation: Generation, error: WorkerEndedError) -> str:
    """What a caller is told whose call went down with its worker."""
    effect = "It had not begun." if error.is_unread else "Whether it took effect is unknown."
    return (
        f"Error: {_what(request, generation)} did not answer: its process {ended_text(error)} "
        f"{effect} The next call gets a new process.{last_words(error)}"
    )


def how_text(request: Mapping[str, Any], error: WorkerEndedError) -> str:
    """How a call brought its worker down, in a few words."""
    kind, given = request["kind"], request["given"]
    what = repr(given[0]) if kind == "execute" else kind
    return f"a call of {what} {error.death}"


def ended_text(error: WorkerEndedError, when: str = "") -> str:
    """How a worker ended, as sentences without a beginning; if by a limit, where that is changed."""
    excess = error.death.excess
    return f"{error.death}{when}.{' ' + where_to_change(excess.limit) if excess else ''}"


def timed_out_text(request: Mapping[str, Any], generation: Generation, limit: float) -> str:
    """What a caller is told whose call was ended at its time limit."""
    return (
        f"Error: {_what(request, generation)} was ended after {as_seconds(limit)}, its time limit. "
        "Whether it took effect is unknown. The limit is `timeout` (seconds) of the module in tools.yaml "
        "or tool.yaml, else MCPP_TIMEOUT_SECONDS."
    )


def last_words(error: WorkerEndedError) -> str:
    """The last output of a worker that ended, for the end of a message."""
    output = error.death.output.strip()
    return f"\nIts last output:\n{output}" if output else ""


def _what(request: Mapping[str, Any], generation: Generation) -> str:
    kind, given = request["kind"], request["given"]
    match kind:
        case "execute":
            what = f"tool {given[0]!r}"
        case "get_prompt":
            what = f"prompt {given[0]!r}"
        case "read_resource":
            what = f"resource {given[0]!r}"
        case _:
            return f"{kind} of module {generation.module!r}"
    return f"{what} (module {generation.module!r})"
