"""What people filled into a form, held against it like the arguments of a call (D1)."""

from __future__ import annotations

from typing import Any

from mcppd.core.jsonrpc import encode_value
from mcppd.core.plain_schemas import is_plain
from mcppd.core.questions import Question
from mcppd.serving.seams import Checks


async def fitted(
    checks: Checks, question: Question, answer: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The answer, its content converted where nothing is lost, and where it doesn't fit what was asked for.

    Only what a person accepted is held against the form. Raises ToolError where it can't be checked.
    """
    form = question.form
    if form is None or answer["action"] != "accept":
        return answer, []
    content = answer.get("content") or {}
    try:
        size = len(encode_value(content))
    except RecursionError:
        return answer, ["$: nested too deep to be checked"]
    accepted, faults = await checks.accept(form, content, plain=is_plain(form), size=size)
    return (answer if accepted == content else {**answer, "content": accepted}), faults
