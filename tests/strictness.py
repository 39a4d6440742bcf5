"""The table of JSON-RPC strictness: what is sent, and the answers that are due to it, in order.

An answer is the id and the code of the error, None of a result; a list of them is a batch's. `echo` is a tool that
answers with its arguments.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

Answer = tuple[Any, int | None]

PARSE, INVALID, NO_METHOD, BAD_PARAMS = -32700, -32600, -32601, -32602
BATCHES: Final = "2025-03-26"


@dataclass(frozen=True)
class Case:
    """Lines of a client, and what they are answered with."""

    name: str
    sent: bytes  # whole lines, without the last line's end
    answers: tuple[Answer | list[Answer], ...] = ()
    in_batches: tuple[Answer | list[Answer], ...] | None = (
        None  # in the revision that has batches, if otherwise
    )


def line(**members: Any) -> bytes:
    """A message of a client's; `rpc` in place of its version."""
    rpc = members.pop("rpc", "2.0")
    return json.dumps({"jsonrpc": rpc, **members}).encode()


def request(method: str, params: Any = None, ident: Any = 7) -> bytes:
    """A request with the id 7."""
    return line(id=ident, method=method, **({} if params is None else {"params": params}))


def call(ident: Any = 7, **params: Any) -> bytes:
    """A call of `echo`."""
    return request("tools/call", {"name": "echo", **params}, ident)


def modern(method: str, version: str = "2026-07-28", **params: Any) -> bytes:
    """A modern request with the id 7."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return request(method, {**params, "_meta": meta})


PING: Final = request("ping")
FINE: Final = ((7, None),)
UNREADABLE: Final = ((None, PARSE),)
NO_REQUEST: Final = ((None, INVALID),)
NOTHING: Final = ()
DEEP: Final = b"[" * 100_000 + b"]" * 100_000


def _with(value: bytes) -> bytes:
    """A ping that carries a value as it is."""
    return b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":%b}}' % value


IDS: Final[tuple[Any, ...]] = (0, -1, "7", "", "a b")
ODD_IDS: Final[tuple[Any, ...]] = (None, 1.5, 7.0, True, {}, [7])
NOT_IN_FLIGHT: Final[tuple[Any, ...]] = (99, "7", None, 1.5, {})
NO_ARGUMENTS: Final[tuple[Any, ...]] = ([], "{}", 1)

CASES: Final = (
    # lines that are no JSON
    Case("half an object", b"{", UNREADABLE),
    Case("no JSON at all", b"nonsense", UNREADABLE),
    Case("a line that was cut", PING[:-5], UNREADABLE),
    Case("two messages in a line", PING + PING, UNREADABLE),
    Case("something after a message", PING + b" x", UNREADABLE),
    Case("Python's quotes", PING.replace(b'"', b"'"), UNREADABLE),
    Case("bytes that are no UTF-8", b"\xff\xfe", UNREADABLE),
    Case("a text that is no UTF-8", _with(b'"\xe9"'), UNREADABLE),
    Case("UTF-16", PING.decode().encode("utf-16-le"), UNREADABLE),
    Case("a control character in a text", _with(b'"\x00"'), UNREADABLE),
    Case("not a number", _with(b"NaN"), UNREADABLE),
    Case("infinity", _with(b"-Infinity"), UNREADABLE),
    # lines that are nearly none
    Case("an empty line", b"", NOTHING),
    Case("blank lines", b"\r\n \t \n\n", NOTHING),
    Case("a message between blank lines", b"\n\r\n" + PING + b"\r\n\r", FINE),
    Case("a byte order mark", b"\xef\xbb\xbf" + PING, FINE),
    Case("a byte order mark alone", b"\xef\xbb\xbf", NOTHING),
    Case("spaces around a message", b"  \t" + PING + b"  ", FINE),
    # JSON that is no message
    *(Case(f"{value} alone", value.encode(), NO_REQUEST) for value in ("1", '"x"', "null", "true", "{}")),
    Case("a version alone", line(), NO_REQUEST),
    Case("an id alone", line(id=7), ((7, INVALID),)),
    # ids
    *(Case(f"the id {ident!r}", request("ping", None, ident), ((ident, None),)) for ident in IDS),
    Case("a big id", request("ping", None, 10**30), ((10**30, None),)),
    Case("half a character as id", request("ping", None, "\ud83d"), (("\ud83d", None),)),
    *(Case(f"the id {ident!r}", request("ping", None, ident), NO_REQUEST) for ident in ODD_IDS),
    Case("an id twice in flight", call() + b"\n" + call(), ((7, INVALID), (7, None))),
    Case("an id twice, one after the other", PING + b"\n" + PING, (*FINE, *FINE)),
    Case("ids that look alike", call(7) + b"\n" + request("ping", None, "7"), (("7", None), (7, None))),
    # the version and the method
    *(
        Case(f"the version {rpc!r}", line(rpc=rpc, id=7, method="ping"), ((7, INVALID),))
        for rpc in ("1.0", 2.0, None)
    ),
    Case("no version", b'{"id":7,"method":"ping"}', ((7, INVALID),)),
    Case("a notification of no version", b'{"method":"notifications/initialized"}', NO_REQUEST),
    *(
        Case(f"the method {method!r}", line(id=7, method=method), ((7, INVALID),))
        for method in (None, 1, ["ping"])
    ),
    *(
        Case(f"the method {method[:20]!r}", request(method), ((7, NO_METHOD),))
        for method in ("", "Ping", "no/such", "rpc.discover", "\ud83d", "x" * 5000, "sampling/createMessage")
    ),
    Case("a notification with an id", request("notifications/initialized"), ((7, NO_METHOD),)),
    # params
    Case("params that are null", b'{"jsonrpc":"2.0","id":7,"method":"ping","params":null}', FINE),
    Case("params that are an array", request("ping", []), ((7, BAD_PARAMS),)),
    *(
        Case(f"params that are {params!r}", request("ping", params), ((7, INVALID),))
        for params in ("x", 1, True)
    ),
    Case("arguments that are null", call(arguments=None), FINE),
    Case("no arguments", call(), FINE),
    *(
        Case(f"arguments that are {each!r}", call(arguments=each), ((7, BAD_PARAMS),))
        for each in NO_ARGUMENTS
    ),
    *(
        Case(f"{method} of {params!r}", request(method, params), ((7, BAD_PARAMS),))
        for method, params in (
            *(("tools/call", {}), ("tools/call", {"name": 7}), ("tools/list", {"cursor": 7})),
            *(
                ("prompts/list", {"cursor": []}),
                ("prompts/get", {}),
                ("prompts/get", {"name": "p", "arguments": []}),
            ),
            *(("resources/read", {}), ("resources/read", {"uri": 7}), ("resources/list", {"cursor": {}})),
            *(("resources/templates/list", {"cursor": 1}), ("completion/complete", {})),
            *(("resources/subscribe", {}), ("resources/unsubscribe", {"uri": None})),
            *(("logging/setLevel", {}), ("logging/setLevel", {"level": "loud"}), ("initialize", {})),
            *(("tools/list", {"_meta": 1}), ("server/discover", {}), ("subscriptions/listen", {})),
        )
    ),
    # what is never answered
    Case("an unknown notification", line(method="no/such"), NOTHING),
    Case("a notification of odd params", line(method="notifications/progress", params=[1]), NOTHING),
    Case("a request's method without an id", line(method="tools/call", params={"name": "echo"}), NOTHING),
    Case("a response to nothing", line(id=99, result={}), NOTHING),
    Case("an error to nothing", line(id="mcppd:ask:1", error={"code": -1, "message": "x"}), NOTHING),
    Case("an error without an id", line(id=None, error={"code": -32700, "message": "x"}), NOTHING),
    Case("a response of an odd id", line(id=[1], result={}), NOTHING),
    *(
        Case(
            f"a cancellation of {ident!r}",
            line(method="notifications/cancelled", params={"requestId": ident}),
            NOTHING,
        )
        for ident in NOT_IN_FLIGHT
    ),
    Case("a cancellation of nothing", line(method="notifications/cancelled"), NOTHING),
    Case(
        "a cancellation in flight",
        call() + b"\n" + line(method="notifications/cancelled", params={"requestId": 7}),
        NOTHING,
    ),
    Case(
        "a cancellation after the answer",
        PING + b"\n" + line(method="notifications/cancelled", params={"requestId": 7}),
        FINE,
    ),
    # values
    Case("nesting of 500 levels", _with(b"[" * 500 + b"]" * 500), FINE),
    Case("nesting without end", _with(DEEP), ((7, PARSE),)),
    Case("brackets only", b"[" * 100_000, UNREADABLE),
    Case("an integer of 30 digits", _with(b"1" * 30), FINE),
    Case("an integer of 5000 digits", _with(b"1" * 5000), ((7, PARSE),)),
    Case("a number beyond a double", _with(b"1e400"), ((7, PARSE),)),
    Case("a number near nothing", _with(b"1e-400"), FINE),
    Case("half a character", _with(rb'"\ud83d"'), FINE),
    Case("the halves of a character the wrong way", _with(rb'"\ude00\ud83d"'), FINE),
    Case("a member twice", b'{"jsonrpc":"2.0","id":6,"id":7,"method":"no/such","method":"ping"}', FINE),
    Case("16 MiB in a text", _with(b'"' + b"x" * 2**24 + b'"'), FINE),
    # batches
    Case("an empty batch", b"[]", NO_REQUEST),
    Case("a batch", b"[" + PING + b"]", NO_REQUEST, ([(7, None)],)),
    Case(
        "a batch of all sorts",
        b"[" + b",".join((PING, line(method="no/such"), request("no/such", ident=8), b"1", b"[]")) + b"]",
        NO_REQUEST,
        ([(7, None), (8, NO_METHOD), (None, INVALID), (None, INVALID)],),
    ),
    Case("a batch that asks for nothing", b"[" + line(method="no/such") + b"]", NO_REQUEST, NOTHING),
    Case(
        "a batch with a handshake",
        b"[" + request("initialize", {"protocolVersion": "2025-11-25"}) + b"]",
        NO_REQUEST,
        ([(7, INVALID)],),
    ),
    # the other era on the same connection
    Case("a modern request", modern("tools/call", name="echo"), FINE),
    Case("a modern revision that isn't there", modern("tools/list", "2030-01-01"), ((7, -32022),)),
    Case("a revision that isn't modern", modern("tools/list", "2025-11-25"), ((7, -32022),)),
    *(
        Case(f"a modern {method}", modern(method, uri="a:b", level="info"), ((7, NO_METHOD),))
        for method in (
            "ping",
            "initialize",
            "logging/setLevel",
            "resources/subscribe",
            "resources/unsubscribe",
        )
    ),
    Case("a state that isn't ours", modern("tools/call", name="echo", requestState="x"), ((7, BAD_PARAMS),)),
    Case("a modern batch", b"[" + modern("tools/list") + b"]", NO_REQUEST, ([(7, INVALID)],)),
)
