"""The catalog: the immutable snapshot of everything that is served, and how names lead to it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from mcppd.core import names
from mcppd.core.eras import advertise_tool
from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.jsonrpc import encode_value
from mcppd.core.portable import portable as portable_schema
from mcppd.core.portable import portable_output
from mcppd.core.schemas import is_plain

HELP: Final = "help"
CALL_TOOL: Final = "call_tool"
RESERVED: Final = frozenset({HELP, CALL_TOOL})
"""Names of built-in tools; a module's tool of such a name is listed under its full name."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a module is run: the registry's options over the manifest's."""

    timeout: float | None = None  # seconds; 0 = no limit, None = whatever holds elsewhere
    workers: int = 4
    overlap: bool = True
    python: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    fail_when_broken: bool = False
    stateful: bool = False  # `workers: 1` was said: that worker is only replaced by a reload


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as a module offers it, before names are settled between modules."""

    name: str
    definition: Mapping[str, Any]  # as the author wrote it
    shown: Mapping[str, Any]  # as clients get it, but for the name
    digest: str  # of `shown`
    fault: Fault | None = None  # quarantined: not listed, a call says why
    plain_input: bool = False  # whether validating can't take long (D1)
    plain_output: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Module:
    """A module as it is served now; compared by identity."""

    name: str
    directory: str
    about: str = ""
    scope: str = "local"
    settings: Settings = field(default_factory=Settings)
    generation: Generation | None = None  # None: nothing good yet, calls say what is wrong
    offers: tuple[Offer, ...] = ()
    fault: Fault | None = None  # why the newest save isn't what is served
    since: str = ""  # when that began, as local time
    faults: tuple[Fault, ...] = ()  # of single tools
    warnings: tuple[Fault, ...] = ()

    @property
    def state(self) -> str:
        """ok, broken (the last good version answers) or failed (nothing can answer)."""
        if self.fault is None:
            return "ok"
        return "broken" if self.generation is not None and not self.settings.fail_when_broken else "failed"

    @property
    def number(self) -> int | None:
        """The number of the generation that is served, if there is one."""
        return self.generation.number if self.generation is not None else None

    @property
    def notice(self) -> str | None:
        """What every answer says while a broken save lies on the disk (D7)."""
        if self.state != "broken":
            return None
        return (
            f"Notice: this answer comes from the last good version of module {self.name!r}; "
            f"what is saved does not load (since {self.since}): {self.fault}"
        )

    @property
    def all_warnings(self) -> list[str]:
        """What is not as it should be, but doesn't keep the module from being served."""
        of_import = self.generation.warning if self.generation is not None else None
        return [*map(str, self.warnings), *([f"initialize() failed: {of_import}"] if of_import else [])]


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool that can be called; compared by identity."""

    name: str  # as it is listed
    full_name: str  # `<module>__<tool>`, always callable
    own_name: str  # the author's, what `execute` gets
    module: Module
    offer: Offer

    @property
    def input_schema(self) -> Any:
        """What the author wrote; arguments are validated against this."""
        return self.offer.definition.get("inputSchema")

    @property
    def output_schema(self) -> Any:
        """The author's `outputSchema`, None if there is none."""
        return self.offer.definition.get("outputSchema")

    @property
    def advertised(self) -> dict[str, Any]:
        """The definition as clients get it, under its wire name."""
        return {**self.offer.shown, "name": self.name}

    @property
    def appearance(self) -> tuple[str, str]:
        """Equal for two tools that look the same to clients."""
        return self.name, self.offer.digest

    @property
    def is_shadowed(self) -> bool:
        """Whether the plain name belongs to another tool."""
        return self.name == self.full_name and self.name != names.wire_name(self.own_name)


@dataclass(slots=True, eq=False)
class Catalog:
    """Everything served at one moment. Made by `build_catalog`, never changed; only its encodings are kept."""

    modules: tuple[Module, ...]
    tools: tuple[Tool, ...]  # in order of listed name; quarantined ones too
    warnings: tuple[Fault, ...] = ()
    removed: Mapping[str, str] = field(default_factory=dict)  # name -> when a reload took it away
    _by_name: dict[str, Tool] = field(default_factory=dict)
    _encoded: dict[tuple[str, int], list[tuple[str, bytes]]] = field(default_factory=dict)
    _fingerprint: str = ""

    def find(self, name: str) -> Tool | None:
        """The tool of a listed, full or author's name."""
        return self._by_name.get(name)

    def module(self, name: str) -> Module | None:
        """The module of a name."""
        return next((module for module in self.modules if module.name == name), None)

    @property
    def listed(self) -> Iterable[Tool]:
        """The tools that lists show."""
        return (tool for tool in self.tools if tool.offer.fault is None)

    def nearest(self, name: str) -> list[str]:
        """Names close to one that isn't there."""
        return names.nearest(name, [*(tool.name for tool in self.listed), *RESERVED])

    def encoded(self, revision: str, builtin: Sequence[Mapping[str, Any]]) -> list[tuple[str, bytes]]:
        """(name, JSON) of every listed tool for a revision, in order of name; encoded once for each catalog.

        `builtin` are the tools of ours that are shown; as many of them are always the same ones.
        """
        key = (revision, len(builtin))
        if key not in self._encoded:
            definitions = {tool.name: tool.advertised for tool in self.listed}
            definitions.update({each["name"]: dict(each) for each in builtin})
            self._encoded[key] = [
                (name, encode_value(advertise_tool(definitions[name], revision)))
                for name in sorted(definitions)
            ]
        return self._encoded[key]

    @property
    def fingerprint(self) -> str:
        """A hash of everything that lists show; a notification is due when it changes (D8)."""
        if not self._fingerprint:
            shown = [tool.appearance for tool in self.listed]
            self._fingerprint = hashlib.sha256(orjson.dumps(shown)).hexdigest()
        return self._fingerprint


def make_offer(
    name: str, definition: Mapping[str, Any], *, portable: bool = True, fault: Fault | None = None
) -> Offer:
    """A tool on offer; what costs time is worked out here, once for each version of a manifest.

    `portable`: whether the advertised schema is made one that no client refuses (D15).
    """
    shown = dict(definition)
    if portable and fault is None:
        shown["inputSchema"] = portable_schema(definition.get("inputSchema"))
        output = portable_output(definition.get("outputSchema"))
        if output is not None:  # else its root is no object, which only modern clients take, and as it is
            shown["outputSchema"] = output
    return Offer(
        name,
        definition,
        shown,
        hashlib.sha256(encode_value(shown)).hexdigest(),
        fault,
        plain_input=fault is None and is_plain(definition.get("inputSchema")),
        plain_output=fault is None and is_plain(definition.get("outputSchema")),
    )


def build_catalog(modules: Sequence[Module], warnings: Sequence[Fault] = ()) -> Catalog:
    """Settle the names between modules, in registry order: the first keeps the plain name (D16)."""
    plain: dict[str, Tool] = {}
    for module in modules:
        for offer in module.offers:
            tool = _tool(module, offer, plain)
            plain[tool.name] = tool
    tools = tuple(sorted(plain.values(), key=lambda tool: tool.name))
    last_to_first = list(reversed(plain.values()))  # where names meet, the first in registry order has it
    by_name = {tool.own_name: tool for tool in last_to_first if tool.own_name not in RESERVED}
    by_name |= {tool.full_name: tool for tool in last_to_first} | {tool.name: tool for tool in tools}
    return Catalog(tuple(modules), tools, tuple(warnings), _by_name=by_name)


def _tool(module: Module, offer: Offer, taken: Mapping[str, Tool]) -> Tool:
    full = names.full_name(module.name, offer.name)
    name = names.wire_name(offer.name)
    if offer.fault is not None or name in RESERVED or name in taken:
        name = full
    if name in taken:  # somebody's plain name looks like this full name
        name = names.wire_name(f"{full} of {module.name}")
    return Tool(name, full, offer.name, module, offer)
