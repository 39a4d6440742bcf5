"""What a call carries besides its tool and arguments: who calls, from where, with what around it."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mcppd.core.modules import Settings
from mcppd.core.values import value

DEFAULT_TIMEOUT: Final = 30.0
"""Seconds that a call may take where nobody says otherwise (CONTRACT: MCPP_TIMEOUT_SECONDS)."""

BASE_NAMES: Final = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ")
"""The variables that every call gets from the daemon, with every XDG_* (D20)."""

OWN_NAMES: Final = ("MCPP_BASE_DIR", "MCPP_LOG_LEVEL", "MCPP_TIMEOUT_SECONDS", "MCPPD_PLAN_DB")
"""Our own variables; what an agent sets for its shim stands in the environment of its calls."""

ENVIRONMENTS_KEPT: Final = 64
"""Composed environments a session keeps; one for each module it calls, so more than one person's modules."""

SECRET_LENGTH: Final = 4
"""Characters from which on a value of `env:` or `pass_env:` is kept out of logs: "1", "no" and "de" are no secrets,
and to take them out of every text would leave nothing to read."""
HIDDEN: Final = "***"
"""What stands in a log where a secret was."""

Progress = Callable[[float, float | None, str | None], None]
Log = Callable[[str, bytes], None]
Ask = Callable[[Sequence[Mapping[str, Any]]], Awaitable[list[Any]]]


class AgentEnvironment:
    """What a session's calls get as their environment; lives and goes with the session (D20).

    It holds the agent's whole environment, so it shows nothing of itself.
    """

    __slots__ = ("_agent", "_daemon", "_limit", "_made")

    def __init__(self, daemon: Mapping[str, str], agent: Mapping[str, str]) -> None:
        self._daemon = daemon
        self._agent = agent
        limits = (parse_timeout(env.get("MCPP_TIMEOUT_SECONDS")) for env in (agent, daemon))
        self._limit = next((limit for limit in limits if limit is not None), DEFAULT_TIMEOUT)
        self._made: dict[int, tuple[Settings, dict[str, str]]] = {}

    def get(self, name: str) -> str | None:
        """The agent's value of one variable."""
        return self._agent.get(name)

    def for_module(self, settings: Settings) -> dict[str, str]:
        """The environment of a call: base, PATH of the agent, the registry's `env:`, the `pass_env:` names.

        The same object for the same settings, so that a worker that has it needn't get it again.
        """
        made = self._made.get(id(settings))
        if made is None:
            if len(self._made) >= ENVIRONMENTS_KEPT:
                self._made.clear()
            made = self._made[id(settings)] = (settings, self._compose(settings))
        return made[1]

    def time_limit(self, said: float | None) -> float | None:
        """Seconds a call may take, None for no limit.

        What the module's files say holds, else the agent's environment, else the daemon's, else 30.
        """
        return (self._limit if said is None else said) or None

    def secrets(self, settings: Settings) -> tuple[str, ...]:
        """The values that the registry's `env:` and `pass_env:` give a module; no log may have them."""
        passed = (self._agent.get(name, "") for name in settings.pass_env)
        return tuple(value for value in (*settings.env.values(), *passed) if len(value) >= SECRET_LENGTH)

    def _compose(self, settings: Settings) -> dict[str, str]:
        whole = base_environment(self._daemon)
        for name in ("PATH", *OWN_NAMES):
            if value := self._agent.get(name) or self._daemon.get(name):
                whole[name] = value
        whole.update(settings.env)
        whole.update({name: self._agent[name] for name in settings.pass_env if name in self._agent})
        return whole


@dataclass(slots=True)
class Spent:
    """How far a request has come, and where its time went, in seconds; added to as it goes."""

    waited: float = 0.0  # for a worker: in the queue, or until one was made
    has_begun: bool = False  # a worker was told to run it, so its outcome is the author's


@value
class CallContext:
    """Everything about a call that isn't its tool or its arguments."""

    session: str
    client_name: str
    client_version: str
    workspace: str
    environment: AgentEnvironment
    progress: Progress | None = None
    log: Log | None = None  # takes a level and the JSON of the data
    log_level: str | None = None  # the least severe level that the client wants; None: it wants nothing
    ask: Ask | None = None
    """Puts questions ({"kind": "elicit" | "sample" | "roots", "said": …}) to the client, all at once.

    It gives their answers in order. Raises ToolError, which is told to the author's code, and every other McppdError
    to end the call there: the pool raises it to its own caller.
    """
    capabilities: Mapping[str, Any] = field(default_factory=dict)  # the client's
    spent: Spent = field(default_factory=Spent)

    @property
    def client(self) -> dict[str, Any]:
        """The client as MCP's Implementation, with its capabilities."""
        return {
            "name": self.client_name,
            "version": self.client_version,
            "capabilities": self.capabilities,
        }


def without(secrets: Sequence[str], text: str) -> str:
    """A text for a log with these values taken out, also as JSON writes them."""
    for secret in sorted(secrets, key=len, reverse=True):  # one may be the beginning of another
        for written in (secret, json.dumps(secret, ensure_ascii=False)[1:-1], json.dumps(secret)[1:-1]):
            text = text.replace(written, HIDDEN)
    return text


def base_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The base of a call's environment, out of a daemon's or an agent's own (D20)."""
    base = {
        name: value
        for name, value in environment.items()
        if name in BASE_NAMES or name.startswith("XDG_") or name == "PATH"
    }
    if "UTF-8" not in base.get("LANG", "").upper().replace("UTF8", "UTF-8"):
        base["LANG"] = "C.UTF-8"
    return base


def parse_timeout(text: str | None) -> float | None:
    """Seconds out of MCPP_TIMEOUT_SECONDS: 0.0 for no limit, None where it says nothing usable."""
    try:
        seconds = float(text or "")
    except ValueError:
        return None
    return max(seconds, 0.0) if seconds == seconds else None  # noqa: PLR0124 - not a number compares unequal


def as_seconds(value: float) -> str:
    """A duration for people: "30 s", "0.5 s"."""
    return f"{value:g} s"
