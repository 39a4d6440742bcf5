"""Content items (MCP, server/tools, Tool Result): what an author wrote, made plain and checked."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, Final

from .values import UnsendableError, clean, encode, plain, type_name

_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": ("resource",),
}
"""The members that each type of content item must have."""


class WrongResultError(Exception):
    """What came back is not what was expected; the text is for whoever called and for the author."""


def content_item(item: Any, path: str) -> dict[str, Any]:
    """A content item as it is sent. Raises WrongResultError, which says what is wrong at that path."""
    plain_item = made_plain(_with_text_data(item), path)
    if not isinstance(plain_item, dict):
        raise WrongResultError(f"`{path}` is {shown(item)}; expected a dict with `type`.")
    required = _MEMBERS.get(str(plain_item.get("type")))
    if required is None:
        known = ", ".join(_MEMBERS)
        raise WrongResultError(f"`{path}.type` is {shown(plain_item.get('type'))}; expected one of {known}.")
    for name in required:
        _check_member(plain_item, name, path)
    return plain_item


def text_item(text: str, audience: str | None = None) -> dict[str, Any]:
    """A text item, for one audience ("user", "assistant") or for both."""
    item: dict[str, Any] = {"type": "text", "text": text}
    if audience:
        item["annotations"] = {"audience": [audience]}
    return item


def made_plain(value: Any, path: str) -> Any:
    """A value as JSON can carry it. Raises WrongResultError."""
    try:
        return plain(value)
    except UnsendableError as error:
        raise WrongResultError(f"`{path}` can't be sent: {error.at('$')}.") from None


def base64_of(data: bytes | bytearray) -> str:
    """Bytes as MCP sends them."""
    return base64.b64encode(data).decode()


def as_text(value: Any) -> str:
    """A plain value as text: a string as it is, anything else as compact JSON."""
    return value if isinstance(value, str) else encode(value).decode()


def shown(value: object) -> str:
    """A short description of what came where something else was expected."""
    if value is None:
        return "None"
    if isinstance(value, bool | int | str):
        return f"{clean(repr(value)[:60])} ({type_name(value)})"
    return f"a value of type {type_name(value)}"


def keys(value: Mapping[Any, Any]) -> str:
    """The first keys of a dict, for a message about one that lacks another."""
    return ", ".join(clean(str(key)[:40]) for key in list(value)[:10]) or "none"


def _check_member(item: Mapping[str, Any], name: str, path: str) -> None:
    value = item.get(name)
    if name != "resource":
        if not isinstance(value, str):
            raise WrongResultError(f"`{path}.{name}` is {shown(value)}; expected text.")
        return
    if not isinstance(value, dict) or not isinstance(value.get("uri"), str):
        raise WrongResultError(f"`{path}.resource` is {shown(value)}; expected a dict with `uri`.")
    if not isinstance(value.get("text", value.get("blob")), str):
        raise WrongResultError(f"`{path}.resource` has neither `text` nor `blob` that is text.")


def _with_text_data(item: Any) -> Any:
    """The item with raw bytes of an image, a sound or a resource as base64, which MCP wants there."""
    if not isinstance(item, Mapping):
        return item
    if isinstance(item.get("data"), bytes | bytearray):
        return dict(item) | {"data": base64_of(item["data"])}
    resource = item.get("resource")
    if isinstance(resource, Mapping) and isinstance(resource.get("blob"), bytes | bytearray):
        return dict(item) | {"resource": dict(resource) | {"blob": base64_of(resource["blob"])}}
    return item
