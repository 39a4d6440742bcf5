"""What the shim itself says to a host, in both eras: results, errors, and what becomes of a request that was lost.

Loaded only when it has something to say.
"""

from __future__ import annotations

import json

from .ledger import AGAIN, CALL, TIMES, Entry, Ledger
from .scan import ANSWER, NOTICE, key_of
from .version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

META: Final = "io.modelcontextprotocol/"
SERVER: Final = {"name": "mcppd", "version": VERSION}
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
PARSE_ERROR: Final = -32700
UNSUPPORTED_VERSION: Final = -32022
UNKNOWN_OUTCOME: Final = (
    "the mcppd daemon ended while this ran, so the outcome is unknown: all, a part or nothing of it may have been"
    " done. Look at what is there before you ask for it again."
)
NOT_KEPT: Final = "the mcppd daemon ended before this was begun, and it was too large to be kept: ask again."
LOST_OFTEN: Final = "the mcppd daemon ended again and again while it served this, so it isn't asked any more."


def result(ident: bytes, members: dict[str, Any], *, is_modern: bool) -> bytes:
    """The line of a result."""
    if is_modern:
        members = {"resultType": "complete", **members, "_meta": {f"{META}serverInfo": SERVER}}
    return ANSWER + ident + b',"result":' + encoded(members) + b"}\n"


def call_result(ident: bytes, text: str, *, is_modern: bool, is_error: bool) -> bytes:
    """The line of the result of a tool call."""
    members = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return result(ident, members, is_modern=is_modern)


def error(ident: bytes, code: int, message: str, data: Any = None) -> bytes:
    """The line of an error."""
    members = {"code": code, "message": message}
    if data is not None:
        members["data"] = data
    return ANSWER + ident + b',"error":' + encoded(members) + b"}\n"


def notification(method: str, params: bytes = b"") -> bytes:
    """The line of a notification, of params that are JSON text already."""
    return NOTICE + method.encode() + (b'","params":%b}\n' % params if params else b'"}\n')


def subscription(ident: bytes) -> bytes:
    """The member of `_meta` that tells which listen a notification belongs to."""
    return b'"%bsubscriptionId":%b' % (META.encode(), ident)


def encoded(value: Any) -> bytes:
    """JSON text, ASCII, on one line."""
    return json.dumps(value, separators=(",", ":")).encode()


def is_readable(line: bytes) -> bool:
    """Whether a line is JSON as the daemon takes it."""
    try:
        json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity, which Python takes


def left_undone(ledger: Ledger, entry: Entry, *, was_sent: bool) -> list[bytes]:
    """What the host gets for an entry that can't go to the next daemon as it is.

    Of a batch only some can't, such as its calls: the rest is asked again, and its answer gets theirs.
    """
    if not entry.is_batch:
        ledger.release(entry)
        return [_undone(entry.id, entry.method, entry, was_sent=was_sent)]
    again = []
    for part in json.loads(entry.line):
        method, ident = part.get("method"), encoded(part.get("id"))
        if not isinstance(method, str) or key_of(ident) not in entry.ids:
            continue  # a notification, or cancelled
        if not was_sent or (method.encode() in AGAIN and entry.losses < TIMES):
            again.append(part)
        else:
            entry.answers.append(_undone(ident, method.encode(), entry, was_sent=was_sent).rstrip())
    if again:
        ledger.replace(entry, encoded(again) + b"\n")
        return []
    ledger.release(entry)
    return [b"[" + b",".join(entry.answers) + b"]\n"]


def _undone(ident: bytes, method: bytes, entry: Entry, *, was_sent: bool) -> bytes:
    text = (LOST_OFTEN if method in AGAIN and entry.line else UNKNOWN_OUTCOME) if was_sent else NOT_KEPT
    if method == CALL:
        return call_result(ident, f"Error: {text}", is_modern=entry.is_modern, is_error=True)
    return error(ident, INTERNAL_ERROR, f"Internal error: {text}")
