"""A module as it is served: how it is run, what it offers, and how it is doing."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcppd.core.faults import Fault
from mcppd.core.generation import Generation
from mcppd.core.items import Item, needs
from mcppd.core.jsonrpc import encode_value
from mcppd.core.limits import ToolLimits
from mcppd.core.plain_schemas import is_plain
from mcppd.core.portable import portable as portable_schema
from mcppd.core.portable import portable_output
from mcppd.core.strikes import Condition

DEFAULT_WORKERS: Final = 4
"""Workers of a module where nobody says (D3)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a module is run: the registry's options over the manifest's.

    Of the limits, 0 is no limit, and None is whatever holds where neither file says anything.
    """

    timeout: float | None = None  # seconds of a call
    import_timeout: float | None = None  # seconds of its import
    memory: int | None = None  # bytes of a worker and all that it started
    processes: int | None = None  # that live below a worker
    output: int | None = None  # bytes of the texts of a result
    workers: int = DEFAULT_WORKERS
    queue: int | None = None  # calls that wait for a worker; here 0 lets none wait
    of_tools: Mapping[str, ToolLimits] = field(
        default_factory=dict
    )  # by the author's names; what holds for each
    overlap: bool = True
    python: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    fail_when_broken: bool = False
    stateful: bool = False  # `workers: 1` was said: that worker is only replaced by a reload

    def of_tool(self, name: str) -> ToolLimits:
        """What one tool may take, by its author's name."""
        return self.of_tools.get(name) or ToolLimits(self.timeout, self.output)


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
    items: tuple[Item, ...] = ()  # prompts, resources and templates, in the order of the manifest
    lists_resources: bool = False  # its code mentions `list_resources`: it may know more of them at run time
    fault: Fault | None = None  # why the newest save isn't what is served
    since: str = ""  # when that began, as local time
    faults: tuple[Fault, ...] = ()  # of single tools
    warnings: tuple[Fault, ...] = ()
    condition: Condition | None = None  # of its workers, at the moment that this was made to be shown

    @property
    def state(self) -> str:
        """ok, broken (the last good version answers), failed (nothing can answer), or backoff (nothing does now)."""
        if self.fault is not None and (self.generation is None or self.settings.fail_when_broken):
            return "failed"
        if self.condition is not None:
            return self.condition.state
        return "ok" if self.fault is None else "broken"

    @property
    def number(self) -> int | None:
        """The number of the generation that is served, if there is one."""
        return self.generation.number if self.generation is not None else None

    @property
    def needs(self) -> tuple[str, ...]:
        """The functions that its code must have; none where all it serves are files."""
        return needs(self.offers, self.items)

    @property
    def is_files_only(self) -> bool:
        """Whether there is no code of it, nor any need of it: all that it offers are files."""
        return (
            self.generation is not None
            and not self.needs
            and self.generation.entry not in self.generation.files
        )

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
