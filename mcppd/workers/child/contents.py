"""What `read_resource` and `list_resources` returned, as MCP has it (server/resources)."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

from .items import WrongResultError, as_text, base64_of, keys, made_plain, shown
from .results import Outcome, bounded, failed
from .values import encode

_CONTENTS: Final = (
    'Expected: a text, bytes, a dict with "text", "blob" or "json" (and "mimeType", "uri" if wanted), '
    "a list of such, or None if there is no such resource."
)
_LISTING: Final = 'Expected: a list of dicts {"uri": …, "name": …}.'
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MEMBERS: Final[Mapping[str, tuple[tuple[type, ...], str]]] = {
    "mimeType": ((str,), "text"),
    "_meta": ((dict,), "a dict"),
}
"""The members of contents (MCP, ResourceContents) besides those that hold them."""


def contents_outcome(value: object, uri: str, mime_type: str | None) -> Outcome:
    """The outcome of what `read_resource` returned: the `contents` of a ReadResourceResult, or null.

    `uri` is the one that was asked for, `mime_type` the one that the manifest declares.
    """
    try:
        return bounded(Outcome(encode(None if value is None else _contents(value, uri, mime_type))))
    except WrongResultError as error:
        return failed(f"Error: {error}")


def listing_outcome(value: object) -> Outcome:
    """The outcome of what `list_resources` returned: an array, of Resource if its author made no mistake."""
    try:
        return bounded(Outcome(encode(_listing(value))))
    except WrongResultError as error:
        return failed(f"Error: {error}")


def _contents(value: object, uri: str, mime_type: str | None) -> list[dict[str, Any]]:
    if isinstance(value, list | tuple):
        return [_content(each, f"result[{at}]", uri, mime_type) for at, each in enumerate(value)]
    return [_content(value, "result", uri, mime_type)]


def _content(value: object, path: str, uri: str, mime_type: str | None) -> dict[str, Any]:
    given = value
    if not isinstance(value, Mapping | str | bytes | bytearray | memoryview):
        value = made_plain(value, path)  # an object may give a dict of itself
    if isinstance(value, str):
        value = {"text": value}
    elif isinstance(value, bytes | bytearray | memoryview):
        value = {"blob": value}
    if not isinstance(value, Mapping):
        raise WrongResultError(f"read_resource: `{path}` is {shown(given)}. {_CONTENTS}")
    content: dict[str, Any] = {"uri": _uri(value.get("uri", uri), f"{path}.uri")}
    said = value.get("mimeType", "application/json" if "json" in value and mime_type is None else mime_type)
    if said is not None:
        content["mimeType"] = _checked("mimeType", made_plain(said, path), path)
    content |= _body(value, path)
    if value.get("_meta") is not None:
        content["_meta"] = _checked("_meta", made_plain(value["_meta"], f"{path}._meta"), path)
    return content


def _body(value: Mapping[Any, Any], path: str) -> dict[str, str]:
    """The text or the blob of one content."""
    if value.get("text") is not None:
        return {"text": as_text(made_plain(value["text"], f"{path}.text"))}
    if value.get("blob") is not None:
        return {"blob": _blob(value["blob"], f"{path}.blob")}
    if "json" in value:
        return {"text": encode(made_plain(value["json"], f"{path}.json")).decode()}
    raise WrongResultError(
        f"read_resource: `{path}` has none of `text`, `blob` and `json` (its keys: {keys(value)}). {_CONTENTS}"
    )


def _blob(value: object, path: str) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64_of(bytes(value))
    if not isinstance(value, str):
        raise WrongResultError(f"`{path}` is {shown(value)}; expected bytes, or text in base64.")
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise WrongResultError(f"`{path}` is text that is no base64; give bytes, or `text`.") from None
    return value


def _listing(value: object) -> list[Any]:
    """The entries as their author gave them: the daemon leaves out those that no client would take."""
    if value is None:
        return []
    items = made_plain(value, "result")
    if not isinstance(items, list):
        raise WrongResultError(f"list_resources returned {shown(value)}. {_LISTING}")
    return items


def _checked(name: str, value: Any, path: str) -> Any:
    """A member of a plain value, which has to be of its type."""
    kinds, expected = _MEMBERS[name]
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise WrongResultError(f"`{path}.{name}` is {shown(value)}; expected {expected}.")
    return value


def _uri(value: object, path: str) -> str:
    uri = made_plain(value, path)
    if not isinstance(uri, str) or not _URI.match(uri):
        raise WrongResultError(f"`{path}` is {shown(value)}; expected a URI such as notes://today.")
    return uri
