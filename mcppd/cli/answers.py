"""The daemon's answers to control requests, as values.

What a daemon of another version adds is passed over, what it lacks is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from mcppd.core.items import WORDS
from mcppd.core.kinds import KINDS, Kind
from mcppd.core.report_words import fields_words, stages_words


@dataclass(frozen=True, slots=True)
class Answer:
    """Something that is read out of a JSON object by its fields' names."""

    @classmethod
    def read(cls, value: Any) -> Self:
        """The value of a JSON object; of anything else, and of members that are null, the defaults."""
        members = value if isinstance(value, Mapping) else {}
        names = [field.name for field in fields(cls)]
        return cls(**{name: members[name] for name in names if members.get(name) is not None})


@dataclass(frozen=True, slots=True)
class Place(Answer):
    """A fault: what is wrong, and where."""

    message: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None
    source: str = ""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.file, self.line, self.column) if part)
        return f"{place}: {self.message}" if place else self.message


@dataclass(frozen=True, slots=True)
class Session(Answer):
    """A connected agent."""

    client: Any = None
    workspace: str = ""
    connected_seconds: float = 0.0
    calls: int = 0
    in_flight: int = 0

    @property
    def name(self) -> str:
        """The client's name and version, as far as it has told them."""
        client = self.client if isinstance(self.client, Mapping) else {}
        return " ".join(str(client[key]) for key in ("name", "version") if client.get(key)) or "unnamed"


@dataclass(frozen=True, slots=True)
class Module(Answer):
    """A module of the registry."""

    name: str = ""
    directory: str = ""
    state: str = ""
    generation: int | None = None
    digest: str = ""
    scope: str = ""
    tools: tuple[str, ...] = ()
    prompts: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resourceTemplates: tuple[str, ...] = ()  # noqa: N815 - read by its name
    workers: int = 0
    busy: int = 0
    waiting: int = 0
    retry_seconds: float | None = None
    fault: Any = None
    since: str = ""
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def offers(self) -> str:
        """How much of each kind it has: "2 tools, 1 prompt"."""
        counts = {kind: len(getattr(self, kind)) for kind in KINDS}
        return ", ".join(counted(count, WORDS[kind]) for kind, count in counts.items() if count) or "0 tools"

    @property
    def workforce(self) -> str:
        """Its workers and what they do: "4 workers, 4 busy, 12 calls wait"."""
        parts = [counted(self.workers, "worker")]
        parts += [f"{self.busy} busy"] if self.busy else []
        parts += [f"{counted(self.waiting, 'call')} wait{'s' * (self.waiting == 1)}"] if self.waiting else []
        parts += [f"again in {self.retry_seconds:g} s"] if self.retry_seconds else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Shadowed(Answer):
    """Something whose plain name or URI belongs to another module's."""

    kind: Kind = "tools"
    name: str = ""
    module: str = ""
    listed_as: str = ""

    def __str__(self) -> str:
        word = f"{WORDS[self.kind]} " if self.kind != "tools" else ""
        what = (
            f"is listed as {self.listed_as}"
            if self.listed_as
            else "is not served: another module comes first"
        )
        return f"{word}{self.name} of module {self.module} {what}"


@dataclass(frozen=True, slots=True)
class Watching(Answer):
    """How changes on disk are noticed."""

    mode: str = ""
    directories: int = 0
    polled: Any = None

    def reasons(self) -> dict[str, list[str]]:
        """Why directories are polled, and which those are."""
        found: dict[str, list[str]] = {}
        for path, reason in self.polled.items() if isinstance(self.polled, dict) else ():
            found.setdefault(str(reason), []).append(str(path))
        return found


@dataclass(frozen=True, slots=True)
class Status(Answer):
    """Everything that `mcppd/status` tells."""

    pid: int = 0
    version: str = ""
    registry: str = ""
    registry_fault: str = ""
    socket: str = ""
    control: str = ""
    uptime_seconds: float = 0.0
    sessions: tuple[Any, ...] = ()
    modules: tuple[Any, ...] = ()
    shadowed: tuple[Any, ...] = ()
    last_reload: Any = None
    watching: Any = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ModuleReload(Answer):
    """What a reload came to for one module."""

    name: str = ""
    old: int | None = None
    new: int | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    fault: str = ""
    old_digest: str = ""
    new_digest: str = ""
    fields: Any = None

    def words(self, *, digests: bool = False) -> str:
        """In one line: generations, then +added -removed ~changed (which fields), then what is wrong."""
        fields = self.fields if isinstance(self.fields, Mapping) else {}
        signs = (("+", self.added), ("-", self.removed), ("~", self.changed))
        names = [
            sign + name + (fields_words(fields.get(name, ())) if sign == "~" else "")
            for sign, these in signs
            for name in these
        ]
        generations = self._generations() + (self._digests() if digests else "")
        parts = [self.name, generations, *names, f"broken: {self.fault}" if self.fault else ""]
        return " ".join(filter(None, parts))

    def _generations(self) -> str:
        if self.new is None:  # nothing of it can answer
            was = "" if self.old is None else f", was generation {self.old}"
            return "" if self.fault else f"removed{was}"
        if self.old is None:
            return f"new, generation {self.new}"
        return f"generation {self.old} -> {self.new}" if self.old != self.new else f"generation {self.new}"

    def _digests(self) -> str:
        known = [each for each in dict.fromkeys((self.old_digest, self.new_digest)) if each]
        return f" ({' -> '.join(known)})" if known and self.new is not None else ""


@dataclass(frozen=True, slots=True)
class Report(Answer):
    """What a reload came to."""

    at: str = ""
    seconds: float = 0.0
    modules: tuple[Any, ...] = ()
    notified: int = 0
    stages: Any = None
    before: Any = None

    def by_module(self) -> list[ModuleReload]:
        """Module by module."""
        return [ModuleReload.read(each) for each in self.modules]

    def heading(self) -> str:
        """When, how long it took, and whom it was told."""
        took = f"{self.seconds * 1000:.0f} ms" if self.seconds < 1 else f"{self.seconds:.1f} s"
        return f"at {self.at} in {took}, {counted(self.notified, 'session')} notified"

    def stages_words(self) -> str:
        """How long each stage took; empty where the daemon doesn't tell."""
        return stages_words(self.stages) if isinstance(self.stages, Mapping) else ""


def duration(seconds: float) -> str:
    """A duration for people, in its two largest units."""
    whole = int(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    units = [(days, "d"), (hours, "h"), (minutes, "min"), (whole % 60, "s")]
    shown = [f"{count} {unit}" for count, unit in units if count]
    return " ".join(shown[:2]) or "0 s"


def counted(count: int, one: str, many: str | None = None) -> str:
    """A number of things: "1 tool", "2 tools"."""
    return f"{count} {one}" if count == 1 else f"{count} {many or one + 's'}"
