"""What a new daemon has to be told before anything else: whatever the host had settled with those before it.

Loaded only when a daemon follows another. The requests get ids of our own, by which the ledger knows their answers.
"""

from __future__ import annotations

import json

from .ledger import INITIALIZED_LINE, OWN, Ledger

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

KINDS: Final = {"tools": ("tools",), "prompts": ("prompts",), "resources": ("resources", "resourceTemplates")}
"""For each kind of list_changed the lists that it is about, as `mcppd/lists` names them."""


def settled(ledger: Ledger) -> list[bytes]:
    """The lines of the handshake that has been answered, of the log level and of the subscriptions."""
    lines = []
    if ledger.is_answered:
        lines.append(json.loads(ledger.handshake))
    ledger.settings = still_valid(ledger.settings)
    lines += [json.loads(line) for line in ledger.settings]
    asked = [_as_ours(message, number) for number, message in enumerate(lines, 1)]
    if ledger.is_answered and ledger.is_initialized:
        asked.insert(1, INITIALIZED_LINE)
    return asked


def with_lists(hello: bytes, lists: bytes) -> bytes:
    """A hello that says which lists the client has."""
    return hello.rstrip()[:-2] + b',"lists":' + lists + b"}}\n" if lists else hello


def known_lists(ledger: Ledger) -> bytes:
    """The hashes of the lists that the client has from a daemon: of those that it has from us there are none."""
    if not ledger.told or not ledger.lists:
        return ledger.lists
    ours = [kind for name in ledger.told for kind in KINDS[name]]
    hashes = json.loads(ledger.lists)
    return json.dumps({kind: each for kind, each in hashes.items() if kind not in ours}).encode()


def still_valid(settings: list[bytes]) -> list[bytes]:
    """The last level, and the subscriptions that weren't ended."""
    last: dict[str, bytes] = {}
    for line in settings:
        message = json.loads(line)
        params = message.get("params")
        uri = str(params.get("uri")) if isinstance(params, dict) else ""
        key = "level" if message["method"] == "logging/setLevel" else f"uri {uri}"
        last.pop(key, None)
        if message["method"] != "resources/unsubscribe":
            last[key] = line
    return list(last.values())


def _as_ours(message: dict[str, Any], number: int) -> bytes:
    message["id"] = f"{OWN[1:].decode()}{number}"
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"
