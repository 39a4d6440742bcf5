"""What a tool returned, as the content items of a result (CONTRACT.md, "Result"); encoded here, once."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from .values import UnsendableError, clean, encode, plain, type_name
from .wire import MAX_FRAME

EXPECTED: Final = (
    'Expected: {"success": True, "result": …} (with "display", "content", "structuredContent" if wanted) '
    'or {"success": False, "error": "…"}.'
)

_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": ("resource",),
}
"""The members that each type of content item must have (MCP, server/tools, Tool Result)."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a call as it goes over the wire: JSON texts."""

    content: bytes
    is_error: bool = False
    structured: bytes | None = None

    def head(self) -> dict[str, Any]:
        """What the wire says of it."""
        structured = None if self.structured is None else len(self.structured)
        return {"error": self.is_error, "content": len(self.content), "structured": structured}

    @property
    def blob(self) -> bytes:
        """What the wire carries of it."""
        return self.content + (self.structured or b"")


class _WrongResultError(Exception):
    """What came back is no result; the text is for whoever called and for the author."""


def failed(text: str) -> Outcome:
    """The outcome of a call that failed."""
    return _bounded(Outcome(encode([_text(clean(text))]), is_error=True))


def outcome_of(value: object, *, structured: bool) -> Outcome:
    """The outcome of what `execute` returned; `structured` if its tool declares an output schema."""
    try:
        return _bounded(_outcome(value, structured=structured))
    except _WrongResultError as error:
        return failed(f"Error: {error}")


def info_outcome(value: object) -> Outcome:
    """The outcome of what `get_info` returned."""
    try:
        return _bounded(Outcome(encode([_text(_as_text(plain(value)))])))
    except UnsendableError as error:
        return failed(f"Error: what get_info returned can't be sent: {error.at('$')}.")


def _outcome(value: object, *, structured: bool) -> Outcome:
    if not isinstance(value, Mapping):
        raise _WrongResultError(f"execute returned {_shown(value)}, which is no result. {EXPECTED}")
    if value.get("success") is True:
        return _success(value, structured=structured)
    return _failure(value)


def _success(value: Mapping[Any, Any], *, structured: bool) -> Outcome:
    own = _member(value, "structuredContent")
    result = _member(value, "result") if "result" in value or own is None else own
    items = _display(value)
    if value.get("content") is not None:
        items += _content(value["content"])
    else:
        items.append(_text(_as_text(result), "assistant" if items else None))
    if not structured:
        return Outcome(encode(items))
    if own is None:
        own = result if isinstance(result, dict) else None
    if not items and own is not None:
        items = [_text(encode(own).decode())]
    return Outcome(encode(items), structured=None if own is None else encode(own))


def _failure(value: Mapping[Any, Any]) -> Outcome:
    if "success" not in value:
        raise _WrongResultError(
            f"execute returned a dict without `success` (keys: {_keys(value)}). {EXPECTED}"
        )
    error = _member(value, "error") or _member(value, "message")
    content = _content(value["content"]) if value.get("content") is not None else []
    if error is None and not content and value["success"] is not False:
        success = value["success"]
        raise _WrongResultError(
            f"execute returned `success` as {_shown(success)}, which is not True. {EXPECTED}"
        )
    if error is None and not content:
        error = "the tool reported a failure without saying why (`error` is missing)"
    items = [] if error is None else [_text(f"Error: {_as_text(error)}")]
    return Outcome(encode(items + _display(value) + content), is_error=True)


def _display(value: Mapping[Any, Any]) -> list[dict[str, Any]]:
    display = _member(value, "display")
    return [_text(_as_text(display), "user")] if display else []


def _member(value: Mapping[Any, Any], name: str) -> Any:
    """A member of the returned dict, made plain."""
    return _plain(value.get(name), name)


def _plain(value: Any, name: str) -> Any:
    try:
        return plain(value)
    except UnsendableError as error:
        raise _WrongResultError(f"`{name}` can't be sent: {error.at('$')}.") from None


def _content(items: Any) -> list[dict[str, Any]]:
    if not isinstance(items, list | tuple):
        raise _WrongResultError(f"`content` is {_shown(items)}; expected a list of MCP content items.")
    return [_item(item, f"content[{at}]") for at, item in enumerate(items)]


def _item(item: Any, path: str) -> dict[str, Any]:
    plain_item = _plain(_with_text_data(item), path)
    if not isinstance(plain_item, dict):
        raise _WrongResultError(f"`{path}` is {_shown(item)}; expected a dict with `type`.")
    required = _MEMBERS.get(str(plain_item.get("type")))
    if required is None:
        known = ", ".join(_MEMBERS)
        raise _WrongResultError(
            f"`{path}.type` is {_shown(plain_item.get('type'))}; expected one of {known}."
        )
    for name in required:
        _check_member(plain_item, name, path)
    return plain_item


def _check_member(item: Mapping[str, Any], name: str, path: str) -> None:
    value = item.get(name)
    if name != "resource":
        if not isinstance(value, str):
            raise _WrongResultError(f"`{path}.{name}` is {_shown(value)}; expected text.")
        return
    if not isinstance(value, dict) or not isinstance(value.get("uri"), str):
        raise _WrongResultError(f"`{path}.resource` is {_shown(value)}; expected a dict with `uri`.")
    if not isinstance(value.get("text", value.get("blob")), str):
        raise _WrongResultError(f"`{path}.resource` has neither `text` nor `blob` that is text.")


def _with_text_data(item: Any) -> Any:
    """The item with raw bytes of an image, a sound or a resource as base64, which MCP wants there."""
    if not isinstance(item, Mapping):
        return item
    if isinstance(item.get("data"), bytes | bytearray):
        return dict(item) | {"data": base64.b64encode(item["data"]).decode()}
    resource = item.get("resource")
    if isinstance(resource, Mapping) and isinstance(resource.get("blob"), bytes | bytearray):
        return dict(item) | {
            "resource": dict(resource) | {"blob": base64.b64encode(resource["blob"]).decode()}
        }
    return item


def _text(text: str, audience: str | None = None) -> dict[str, Any]:
    item: dict[str, Any] = {"type": "text", "text": text}
    if audience:
        item["annotations"] = {"audience": [audience]}
    return item


def _as_text(value: Any) -> str:
    """A plain value as text: a string as it is, anything else as compact JSON."""
    return value if isinstance(value, str) else encode(value).decode()


def _shown(value: object) -> str:
    """A short description of what came where something else was expected."""
    if value is None:
        return "None"
    if isinstance(value, bool | int | str):
        return f"{clean(repr(value)[:60])} ({type_name(value)})"
    return f"a value of type {type_name(value)}"


def _keys(value: Mapping[Any, Any]) -> str:
    return ", ".join(clean(str(key)[:40]) for key in list(value)[:10]) or "none"


def _bounded(outcome: Outcome) -> Outcome:
    size = len(outcome.content) + len(outcome.structured or b"")
    if size <= MAX_FRAME:
        return outcome
    return failed(
        f"Error: the result is {size} bytes as JSON, more than the limit of {MAX_FRAME}. "
        "Return less, or write it to a file and return its path."
    )
