"""A registry of somebody else's host of this format: its entries, as far as they mean something here.

Each entry is read by itself, as our own registry would, so that what is wrong with one takes no other along.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mcppd.core.documents import Document, Position
from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.registry import KEYS, OPTIONS, Entry, Registry, parse_registry
from mcppd.core.shapes import Path, shown
from mcppd.core.yaml import read_yaml

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Listed:
    """One entry of the source.

    entry: where it leads, absolute; None if it can't be taken, for which `refusal` says the reason.
    options: what is taken over beside the path, as it is to be written in our registry.
    notes: what isn't taken over, each with its reason.
    """

    said: str  # how a person knows it: its path as it is written
    place: Fault
    entry: Entry | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    refusal: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A registry that is to be imported."""

    path: str
    listed: tuple[Listed, ...]
    notes: tuple[str, ...]  # of what stands beside its entries


def read_source(path: str, environ: Mapping[str, str]) -> Source:
    """Read a registry. Raises FaultError where it can't be read as one, and OSError."""
    with open(path, "rb") as file:
        document = read_yaml(file.read(), path)
    reading = _Reading(document, path, environ)
    listed = tuple(reading.entry(where, item) for where, item in _items(document))
    return Source(path, listed, tuple(_notes(document)))


def _items(document: Document) -> Iterator[tuple[Path, Any]]:
    """The entries, in whichever of the shapes they are listed, each with its place."""
    match document.value:
        case None | {"modules": None}:
            return
        case {"modules": list() as items}:
            yield from ((("modules", at), item) for at, item in enumerate(items))
        case {"modules": dict() as named}:
            yield from ((("modules", name), item) for name, item in named.items())
        case list() as items:
            yield from (((at,), item) for at, item in enumerate(items))
        case {"modules": other}:
            wrong = f"`modules:` must be a list (`- path: …`), not {shown(other)}"
            raise FaultError(document.fault(("modules",), wrong))
        case {**keys}:
            wrong = f"this is no registry of modules: there is no `modules:` in it, only {_words(keys)}"
            raise FaultError(document.fault((), wrong))
        case other:
            wrong = f"a registry is a mapping with `modules:`, not {shown(other)}"
            raise FaultError(document.fault((), wrong))


def _notes(document: Document) -> Iterator[str]:
    """What stands beside the entries and isn't taken over."""
    for key in document.value if isinstance(document.value, dict) else ():
        if key == "instructions":
            why = "holds for all modules of a registry: copy it into yours if you want it there"
        elif key not in KEYS:
            why = "means nothing here"
        else:
            continue
        yield str(document.fault((key,), f"`{key[:60]}:` is not taken over: it {why}"))


@dataclass(frozen=True, slots=True)
class _Reading:
    document: Document
    path: str
    environ: Mapping[str, str]

    def entry(self, where: Path, item: Any) -> Listed:
        """What an entry comes to."""
        place = self.document.fault(where, "listed here", at_value=True)
        found = {"path": item} if isinstance(item, str) else item
        if not isinstance(found, dict):
            return Listed(
                shown(item), place, refusal=f"an entry is a mapping with `path:`, not {shown(item)}"
            )
        written = found.get("path")
        said = str(written) if written is not None else _name_of(where)
        if found.get("server") is not None:
            return Listed(
                said, place, refusal="it is another MCP server (`server:`), which isn't served here yet"
            )
        unset = sorted(set(_VARIABLE.findall(str(written))) - set(self.environ))
        if unset:
            return Listed(said, place, refusal=f"{_words(unset)} isn't set here: set it, and import again")
        entry, faults = self._parsed(where, {"path": written})
        if entry is None:
            return Listed(said, place, refusal=faults[0].message if faults else "it has no `path:`")
        options, notes = self._options(where, self._with_common(found))
        return Listed(said, place, entry, options, tuple(notes))

    def _options(self, where: Path, found: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """The options that mean something here, and what is to be said of the others."""
        options: dict[str, Any] = {}
        notes = []
        for key, value in found.items():
            if key == "path" or value is None:
                continue
            if key not in OPTIONS:
                notes.append(f"its key `{key[:60]}:` means nothing here, and is not taken over")
                continue
            if key == "env" and isinstance(value, dict):
                variables, said = self._variables(where, found["path"], value)
                notes += said
                options |= {"env": variables} if variables else {}
                continue
            entry, faults = self._parsed(where, {"path": found["path"], key: value})
            if faults or entry is None:
                why = faults[0].message if faults else "it can't be read"
                notes.append(f"its `{key}:` is not taken over: {why}")
            else:
                options[key] = {"python": entry.python, "watch": list(entry.watch)}.get(key, value)
        return options, notes

    def _with_common(self, found: dict[str, Any]) -> dict[str, Any]:
        """An entry with what holds for all of them there, since what stands at the top of ours holds for others too."""
        top = self.document.value if isinstance(self.document.value, dict) else {}
        merged = dict(found)
        env, own_env = top.get("env"), found.get("env") or {}
        if isinstance(env, dict) and isinstance(own_env, dict):
            merged["env"] = {**env, **own_env}
        names, own_names = top.get("pass_env"), found.get("pass_env") or []
        if isinstance(names, list) and isinstance(own_names, list):
            merged["pass_env"] = [*dict.fromkeys(map(str, [*names, *own_names]))]
        return merged

    def _variables(self, where: Path, path: Any, env: Mapping[Any, Any]) -> tuple[dict[str, str], list[str]]:
        """The variables that can be taken over, numbers and booleans as text, and what is to be said of the others."""
        found: dict[str, str] = {}
        notes = []
        for name, value in env.items():
            text = value
            if isinstance(value, bool | int | float):
                text = json.dumps(value)
                notes.append(f"its variable {name} is {text}, taken over as the text {text!r}")
            _, faults = self._parsed(where, {"path": path, "env": {name: text}})
            if faults:
                notes.append(f"its variable {shown(name)} is not taken over: {faults[0].message}")
            else:
                found[name] = text
        return found, notes

    def _parsed(self, where: Path, mapping: dict[str, Any]) -> tuple[Entry | None, tuple[Fault, ...]]:
        """An entry as our registry reads it; relative to MCPP_BASE_DIR where only that leads anywhere."""
        read = self._parsed_in(os.path.dirname(self.path), where, mapping)
        base = self.environ.get("MCPP_BASE_DIR")
        if base and read.entries and not read.entries[0].is_glob and not os.path.isdir(read.entries[0].path):
            other = self._parsed_in(os.path.abspath(base), where, mapping)
            if other.entries and os.path.isdir(other.entries[0].path):
                read = other
        return (read.entries[0] if read.entries else None), read.faults

    def _parsed_in(self, directory: str, where: Path, mapping: dict[str, Any]) -> Registry:
        position = self.document.positions
        for step in where:
            position = position.members[step]
        modules = Position(position.line, position.column, None, {0: position})
        alone = Document(
            {"modules": [mapping]},
            self.document.file,
            Position(1, 1, None, {"modules": modules}),
            self.document.lines,
        )
        home = os.path.expanduser("~")
        return parse_registry(alone, directory=directory, environ=self.environ, home=home)


def _name_of(where: Path) -> str:
    """How an entry without a path is called."""
    last = where[-1]
    return last if isinstance(last, str) else f"entry {last + 1}"


def _words(names: Any) -> str:
    return ", ".join(f"`{str(name)[:60]}`" for name in names)
