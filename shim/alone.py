"""The shim without a daemon: as little of a server as a client needs to stay, and to show what is wrong.

Loaded only when it is needed. It speaks both eras.
"""

from __future__ import annotations

import json

from .ledger import LISTEN, Entry, Ledger
from .scan import ANSWER, value_end
from .speech import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    META,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    SERVER,
    UNSUPPORTED_VERSION,
    call_result,
    encoded,
    error,
    notification,
    result,
    subscription,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

LEGACY: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"
TOOL: Final = "mcppd_status"
TOOLS: Final = [
    {
        "name": TOOL,
        "description": "Says why the tools of mcppd can't be used at the moment, and what to do about it.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    }
]
CACHE: Final = {"ttlMs": 0, "cacheScope": "private"}
LISTS: Final[dict[str, tuple[str, str, list[dict[str, Any]]]]] = {
    "tools/list": ("tools", "tools", TOOLS),
    "prompts/list": ("prompts", "prompts", []),
    "resources/list": ("resources", "resources", []),
    "resources/templates/list": ("resources", "resourceTemplates", []),
}
"""For each method: whose changes are told, the member of its result, and what there is without a daemon."""
EMPTY: Final = frozenset(
    {"ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "shutdown"}
)
"""Legacy requests that are answered by nothing; those that set something set it for the next daemon."""
BACK: Final = "The mcppd daemon is there again: list the tools again, or call them by their names."


class Asked:
    """One request, read."""

    __slots__ = ("id", "is_modern", "meta", "method", "params")

    def __init__(self, message: dict[str, Any]) -> None:
        params = message.get("params")
        self.id = encoded(message["id"])
        self.method: str = message["method"]
        self.params: dict[str, Any] = params if isinstance(params, dict) else {}
        meta = self.params.get("_meta")
        self.meta: dict[str, Any] = meta if isinstance(meta, dict) else {}
        always = self.method in ("server/discover", "subscriptions/listen")
        self.is_modern = always or f"{META}protocolVersion" in self.meta

    def result(self, members: dict[str, Any]) -> bytes:
        """The line of a result."""
        return result(self.id, members, is_modern=self.is_modern)

    def error(self, code: int, message: str, data: Any = None) -> bytes:
        """The line of an error."""
        return error(self.id, code, message, data)


def answers(ledger: Ledger, entry: Entry, why: str) -> list[bytes]:
    """What the host gets for an entry while there is no daemon; a listen stays open, for the next one."""
    try:
        value = json.loads(entry.line)
    except (ValueError, RecursionError) as fault:
        ledger.release(entry)
        return [error(b"null", PARSE_ERROR, f"Parse error: {fault}")]
    if entry.method == LISTEN:
        return _acknowledge(entry, value)
    if entry.method:
        line = _answer(ledger, Asked(value), why)
        is_error = line.startswith(b',"error"', value_end(line, len(ANSWER)))
        (ledger.release if is_error else ledger.settle)(entry)
        return [line]
    ledger.release(entry)
    parts = [part for part in value if _is_request(part)] if isinstance(value, list) else []
    lines = [_answer(ledger, Asked(part), why).rstrip() for part in parts] + entry.answers
    return [b"[" + b",".join(lines) + b"]\n"] if lines else []


def list_changes(ledger: Ledger) -> list[bytes]:
    """What tells a client, in both eras, that lists which it has from us are out of date; they are told with it."""
    lines = []
    for name in sorted(ledger.told):
        method = f"notifications/{name}/list_changed"
        if ledger.is_initialized:
            lines.append(notification(method))
        for entry in ledger.listens:
            wishes = Asked(json.loads(entry.line)).params.get("notifications")
            if isinstance(wishes, dict) and wishes.get(f"{name}ListChanged") is True:
                lines.append(notification(method, b'{"_meta":{%b}}' % subscription(entry.id)))
    ledger.told.clear()
    return lines


def status_answer(entry: Entry) -> bytes | None:
    """The answer to a call of the tool that only the shim has, when a daemon is there; None of another call."""
    asked = Asked(json.loads(entry.line))
    if asked.params.get("name") != TOOL:
        return None
    return call_result(asked.id, BACK, is_modern=asked.is_modern, is_error=False)


def _is_request(message: Any) -> bool:
    return isinstance(message, dict) and "id" in message and isinstance(message.get("method"), str)


def _answer(ledger: Ledger, asked: Asked, why: str) -> bytes:
    version = asked.meta.get(f"{META}protocolVersion", MODERN)
    if asked.is_modern and version != MODERN:
        data = {"supported": [MODERN], "requested": str(version)[:200]}
        return asked.error(UNSUPPORTED_VERSION, "Unsupported protocol version", data)
    if asked.is_modern and asked.method in (*EMPTY, "initialize"):
        return asked.error(METHOD_NOT_FOUND, f"Method not found: {asked.method}")
    if asked.method in EMPTY:
        return asked.result({})
    if asked.method in LISTS:
        return _list(ledger, asked)
    return _say(asked, why)


def _list(ledger: Ledger, asked: Asked) -> bytes:
    name, member, items = LISTS[asked.method]
    ledger.told.add(name)
    ledger.has_offered = True
    return asked.result({member: items, **(CACHE if asked.is_modern else {})})


def _say(asked: Asked, why: str) -> bytes:
    """The answers that say what is wrong."""
    match asked.method:
        case "initialize":
            return _initialize(asked, why)
        case "server/discover":
            known = {"supportedVersions": [MODERN], "capabilities": _capabilities(MODERN)}
            return asked.result({**known, "instructions": _sentence(why), **CACHE})
        case "tools/call":
            return _call(asked, why)
        case "completion/complete":
            return asked.result({"completion": {"values": []}})
        case "prompts/get" | "resources/read":
            return asked.error(INTERNAL_ERROR, f"Internal error: {_sentence(why)}")
        case _:
            return asked.error(METHOD_NOT_FOUND, f"Method not found: {asked.method[:200]}")


def _initialize(asked: Asked, why: str) -> bytes:
    wanted = asked.params.get("protocolVersion")
    if not isinstance(wanted, (str, int)):
        return asked.error(
            INVALID_PARAMS, f"Invalid params: protocolVersion must be a string such as {LEGACY[-1]}"
        )
    revision = wanted if isinstance(wanted, str) and wanted in LEGACY else LEGACY[-1]
    members = {"protocolVersion": revision, "capabilities": _capabilities(revision), "serverInfo": SERVER}
    return asked.result({**members, "instructions": _sentence(why)})


def _call(asked: Asked, why: str) -> bytes:
    is_status = asked.params.get("name") == TOOL
    text = _sentence(why) if is_status else f"Error: this call was not begun. {_sentence(why)}"
    return call_result(asked.id, text, is_modern=asked.is_modern, is_error=not is_status)


def _sentence(why: str) -> str:
    return f"The tools of mcppd can't be used at the moment: {why}. They are back as soon as its daemon is."


def _capabilities(revision: str) -> dict[str, Any]:
    """What the daemon declares: a client asks once, and for what isn't declared then, never."""
    declared: dict[str, Any] = {
        "tools": {"listChanged": True},
        "prompts": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "completions": {},
        "logging": {},
    }
    if revision == LEGACY[0]:
        del declared["completions"]
    return declared


def _acknowledge(entry: Entry, message: dict[str, Any]) -> list[bytes]:
    if entry.is_acknowledged:
        return []
    entry.is_acknowledged = True
    wishes = Asked(message).params.get("notifications")
    shown = encoded(wishes if isinstance(wishes, dict) else {})
    params = b'{"_meta":{%b},"notifications":%b}' % (subscription(entry.id), shown)
    return [notification("notifications/subscriptions/acknowledged", params)]
