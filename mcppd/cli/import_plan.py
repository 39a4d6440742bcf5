"""What an import comes to: for each module of the source whether it is new here, there already, or can't be taken.

Nothing is written here, and no code of a module is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from mcppd.bundled import registry_path
from mcppd.cli.answers import counted
from mcppd.cli.errors import CommandError
from mcppd.cli.findings import check_module
from mcppd.cli.import_needs import needs_of
from mcppd.cli.import_source import Listed, Source
from mcppd.cli.import_text import entry_lines
from mcppd.cli.invocation import again
from mcppd.cli.registries import RegistryFile
from mcppd.core.catalog import build_catalog, make_offer
from mcppd.core.items import WORDS
from mcppd.core.kinds import KINDS
from mcppd.core.modules import Module
from mcppd.core.registry import Entry
from mcppd.reloading.loaded import MANIFEST, Loaded, Look, Scan
from mcppd.reloading.loader import Loader
from mcppd.reloading.slots import module_of
from mcppd.reloading.sources import load
from mcppd.reloading.walks import Allowance, TooMuchError, matches

Fate: TypeAlias = Literal["new", "there", "ignored", "refused"]


@dataclass(slots=True)
class Row:
    """One module of the source, or an entry that leads to none."""

    fate: Fate
    name: str
    directory: str = ""
    offers: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Plan:
    """What is to be said of each module, and the lines that our registry gets."""

    rows: list[Row] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    absent: set[str] = field(
        default_factory=set
    )  # packages that new modules import, and this Python doesn't have

    def count(self, fate: Fate) -> int:
        """How many modules have this fate."""
        return sum(row.fate == fate for row in self.rows)


def plan_import(source: Source, registry: RegistryFile, environ: Mapping[str, str]) -> Plan:
    """What to do about each entry of the source. Raises CommandError where our own registry can't be read."""
    planning = _Planning(registry, _served(registry, environ))
    for listed in source.listed:
        planning.take(listed)
    planning.name_tools()
    return planning.plan


def _served(registry: RegistryFile, environ: Mapping[str, str]) -> Scan:
    """What our registry serves, or would serve as soon as it is there."""
    scan = Loader(str(registry_path()) if registry.is_new else registry.path, environ).scan(Scan(), Look())
    if scan.fault is not None:
        wrong = f"repair the registry first: `{again('check')}` looks it over"
        raise CommandError(str(scan.fault), wrong, status=1)
    return scan


class _Planning:
    """The plan as it grows, with what is known of our registry."""

    def __init__(self, registry: RegistryFile, served: Scan) -> None:
        self.plan = Plan()
        self._entries = registry.entries(registry.text)
        self._modules = [_module(loaded) for loaded in served.modules]
        self._places = {module.name: module.directory for module in reversed(self._modules)}
        self._known = {os.path.realpath(module.directory) for module in self._modules}
        self._new: dict[str, Row] = {}
        self._told: set[str] = set()  # directories that have a row: a source may list one twice

    def take(self, listed: Listed) -> None:
        """Decide about an entry of the source."""
        entry = listed.entry
        if entry is not None and not entry.is_glob and os.path.basename(entry.path).startswith("_"):
            why = "it is ignored, there and here: its name begins with _"
            self.plan.rows.append(Row("ignored", os.path.basename(entry.path), notes=[why]))
            return
        if entry is None:
            self._refuse(listed, listed.said, listed.refusal)
            return
        try:
            directories = _directories(entry)
        except TooMuchError:
            self._refuse(
                listed,
                listed.said,
                "it names more than can be looked through: name the directories themselves",
            )
            return
        if not directories:
            self._refuse(listed, listed.said, f"no directory with a {MANIFEST} is there now")
            return
        directories = [each for each in directories if each not in self._told]
        self._told.update(directories)
        known = [directory for directory in directories if self._is_there(directory)]
        found = {
            directory: self._loaded(entry, directory) for directory in directories if directory not in known
        }
        wrong = {
            directory: why for directory, each in found.items() if isinstance(each, str) for why in [each]
        }
        good = [each for each in found.values() if not isinstance(each, str)]
        for directory in known:
            self._say_there(directory)
        for directory, why in wrong.items():
            self._refuse(listed, os.path.basename(directory), why)
        if good:
            self._add(listed, entry, good, is_whole=not wrong)

    def name_tools(self) -> None:
        """Say which tools of new modules are listed by other names than their authors'."""
        for tool in build_catalog(self._modules).tools:
            row = self._new.get(tool.module.directory)
            if row is not None and tool.name != tool.own_name:
                why = "the name is taken" if tool.is_shadowed else "clients don't take that name"
                row.notes.append(f"its tool {tool.own_name!r} is listed as {tool.name}: {why}")

    def _is_there(self, directory: str) -> bool:
        return os.path.realpath(directory) in self._known or self._switched_off(directory) is not None

    def _switched_off(self, directory: str) -> Entry | None:
        """The entry by which our registry leaves a directory out."""
        real = os.path.realpath(directory)
        named = (each for each in self._entries if not each.is_glob and not each.enabled)
        return next((each for each in named if os.path.realpath(each.path) == real), None)

    def _loaded(self, entry: Entry, directory: str) -> Loaded | str:
        """A module that can be taken, or why it can't."""
        if not os.path.isdir(directory):
            return f"there is no directory {directory}"
        if not os.path.exists(os.path.join(directory, MANIFEST)):
            return f"there is no {MANIFEST} in {directory}, so it is no module"
        loaded = load(directory, replace(entry, path=directory, is_glob=False), None, Look())
        taken = self._places.get(loaded.name)
        if loaded.manifest is not None and taken is not None:
            return (
                f"another module {loaded.name!r} is served, {taken}: give one of them another name, or leave the other "
                "one out by an entry with its path and `enabled: false`; then import again"
            )
        return loaded

    def _add(self, listed: Listed, entry: Entry, modules: list[Loaded], *, is_whole: bool) -> None:
        """Take modules into the plan: by the source's glob if all that it names are taken, else one by one."""
        options = _options(listed, modules)
        parts = (
            [entry] if is_whole else [replace(entry, path=each.directory, is_glob=False) for each in modules]
        )
        for part in parts:
            self.plan.lines += entry_lines(part, options)
        for loaded in modules:
            module = _module(loaded)
            row = Row("new", module.name, module.directory, _offers(module))
            row.notes += [*listed.notes, *_notes(listed, options, loaded)]
            if "python" not in options:
                self.plan.absent.update(needs_of(loaded.directory, loaded.files).absent)
            self.plan.rows.append(row)
            self._new[module.directory] = row
            self._modules.append(module)
            self._places.setdefault(module.name, module.directory)
            self._known.add(os.path.realpath(module.directory))

    def _say_there(self, directory: str) -> None:
        real = os.path.realpath(directory)
        names = (each.name for each in self._modules if os.path.realpath(each.directory) == real)
        off = self._switched_off(directory)
        why = f"switched off there: {off.place.place}" if off is not None else ""
        name = next(names, os.path.basename(directory))
        self.plan.rows.append(Row("there", name, directory, notes=[why] if why else []))

    def _refuse(self, listed: Listed, name: str, why: str) -> None:
        self.plan.rows.append(Row("refused", name, notes=[f"{listed.place.place}: {why}"]))


def _directories(entry: Entry) -> list[str]:
    """The directories that an entry leads to, there or not; of a glob those of modules, templates aside.

    Raises TooMuchError.
    """
    if not entry.is_glob:
        return [entry.path]
    found = sorted(path.rstrip("/") for path in matches(entry.path, Allowance(), lambda _: None))
    modules = (path for path in found if os.path.exists(os.path.join(path, MANIFEST)))
    return [path for path in modules if not os.path.basename(path).startswith("_")]


def _module(loaded: Loaded) -> Module:
    tools = loaded.manifest.tools if loaded.manifest is not None else ()
    offers = tuple(make_offer(tool.name, tool.definition, fault=tool.fault) for tool in tools)
    return module_of(loaded, None, offers)


def _offers(module: Module) -> str:
    """How much of each kind it has: "2 tools, 1 prompt"."""
    counts = {kind: sum(item.kind == kind for item in module.items) for kind in KINDS}
    counts["tools"] = len(module.offers)
    return ", ".join(counted(count, WORDS[kind]) for kind, count in counts.items() if count) or "no tools"


def _options(listed: Listed, modules: list[Loaded]) -> dict[str, Any]:
    """The options of the new entry: those of the source, one worker, and the variables that the code reads."""
    options = {"workers": 1, **listed.options}
    given = {*options.get("env", ()), *options.get("pass_env", ())}
    read = {name for each in modules for name in needs_of(each.directory, each.files).variables} - given
    if read:
        options["pass_env"] = [*options.get("pass_env", ()), *sorted(read)]
    return options


def _notes(listed: Listed, options: Mapping[str, Any], loaded: Loaded) -> Iterator[str]:
    """What a person should know about one module."""
    if options.get("enabled") is False:
        yield "it is switched off (`enabled: false`), as it was there"
    needs = needs_of(loaded.directory, loaded.files)
    read = [name for name in needs.variables if name not in listed.options.get("env", ())]
    if read:
        yield f"its code reads {_and(read)}, so calls get that from the agent's environment (`pass_env:`)"
    if needs.absent and "python" not in options:
        yield f"it imports {_and(needs.absent)}, which isn't installed here"
    checked = check_module(loaded.directory)
    errors = [finding.fault for finding in checked.in_order() if finding.is_error]
    if errors:
        yield f"{counted(len(errors), 'error')}: {errors[0]}"
        if len(errors) > 1:
            yield f"all of them: {again('check')} {loaded.directory}"


def _and(names: Any) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
