"""JSON-RPC 2.0: lines into messages, answers into lines. Knows nothing of MCP.

Decoding never raises, whatever the bytes; what is no message is an `Invalid`, with its id where it has one.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from math import isfinite
from typing import Any, Final, NoReturn, TypeAlias

import orjson

from mcppd.core.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR
from mcppd.core.values import value

Id: TypeAlias = str | int

_BOM: Final = b"\xef\xbb\xbf"
_AS_ZEROS: Final = bytes.maketrans(b"0123456789", b"0000000000")
_MANY_DIGITS: Final = b"0" * 19
"""So many digits in a row may be an integer beyond 64 bits, which orjson silently reads as a float."""

MAX_BATCH: Final = 1000
"""Messages of a batch: as many as a connection may have open; a line holds 30 million, and nobody else is served
while they are read."""

_MAX_TOKENS: Final = 100_000
"""Tokens of an unreadable line that are searched for its id: some 20 ms at most."""

MAX_VALUES: Final = 1_000_000
"""Strings, commas and brackets of a message: 60 MB of `{},` would be twenty million objects, 3 s and 2 GB of them."""

_ALWAYS_FEW: Final = MAX_VALUES
"""Bytes that can't hold more than that."""

_STRING: Final = r'"(?:[^"\\]++|\\.)*+"'
_TOKEN: Final = re.compile(rf"{_STRING}?|[\[\]{{}}]", re.DOTALL)
"""A string may lack its end: where none was found, each quote in it would be tried again, up to the end of the line."""
_PART: Final = re.compile(rf"{_STRING}?|[\[{{,]".encode(), re.DOTALL)
_ID_VALUE: Final = re.compile(rf"\s*:\s*({_STRING}|-?[0-9]{{1,4000}}(?![0-9.eE]))", re.DOTALL)


@value
class Request:
    """Asks for an answer; `params` is empty where there were none."""

    id: Id
    method: str
    params: dict[str, Any]


@value
class Notification:
    """Is never answered; so params that aren't an object count as none."""

    method: str
    params: dict[str, Any]


@value
class Response:
    """The peer's answer to a request of ours; `id` is None where it names nothing that could be ours."""

    id: Id | None
    result: Any
    error: Any


@value
class Invalid:
    """Something that has to be answered with an error."""

    id: Id | None
    code: int
    message: str


Message: TypeAlias = Request | Notification | Response | Invalid


def decode(line: bytes) -> Message | tuple[Message, ...] | None:
    """The message of a line, a tuple of them for a batch, None for a line without any."""
    line = line.removeprefix(_BOM)
    if not line or line.isspace():
        return None
    value = _load(line)
    if isinstance(value, list):
        if len(value) > MAX_BATCH:
            text = f"Invalid request: a batch may have {MAX_BATCH} messages at most; send them in several"
            return Invalid(None, INVALID_REQUEST, text)
        return tuple(_message(item) for item in value)
    return _message(value)


def _load(line: bytes) -> Any:
    """The JSON value of a line, or the Invalid that says why there is none."""
    if len(line) > _ALWAYS_FEW and _has_too_many(line):
        text = f"Parse error: a message may have {MAX_VALUES} values at most; send more of them as text, or as a file"
        return Invalid(_find_id(line.decode(errors="replace")), PARSE_ERROR, text)
    if _MANY_DIGITS not in line.translate(_AS_ZEROS):
        try:
            return orjson.loads(line)
        except orjson.JSONDecodeError:
            pass  # lone surrogates and depth beyond 1024 are for the other decoder; it also words the error
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        return Invalid(None, PARSE_ERROR, f"Parse error: byte {error.start} is not UTF-8")
    return _load_text(text)


def _has_too_many(line: bytes) -> bool:
    """Whether a line has more than MAX_VALUES; what stands inside of strings doesn't count."""
    if sum(map(line.count, (b",", b"[", b"{"))) <= MAX_VALUES:
        return False  # no value is without one of them, but for the outermost
    return next(islice(_PART.finditer(line), MAX_VALUES, None), None) is not None


def _load_text(text: str) -> Any:
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_no_constant)
    except RecursionError:
        return Invalid(_find_id(text), PARSE_ERROR, "Parse error: nested too deep; send a flatter value")
    except json.JSONDecodeError as error:
        return Invalid(None, PARSE_ERROR, f"Parse error: {error}")
    except ValueError:  # a float beyond a double, an integer beyond what `int` converts
        return Invalid(_find_id(text), PARSE_ERROR, "Parse error: a number is too large; send it as a string")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError(digits)
    return number


def _no_constant(name: str) -> NoReturn:
    raise json.JSONDecodeError(f"{name} is not JSON", name, 0)


def _find_id(text: str) -> Id | None:
    """The id of a request in a text that no decoder takes: members of the outermost object are looked at."""
    depth = 0
    for token in islice(_TOKEN.finditer(text), _MAX_TOKENS):
        match token[0]:
            case "{" | "[":
                depth += 1
            case "}" | "]":
                depth -= 1
            case '"id"' if depth == 1 and (value := _ID_VALUE.match(text, token.end())):
                return _id_value(value[1])
    return None


def _id_value(text: str) -> Id | None:
    try:
        value: Id = json.loads(text)
    except ValueError:
        return None
    return value


def _message(value: Any) -> Message:
    """What kind of message a decoded value is."""
    if not isinstance(value, dict):
        if isinstance(value, Invalid):
            return value
        return Invalid(None, INVALID_REQUEST, "Invalid request: a message must be a JSON object")
    if "method" not in value and ("result" in value or "error" in value):
        ident = value.get("id")
        return Response(ident if is_id(ident) else None, value.get("result"), value.get("error"))
    return _request(value) if "id" in value else _notification(value)


def _request(value: dict[str, Any]) -> Message:
    ident, method, params = value["id"], value.get("method"), value.get("params")
    if not is_id(ident):
        return Invalid(None, INVALID_REQUEST, "Invalid request: id must be a string or an integer")
    if value.get("jsonrpc") != "2.0":
        return Invalid(ident, INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0"')
    if not isinstance(method, str):
        return Invalid(ident, INVALID_REQUEST, "Invalid request: method must be a string")
    if isinstance(params, dict):
        return Request(ident, method, params)
    if params is None:  # null isn't JSON-RPC, but clients send it and it can mean one thing only
        return Request(ident, method, {})
    # JSON-RPC has arrays of params, MCP hasn't; nothing else is a request at all
    code = INVALID_PARAMS if isinstance(params, list) else INVALID_REQUEST
    return Invalid(ident, code, "Invalid params: params must be a JSON object")


def _notification(value: dict[str, Any]) -> Message:
    method, params = value.get("method"), value.get("params")
    if value.get("jsonrpc") != "2.0":
        return Invalid(None, INVALID_REQUEST, 'Invalid request: jsonrpc must be "2.0"')
    if not isinstance(method, str):
        return Invalid(None, INVALID_REQUEST, "Invalid request: method must be a string")
    return Notification(method, params if isinstance(params, dict) else {})


def is_id(value: Any) -> bool:
    """Whether a value can be an id or a progress token: a string or an integer, and nothing else."""
    return type(value) is str or type(value) is int


def encode_result(ident: Id, result: bytes) -> bytes:
    """The answer to a request, of a result already encoded."""
    return b"".join(result_parts(ident, result))


def result_parts(ident: Id, *result: bytes, end: bytes = b"") -> list[bytes]:
    """The same in parts, so that a large one need not be copied; like every answer it begins with the id (D10).

    The result may come in parts itself, and `end` follows all.
    """
    return [b'{"jsonrpc":"2.0","id":', encode_id(ident), b',"result":', *result, b"}" + end]


def encode_error(ident: Id | None, code: int, message: str, data: Any = None) -> bytes:
    """The error that answers a request; without an id where none could be read."""
    error = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    shown = b"null" if ident is None else encode_id(ident)
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (shown, encode_value(error))


def encode_request(ident: Id, method: str, params: bytes | None = None) -> bytes:
    """A request of ours, of params already encoded."""
    rest = b"}" if params is None else b',"params":%b}' % params
    return b'{"jsonrpc":"2.0","id":%b,"method":%b' % (encode_id(ident), encode_value(method)) + rest


def encode_notification(method: str, params: bytes | None = None) -> bytes:
    """A notification, of params already encoded."""
    if params is None:
        return b'{"jsonrpc":"2.0","method":%b}' % encode_value(method)
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}' % (encode_value(method), params)


def encode_id(value: Id) -> bytes:
    """An id or a token of the peer's, exactly as it came: big integers whole, lone surrogates escaped."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value).encode()


def encode_value(value: Any) -> bytes:
    """Any JSON value as one line. Lone surrogates become "?", numbers that JSON hasn't become null.

    Raises RecursionError beyond some 900 levels (orjson alone stops at 254), TypeError for what isn't JSON.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        text = json.dumps(_without_nan(value), ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value
