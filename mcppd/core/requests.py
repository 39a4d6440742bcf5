"""What requests ask for, read out of their params; ProtocolError where they don't say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mcppd.core.effects import (
    CallTool,
    Complete,
    GetPrompt,
    List,
    ReadResource,
    Reference,
    Retry,
    Ticket,
    Work,
)
from mcppd.core.errors import INVALID_PARAMS, ProtocolError
from mcppd.core.kinds import Kind
from mcppd.core.log_levels import LEVELS

_LISTS: Final[Mapping[str, Kind]] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}


def read_work(method: str, params: Mapping[str, Any], *, modern: bool) -> Callable[[Ticket], Work] | None:
    """What a request asks to be done, once there is a ticket for it; None of a method that asks for no work."""
    if method in _LISTS:
        kind, cursor = _LISTS[method], _read_cursor(params)
        return lambda ticket: List(ticket, kind, cursor)
    read = _READERS.get(method)
    return None if read is None else read(params, _read_retry(params) if modern else None)


def read_uri(params: Mapping[str, Any]) -> str:
    """The URI of a resource."""
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise _wrong("uri", "a string, the URI of a resource")
    return uri


def read_level(params: Mapping[str, Any]) -> str:
    """The level of a `logging/setLevel`."""
    level = params.get("level")
    if not isinstance(level, str) or level not in LEVELS:
        raise _wrong("level", f"one of {', '.join(LEVELS)}")
    return level


def _read_call(params: Mapping[str, Any], retry: Retry | None) -> Callable[[Ticket], Work]:
    """No arguments and null are none (CASES H7)."""
    name = _read_name(params, "a tool")
    arguments = _read_object(params, "arguments")
    return lambda ticket: CallTool(ticket, name, arguments, retry)


def _read_get(params: Mapping[str, Any], retry: Retry | None) -> Callable[[Ticket], Work]:
    name = _read_name(params, "a prompt")
    arguments = _read_texts(params, "arguments")
    return lambda ticket: GetPrompt(ticket, name, arguments, retry)


def _read_read(params: Mapping[str, Any], retry: Retry | None) -> Callable[[Ticket], Work]:
    uri = read_uri(params)
    return lambda ticket: ReadResource(ticket, uri, retry)


def _read_complete(params: Mapping[str, Any], _: Retry | None) -> Callable[[Ticket], Work]:
    ref = _read_reference(params.get("ref"))
    argument = _read_object(params, "argument")
    name, value = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(value, str):
        raise _wrong("argument", "an object whose name and value are strings")
    known = _read_texts(_read_object(params, "context"), "arguments", "context.arguments")
    return lambda ticket: Complete(ticket, ref, name, value, known)


_READERS: Final[Mapping[str, Callable[[Mapping[str, Any], Retry | None], Callable[[Ticket], Work]]]] = {
    "tools/call": _read_call,
    "prompts/get": _read_get,
    "resources/read": _read_read,
    "completion/complete": _read_complete,
}


def _read_reference(ref: Any) -> Reference:
    match ref:
        case {"type": "ref/prompt", "name": str(name)}:
            return Reference("ref/prompt", name)
        case {"type": "ref/resource", "uri": str(uri)}:
            return Reference("ref/resource", uri)
        case _:
            raise _wrong("ref", 'a "ref/prompt" with a name or a "ref/resource" with a uri')


def _read_retry(params: Mapping[str, Any]) -> Retry | None:
    """The answers that a modern client gives to questions; null is none."""
    responses, state = params.get("inputResponses"), params.get("requestState")
    if responses is None and state is None:
        return None
    if state is not None and not isinstance(state, str):
        raise _wrong("requestState", "the string that came with the questions")
    return Retry(_read_object(params, "inputResponses"), state)


def _read_cursor(params: Mapping[str, Any]) -> str | None:
    """The cursor of a list; the empty string is one."""
    cursor = params.get("cursor")
    if cursor is not None and not isinstance(cursor, str):
        raise _wrong("cursor", "the string that a former page gave")
    return cursor


def _read_name(params: Mapping[str, Any], of: str) -> str:
    name = params.get("name")
    if not isinstance(name, str):
        raise _wrong("name", f"a string, the name of {of}")
    return name


def _read_object(params: Mapping[str, Any], member: str) -> dict[str, Any]:
    value = params.get(member)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _wrong(member, "an object")
    return value


def _read_texts(params: Mapping[str, Any], member: str, shown: str | None = None) -> dict[str, str]:
    """An object whose values are strings."""
    value = params.get(member)
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise _wrong(shown or member, "an object whose values are strings")
    return value


def _wrong(member: str, expected: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"Invalid params: {member} must be {expected}")
