"""A cheap look at one line: which request, notification or answer it is. Values are skipped, not parsed.

All members of a JSON-RPC message but one (`params`, `result` or `error`) are short texts and numbers, and SDKs write
them before that one, behind it, or both. So the line is read from its front and from its end up to the large member,
whatever the size of that. What is written otherwise is left to `json`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final, TypeAlias

    Message: TypeAlias = tuple[bytes, bytes]
    """The JSON text of an id that can be one (a string, an integer), and the method; either may be empty.

    A request has both, a notification no id, an answer no method.
    """

ANSWER: Final = b'{"jsonrpc":"2.0","id":'
"""How every answer and every request of the daemon's begins (D10); most clients begin their requests so too."""
NOTICE: Final = b'{"jsonrpc":"2.0","method":"'
"""How every notification of the daemon's begins."""
FRONTS: Final = ((ANSWER, b',"method":"'), (b'{"jsonrpc": "2.0", "id": ', b', "method": "'))
"""What most clients write before a request's id and behind it: compact, and as Python writes it by itself."""
METHOD: Final = b'{"method":"'
PARAMS: Final = b',"params":{'
ID: Final = b'},"jsonrpc":"2.0","id":'
"""How the TypeScript SDK and those after it go on from that: the method first, the id last."""
LAST_BYTES: Final = 64
"""Of a line: such an id stands in them."""
BOM: Final = b"\xef\xbb\xbf"
SPACE: Final = b" \t\r\n"
ANSWERS: Final = (b'"result"', b'"error"')
"""The large members of a message that has no other, and no method."""
# The characters of numbers, true, false and null.
WORD: Final = b"+-.0123456789Eaeflnrstu"
# More than mostly stand together.
WORD_BYTES: Final = 16
# Of a name, an id or a method: beyond it `json` has to know, which takes long texts faster than a walk does.
LONGEST: Final = 65536


UNKNOWN: Final = (b"", b"")


def look(line: bytes) -> Message | list[Message]:
    """What a line of the host's is; a list for a batch. The line ends with its newline."""
    if line.startswith(METHOD):
        end = line.find(b'"', len(METHOD), LONGEST)
        method = line[len(METHOD) : end]
        _, between, last = line[-LAST_BYTES:].rpartition(ID)
        ident = last[:-2]
        is_whole = between and line.startswith(PARAMS, end + 1) and last.endswith(b"}\n")
        if is_whole and ident.isdigit() and b"\\" not in method:
            return ident, method
    for front, between in FRONTS:
        if line.startswith(front):
            at = len(front)
            end = line.find(b",", at)
            ident = line[at:end]
            if not ident.isdigit():
                end = value_end(line, at)
                ident = _id(line[at:end])
            start = end + len(between)
            method = line[start : line.find(b'"', start, start + LONGEST)]
            if end > 0 and line.startswith(between, end) and b"\\" not in method:
                return ident, method
    at = _skip(line, len(BOM) if line.startswith(BOM) else 0)
    if line[at : at + 1] == b"{":
        found = _members(line, at)
        return _parsed(line) if found is None else found
    return _parsed(line) if line[at : at + 1] == b"[" else UNKNOWN


def value_end(line: bytes, at: int) -> int:
    """Where the string, number or word that begins at `at` has ended; -1 if none does, or a very long one."""
    if line[at : at + 1] != b'"':
        end = at
        while step := len(part := line[end : end + WORD_BYTES]) - len(part.lstrip(WORD)):
            end += step
        return end if end > at else -1
    end = line.find(b'"', at + 1, at + LONGEST)
    while end > 0 and _is_escaped(line, end):
        end = line.find(b'"', end + 1, at + LONGEST)
    return end + 1 if end > 0 else -1


def value_of(line: bytes, name: bytes) -> bytes:
    """The text or number that a member of this name (`b'"requestId"'`) has, wherever it is; empty if none has."""
    at = line.find(name)
    if at < 0:
        return b""
    at = _skip(line, at + len(name))
    if line[at : at + 1] != b":":
        return b""
    at = _skip(line, at + 1)
    end = value_end(line, at)
    return line[at:end] if end > 0 else b""


def key_of(ident: bytes) -> bytes:
    """What ids are compared by: the client may escape in a string what the daemon doesn't."""
    if b"\\" not in ident:
        return ident
    import json

    try:
        text: str = json.loads(ident)
    except ValueError:
        return ident
    return b'"' + text.encode("utf-8", "surrogatepass") + b'"'


def _id(text: bytes) -> bytes:
    """The text if it can be an id: a string or an integer."""
    return text if text[:1] == b'"' or text.removeprefix(b"-").isdigit() else b""


def _is_escaped(line: bytes, quote: int) -> bool:
    at = quote
    while line[at - 1 : at] == b"\\":
        at -= 1
    return (quote - at) % 2 == 1


def _skip(line: bytes, at: int) -> int:
    while line[at : at + 1] in SPACE and at < len(line):
        at += 1
    return at


def _skip_back(line: bytes, end: int) -> int:
    while end > 0 and line[end - 1 : end] in SPACE:
        end -= 1
    return end


def _members(line: bytes, at: int) -> Message | None:
    """The message whose object begins at `at`; None if the walk can't tell."""
    found: dict[bytes, bytes] = {}
    at = _skip(line, at + 1)
    while line[at : at + 1] == b'"':
        end = value_end(line, at)
        name, at = line[at:end], _skip(line, end)
        if end < 0 or line[at : at + 1] != b":":
            return None
        at = _skip(line, at + 1)
        if line[at : at + 1] in (b"{", b"["):
            return _message(found, name) if _walk_back(line, found) else None
        end = value_end(line, at)
        if end < 0:
            return None
        found[name] = line[at:end]
        at = _skip(line, end)
        if line[at : at + 1] == b"}":
            return _message(found)
        at = _skip(line, at + 1)  # a comma, or it is not JSON, which the daemon tells
    return None


def _walk_back(line: bytes, found: dict[bytes, bytes]) -> bool:
    """Add the members behind the last object or array; whether that was possible.

    What stands before the closing brace is at the outermost level, so its quotes are no part of any text.
    """
    end = _skip_back(line, len(line))
    if line[end - 1 : end] != b"}":
        return False
    end = _skip_back(line, end - 1)
    while line[end - 1 : end] not in (b"}", b"]"):
        start = _value_start(line, end)
        colon = _skip_back(line, start)
        name_end = _skip_back(line, colon - 1)
        if start < 0 or line[colon - 1 : colon] != b":" or line[name_end - 1 : name_end] != b'"':
            return False
        name_start = _value_start(line, name_end)
        comma = _skip_back(line, name_start)
        if name_start < 0 or line[comma - 1 : comma] != b",":
            return False
        found.setdefault(line[name_start:name_end], line[start:end])
        end = _skip_back(line, comma - 1)
    return True


def _value_start(line: bytes, end: int) -> int:
    """Where the string, number or word that ends at `end` begins; -1 where only `json` can tell."""
    if line[end - 1 : end] == b'"':
        start = line.rfind(b'"', max(0, end - LONGEST), end - 1)
        return -1 if start < 1 or line[start - 1 : start] == b"\\" else start
    start = end
    while start > 0 and line[start - 1 : start] in WORD:
        start -= 1
    return start if start < end else -1


def _message(found: dict[bytes, bytes], large: bytes = b"") -> Message | None:
    """A message of its members; None if one that matters may have been missed, or is escaped.

    `large` names the first member that was skipped; without one, nothing was.
    """
    ident, method = found.get(b'"id"', b""), found.get(b'"method"', b"")
    is_request = method and (ident or method.startswith(b'"notifications/'))
    if b"\\" in method or (large and not is_request and not (ident and large in ANSWERS)):
        return None
    return _id(ident), method[1:-1] if method[:1] == b'"' else b""


def _parsed(line: bytes) -> Message | list[Message]:
    import json

    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return UNKNOWN  # the daemon says what is wrong with it
    return [_of_value(each) for each in value] if isinstance(value, list) else _of_value(value)


def _of_value(value: Any) -> Message:
    import json

    if not isinstance(value, dict):
        return UNKNOWN
    ident, method = value.get("id"), value.get("method")
    return (
        json.dumps(ident).encode() if type(ident) in (str, int) else b"",
        method.encode("utf-8", "surrogatepass") if isinstance(method, str) else b"",
    )
