"""How a request that is being served reaches its client before its answer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcppd.core.calls import Progress


@dataclass(frozen=True, slots=True)
class Callbacks:
    """What a call may say to its client and ask of it; goes into its CallContext as it is.

    `log` takes a level and the JSON of the data; what is less severe than `log_level` would not be sent, and None
    means that nothing would be. `ask` puts questions ({"kind", "said"}) and gives their answers in order; it raises
    ToolError, MissingCapabilityError, InputRequiredError.
    """

    progress: Progress | None = None
    log: Callable[[str, bytes], None] | None = None
    log_level: str | None = None
    ask: Callable[[Sequence[Mapping[str, Any]]], Awaitable[list[Any]]] | None = None
