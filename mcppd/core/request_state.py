"""The `requestState` of modern clients: the answers that a call has had so far, signed.

It passes through the client, so it counts as hostile (MCP 2026-07-28, multi round-trip requests): it is taken back
only unchanged, in time, from whom it was given to, and with the very request that it was given for.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from mcppd.core.errors import INVALID_PARAMS, ProtocolError

LIFETIME: Final = 600.0
"""Seconds from a question to its answer: as long as a legacy question waits."""

KEY_SIZE: Final = 32
"""Bytes of a key: those of a SHA-256."""


@dataclass(frozen=True, slots=True)
class Binding:
    """The request that a state belongs to."""

    method: str
    name: str  # of the tool or prompt, or a resource's URI
    arguments: str  # a digest of them
    principal: str  # who asks


def seal(binding: Binding, answers: Mapping[str, Any], key: bytes, now: float) -> str:
    """The answers by key of their question, bound to a request; `now` is the time of day, in seconds."""
    payload = {"for": asdict(binding), "until": now + LIFETIME, "answers": answers}
    body = json.dumps(payload, separators=(",", ":")).encode()
    return f"{_text(body)}.{_text(_signature(body, key))}"


def unseal(text: str, binding: Binding, key: bytes, now: float) -> dict[str, Any]:
    """The answers in a state. Raises ProtocolError unless it is ours, for this request, and in time."""
    body, _, signature = (_bytes(part) for part in text.partition("."))
    if not hmac.compare_digest(_signature(body, key), signature):
        raise _refused("it is not as it was given")
    payload: dict[str, Any] = json.loads(body)
    if payload.get("for") != asdict(binding):
        raise _refused("it was given for another request")
    if now > payload["until"]:
        raise _refused("it has expired; send the request without it")
    answers: dict[str, Any] = payload["answers"]
    return answers


def _signature(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, body, hashlib.sha256)


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode()


def _bytes(text: str) -> bytes:
    """What a text stands for; nothing where it isn't one of ours, which is signed by nobody."""
    try:
        return base64.b64decode(text.encode(), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return b""


def _refused(why: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"Invalid params: this requestState is not accepted: {why}")
