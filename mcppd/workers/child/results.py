"""What a tool returned, as the content items of a result (CONTRACT.md, "Result"); encoded here, once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from .items import WrongResultError, as_text, content_item, keys, made_plain, shown, text_item
from .values import UnsendableError, clean, encode, plain
from .wire import MAX_FRAME

EXPECTED: Final = (
    'Expected: {"success": True, "result": …} (with "display", "content", "structuredContent" if wanted) '
    'or {"success": False, "error": "…"}.'
)


class Outcome(NamedTuple):
    """The result of a call as it goes over the wire: JSON texts."""

    content: bytes
    is_error: bool = False
    structured: bytes | None = None
    whole: bytes | None = None  # what it was before it was cut: its texts, or the structured content
    whole_is_json: bool = False

    def head(self) -> dict[str, Any]:
        """What the wire says of it."""
        structured = None if self.structured is None else len(self.structured)
        head = {"error": self.is_error, "content": len(self.content), "structured": structured}
        if self.whole is None:
            return head
        return head | {"whole": len(self.whole), "whole_is_json": self.whole_is_json}

    @property
    def blob(self) -> bytes:
        """What the wire carries of it."""
        if self.structured is None and self.whole is None:
            return self.content
        return b"".join((self.content, self.structured or b"", self.whole or b""))


def failed(text: str) -> Outcome:
    """The outcome of a call that failed."""
    return bounded(Outcome(encode([text_item(clean(text))]), is_error=True))


def outcome_of(value: object, *, structured: bool) -> Outcome:
    """The outcome of what `execute` returned; `structured` if its tool declares an output schema."""
    try:
        return bounded(_outcome(value, structured=structured))
    except WrongResultError as error:
        return failed(f"Error: {error}")


def info_outcome(value: object) -> Outcome:
    """The outcome of what `get_info` returned."""
    try:
        return bounded(Outcome(encode([text_item(as_text(plain(value)))])))
    except UnsendableError as error:
        return failed(f"Error: what get_info returned can't be sent: {error.at('$')}.")


def _outcome(value: object, *, structured: bool) -> Outcome:
    if not isinstance(value, Mapping):
        raise WrongResultError(f"execute returned {shown(value)}, which is no result. {EXPECTED}")
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
        items.append(text_item(as_text(result), "assistant" if items else None))
    if not structured:
        return Outcome(encode(items))
    if own is None:
        own = result if isinstance(result, dict) else None
    if not items and own is not None:
        items = [text_item(encode(own).decode())]
    return Outcome(encode(items), structured=None if own is None else encode(own))


def _failure(value: Mapping[Any, Any]) -> Outcome:
    if "success" not in value:
        raise WrongResultError(f"execute returned a dict without `success` (keys: {keys(value)}). {EXPECTED}")
    error = _member(value, "error") or _member(value, "message")
    content = _content(value["content"]) if value.get("content") is not None else []
    if error is None and not content and value["success"] is not False:
        success = value["success"]
        raise WrongResultError(
            f"execute returned `success` as {shown(success)}, which is not True. {EXPECTED}"
        )
    if error is None and not content:
        error = "the tool reported a failure without saying why (`error` is missing)"
    items = [] if error is None else [text_item(f"Error: {as_text(error)}")]
    return Outcome(encode(items + _display(value) + content), is_error=True)


def _display(value: Mapping[Any, Any]) -> list[dict[str, Any]]:
    display = _member(value, "display")
    return [text_item(as_text(display), "user")] if display else []


def _member(value: Mapping[Any, Any], name: str) -> Any:
    """A member of the returned dict, made plain."""
    return made_plain(value.get(name), name)


def _content(items: Any) -> list[dict[str, Any]]:
    if not isinstance(items, list | tuple):
        raise WrongResultError(f"`content` is {shown(items)}; expected a list of MCP content items.")
    return [content_item(item, f"content[{at}]") for at, item in enumerate(items)]


def bounded(outcome: Outcome) -> Outcome:
    """The outcome, or that it is too large for the wire."""
    size = len(outcome.blob)
    if size <= MAX_FRAME:
        return outcome
    return failed(
        f"Error: the result is {size} bytes as JSON, more than the limit of {MAX_FRAME}. "
        "Return less, or write it to a file and return its path."
    )
