"""What `mcppd check` finds: files read as the daemon's loader reads them, sources compiled, no code of a module run."""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from mcppd.cli import sources
from mcppd.cli.import_needs import absent_imports
from mcppd.core.catalog import build_catalog, make_offer
from mcppd.core.documents import Document
from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.findings import Finding, place_of
from mcppd.core.items import needs
from mcppd.core.kinds import Kind
from mcppd.core.registry import Entry
from mcppd.core.review import review_manifest, review_names, review_registry
from mcppd.core.unmatched import unmatched
from mcppd.core.yaml import read_yaml
from mcppd.reloading.loaded import ENTRY, MANIFEST, Loaded, Look, Scan
from mcppd.reloading.loader import Loader
from mcppd.reloading.slots import module_of
from mcppd.reloading.sources import load

COMPILE_LIMIT: Final = 60.0
"""Seconds for another interpreter to compile a module: the largest that is served takes ten."""


@dataclass(slots=True)
class Checked:
    """What was looked at, and what was found."""

    findings: dict[Finding, None] = field(default_factory=dict)  # each once
    modules: int = 0
    tools: int = 0
    items: Counter[Kind] = field(default_factory=Counter)
    ignored: list[str] = field(default_factory=list)  # templates

    def add(self, found: Iterable[Finding]) -> None:
        """Take findings in."""
        self.findings |= dict.fromkeys(found)

    @property
    def errors(self) -> int:
        """How many of the findings are errors."""
        return sum(finding.is_error for finding in self.findings)

    @property
    def warnings(self) -> int:
        """How many are warnings."""
        return len(self.findings) - self.errors

    def in_order(self) -> list[Finding]:
        """The findings by file and line."""
        return sorted(self.findings, key=_order)


def check_registry(path: str, environ: Mapping[str, str]) -> Checked:
    """Check a registry and every module that it serves."""
    checked = Checked()
    scan = Loader(path, environ).scan(Scan(), Look())
    if scan.registry is None:
        checked.add([Finding(True, scan.fault)] if scan.fault else [])
        return checked
    try:
        with open(path, "rb") as file:
            checked.add(review_registry(read_yaml(file.read(), path), scan.registry))
    except FaultError as error:  # saved again since the scan
        checked.add([Finding(True, error.fault)])
    checked.add(_entries(scan, checked.ignored))
    _modules(scan.modules, checked)
    checked.add(_unmatched(scan))
    return checked


def check_module(directory: str) -> Checked:
    """Check one module by itself."""
    checked = Checked()
    place = Fault("listed here", os.path.join(directory, MANIFEST))
    _modules([load(directory, Entry(directory, is_glob=False, place=place), None, Look())], checked)
    return checked


def _order(finding: Finding) -> tuple[Any, ...]:
    fault = finding.fault
    return fault.file or "", fault.line or 0, fault.column or 0, not finding.is_error, fault.message


def _entries(scan: Scan, ignored: list[str]) -> Iterator[Finding]:
    """What is wrong with where entries lead."""
    for entry in scan.registry.entries if scan.registry is not None else ():
        if not entry.enabled:
            continue
        if entry.is_glob:
            found = [path.rstrip("/") for path in glob.glob(entry.path, recursive=True)]
            ignored += [path for path in found if _is_template(path) and os.path.isdir(path)]
            if not any(os.path.exists(os.path.join(path, MANIFEST)) for path in found):
                yield _at(entry, f"no directory with a {MANIFEST} is there: {entry.path}", is_error=False)
        elif _is_template(entry.path):
            wrong = f"{entry.path} is ignored: its name begins with _, which is for templates"
            yield _at(entry, wrong, is_error=False)


def _unmatched(scan: Scan) -> Iterator[Finding]:
    """What entries say of tools that none of their modules has; nothing where one of those can't be read."""
    for entry in scan.registry.entries if scan.registry is not None else ():
        manifests = [each.manifest for each in scan.modules if each.entry.place == entry.place]
        read = [each for each in manifests if each is not None]
        if read and len(read) == len(manifests):
            names = [tool.name for each in read for tool in each.tools]
            yield from (Finding(False, fault) for fault in unmatched(entry, names))


def _is_template(path: str) -> bool:
    return os.path.basename(path).startswith("_")


def _at(entry: Entry, message: str, *, is_error: bool) -> Finding:
    return Finding(is_error, replace(entry.place, message=message))


def _modules(modules: Iterable[Loaded], checked: Checked) -> None:
    taken: dict[str, str] = {}
    served = []
    documents: dict[str, Document] = {}
    for each in modules:
        checked.modules += 1
        loaded = each
        if (of_entry := each.entry.fault) is not None:  # which would hide what is wrong with the module
            checked.add([Finding(True, of_entry)])
            loaded = load(each.directory, replace(each.entry, fault=None), None, Look())
        checked.add(_module_fault(loaded))
        checked.add(_sources(loaded))
        if loaded.manifest is None:
            continue
        document = read_yaml(loaded.files[_manifest_of(loaded)], _manifest_of(loaded))
        checked.tools += len(loaded.manifest.tools)
        checked.items.update(item.kind for item in loaded.manifest.items)
        checked.add(review_manifest(document, loaded.manifest))
        checked.add(_files(document, loaded))
        if loaded.name in taken:
            wrong = f"the name {loaded.name!r} is taken by {taken[loaded.name]}: give one of them another"
            checked.add([Finding(True, document.fault(("name",), wrong, at_value=True))])
            continue
        taken[loaded.name] = loaded.directory
        documents[loaded.directory] = document
        served.append(loaded)
    checked.add(_names(served, documents))


def _manifest_of(loaded: Loaded) -> str:
    return os.path.join(loaded.directory, MANIFEST)


def _module_fault(loaded: Loaded) -> Iterator[Finding]:
    """Why the module as a whole can't be served."""
    fault = loaded.fault
    if fault is None:
        return
    if fault.file == loaded.directory:
        fault = replace(fault, file=_manifest_of(loaded))
    if loaded.entry.is_glob or os.path.isdir(loaded.directory):
        yield Finding(True, fault)
    else:
        wrong = f"there is no directory {loaded.directory}: correct the path, or remove the entry"
        yield _at(loaded.entry, wrong, is_error=True)


def _files(document: Document, loaded: Loaded) -> Iterator[Finding]:
    """The files of resources that aren't there."""
    for item in loaded.manifest.items if loaded.manifest is not None else ():
        if item.file is not None and not os.path.isfile(os.path.join(loaded.directory, item.file)):
            where = (*place_of(document, item.kind, item.key), "file")
            wrong = (
                f"resource {item.key[:60]!r}: there is no file {item.file} in {loaded.directory}: write it"
            )
            yield Finding(False, document.fault(where, wrong, at_value=True))


def _names(modules: Iterable[Loaded], documents: Mapping[str, Document]) -> Iterator[Finding]:
    """What becomes of names when these modules are served together."""
    served = []
    for loaded in modules:
        tools = loaded.manifest.tools if loaded.manifest is not None else ()
        offers = tuple(make_offer(tool.name, tool.definition, fault=tool.fault) for tool in tools)
        served.append(module_of(loaded, None, offers))
    return review_names(build_catalog(served), documents)


def _sources(loaded: Loaded) -> Iterator[Finding]:
    """What is wrong with the module's Python, by the interpreter that is to run it."""
    paths = sorted(path for path in loaded.stamps if path.endswith(".py"))
    entry = os.path.join(loaded.directory, ENTRY)
    needed = (
        needs(loaded.manifest.tools, loaded.manifest.items) if loaded.manifest is not None else ("execute",)
    )
    python = loaded.generation(0).python
    if python is None:
        problems = sources.problems_of(paths, entry, needed)
    else:
        try:
            problems = _problems_by(python, paths, entry, needed)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            wrong = f"its sources can't be compiled by {python} ({_reason(error)}): correct `python:`"
            yield _at(loaded.entry, wrong, is_error=True)
            return
    for problem in problems:
        yield Finding(problem.pop("is_error"), Fault(**problem))
    if python is None:
        yield from _absent(loaded)


def _absent(loaded: Loaded) -> Iterator[Finding]:
    """The packages that the module's import would miss."""
    for each in absent_imports(loaded.directory, loaded.files):
        wrong = (
            f"imports {each.name}, which isn't installed for {sys.executable}: install it there, or name a virtual "
            "environment that has it (`python:` at the module's entry in tools.yaml)"
        )
        yield Finding(False, Fault(wrong, each.file, each.line, each.column))


def _problems_by(python: str, paths: list[str], entry: str, needed: Sequence[str]) -> list[sources.Problem]:
    """The same, by another interpreter."""
    done = subprocess.run(
        [python, "-I", "-S", "-X", "utf8", sources.__file__],
        input=json.dumps({"paths": paths, "entry": entry, "needs": needed}),
        capture_output=True,
        encoding="utf-8",
        timeout=COMPILE_LIMIT,
        check=True,
    )
    problems: list[sources.Problem] = json.loads(done.stdout)
    return problems


def _reason(error: Exception) -> str:
    match error:
        case OSError():
            return error.strerror or str(error)
        case subprocess.CalledProcessError():
            lines = str(error.stderr).strip().splitlines()
            return lines[-1] if lines else f"it ended with {error.returncode}"
        case subprocess.TimeoutExpired():
            return f"it took more than {COMPILE_LIMIT:g} s"
        case _:
            return "it doesn't answer as Python does"
