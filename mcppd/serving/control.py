"""The control socket: requests of people (`mcppd status`, `mcppd reload` …), JSON-RPC like everything else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from mcppd.core.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, PARSE_ERROR, McppdError
from mcppd.core.framing import LineFraming, Overlong
from mcppd.core.jsonrpc import Id, Invalid, Request, decode, encode_error, encode_result, encode_value
from mcppd.transport.link import Link

logger = logging.getLogger("mcppd.control")

Methods = Mapping[str, Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]]
"""What the daemon can be asked, by the name of the request."""

Spawn = Callable[[Coroutine[Any, Any, None]], object]
"""Runs something in a task that has an owner."""


class ControlConnection:
    """One connection on the control socket."""

    def __init__(self, link: Link[bytes | Overlong], methods: Methods, spawn: Spawn) -> None:
        self._link = link
        self._methods = methods
        self._spawn = spawn

    def receive(self, frame: bytes | Overlong) -> None:
        """Take the next line."""
        message = (
            Invalid(None, PARSE_ERROR, "Parse error: the line is too long")
            if isinstance(frame, Overlong)
            else decode(frame)
        )
        match message:
            case Request(ident, method, params) if method in self._methods:
                self._spawn(self._answer(ident, self._methods[method](params)))
            case Request(ident, method):
                known = ", ".join(sorted(self._methods))
                self._send(
                    encode_error(ident, METHOD_NOT_FOUND, f"Method not found: {method}; there are {known}")
                )
            case Invalid(ident, code, text):
                self._send(encode_error(ident, code, text))
            case _:
                pass  # nothing else is a question

    def ended(self) -> None:
        """Whoever asked has gone."""
        self._link.close()

    def closed(self) -> None:
        """The link is gone."""

    async def _answer(self, ident: Id, work: Awaitable[Mapping[str, Any]]) -> None:
        try:
            self._send(encode_result(ident, encode_value(await work)))
        except asyncio.CancelledError:
            raise
        except McppdError as error:
            self._send(encode_error(ident, INTERNAL_ERROR, str(error)))
        except Exception:
            logger.exception("a control request failed")
            self._send(encode_error(ident, INTERNAL_ERROR, "Internal error: see the daemon's log"))

    def _send(self, line: bytes) -> None:
        self._link.send(line + b"\n")


def accept_control(methods: Methods, spawn: Spawn) -> Link[bytes | Overlong]:
    """A link for a new connection on the control socket."""
    link: Link[bytes | Overlong] = Link(LineFraming())
    link.attach(ControlConnection(link, methods, spawn))
    return link
