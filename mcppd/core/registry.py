"""The registry, `tools.yaml`: which modules are served and how each is run (CONTRACT.md, Registry).

One bad entry never takes the others with it (DESIGN D15). Whether a path is there isn't asked here.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, TypeAlias, TypeVar

from mcppd.core.documents import Document
from mcppd.core.errors import FaultError
from mcppd.core.faults import Fault
from mcppd.core.limits import CONVERT, LIMITS, TOOL_LIMITS, UNSAID, Limits, ToolLimits
from mcppd.core.manifest import unknown_keys
from mcppd.core.shapes import TYPE_WORDS, Path, shown

OnBroken: TypeAlias = Literal["last-good", "fail"]

KEYS: Final = ("modules", "instructions", "env", "pass_env")
_WHAT: Final = ("path", "server", "tools", "watch", "env", "pass_env")
_HOW: Final = ("enabled", *LIMITS, "overlap", "python", "on_broken")
OPTIONS: Final = (*_WHAT, *_HOW)
TOOL_OPTIONS: Final = ("allow", "deny", "limits")

_GLOB: Final = re.compile(r"[*?\[]")
_VARIABLE: Final = re.compile(r"\$\{(?:([A-Za-z_][A-Za-z0-9_]*)\}|[^}]*\}?)")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of `modules:`, every option with its value; in the file it may be a path and nothing else.

    path: the module's directory, or with `is_glob` a pattern for several; absolute and normalised, links
        kept. In a pattern the parts that are no pattern (home, the registry's directory) are escaped.
    enabled: false leaves the entry out without removing it.
    limits: what the module may take (`timeout`, `memory` … beside the other options); it goes before the manifest's.
    overlap: false ends the old version of the module before the new one is imported.
    python: an interpreter or the directory of a virtual environment, absolute; None is the daemon's own.
    env: variables that calls get, over those for all modules.
    pass_env: names of variables that calls get from the agent's environment, besides those for all modules.
    allow, deny: names or globs of tools (in the file under `tools:`); without `allow` all are served
        that `deny` doesn't name.
    of_tools: what single tools may take, by names or globs (in the file `tools: {limits: {name: {timeout: 5}}}`).
    on_broken: "last-good" lets the last good version answer after a broken save, "fail" lets calls fail.
    watch: globs of data files whose change is a reload; absolute, escaped like `path`.
    place: where the entry stands, as a Fault that only waits for a message.
    patterns: the names and globs under `tools:`, each with its place, as a Fault that only waits for a message.
    fault: what is wrong with one of the options. The entry still stands for its directory, so that nothing else
        serves it without what was meant; what it served before goes on.
    """

    path: str
    is_glob: bool
    place: Fault = field(compare=False)  # a line more above it changes no module
    enabled: bool = True
    limits: Limits = UNSAID
    overlap: bool = True
    python: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    of_tools: Mapping[str, ToolLimits] = field(default_factory=dict)
    on_broken: OnBroken = "last-good"
    watch: tuple[str, ...] = ()
    patterns: tuple[tuple[str, Fault], ...] = field(default=(), compare=False)
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Registry:
    """The modules in the order that settles names, and what holds for all of them."""

    entries: tuple[Entry, ...] = ()
    faults: tuple[Fault, ...] = ()  # entries that are left out, and single variables
    warnings: tuple[Fault, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    instructions: str = ""  # what every client is told of this server, before what the modules say


def parse_registry(document: Document, *, directory: str, environ: Mapping[str, str], home: str) -> Registry:
    """Read a registry that lies in a directory. Raises FaultError where it can't be read as one."""
    items = _modules(document)
    surroundings = _Surroundings(directory, environ, home)
    whole = _Options(document, (), document.value or {}, surroundings)
    env, pass_env = whole.variables("env"), whole.each("pass_env", _variable_name) or ()
    instructions = whole.one("instructions", _a(str)) or ""
    whole.warn_of_unknown(KEYS)
    entries: list[Entry] = []
    faults, warnings = whole.faults, [*document.warnings, *whole.warnings]
    for index, item in enumerate(items):
        mapping = {"path": item} if isinstance(item, str) else item
        options = _Options(document, ("modules", index), mapping, surroundings)
        if _is_module(options):
            entries += _entry(options)
        faults += options.faults
        warnings += options.warnings
    return Registry(tuple(entries), tuple(faults), tuple(warnings), env, pass_env, instructions)


def _modules(document: Document) -> list[Any]:
    match document.value:
        case {"modules": list() as items}:
            return items
        case {"modules": other} if other is not None:
            wrong = f"`modules:` must be a list (`- path: …`), not {shown(other)}"
            raise FaultError(document.fault(("modules",), wrong))
        case None | dict():
            return []
        case other:
            wrong = f"a registry is a mapping with `modules:`, not {shown(other)}"
            raise FaultError(document.fault((), wrong))


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What the texts of a registry are expanded with. The methods raise ValueError."""

    directory: str
    environ: Mapping[str, str]
    home: str

    def text(self, written: Any) -> str:
        """A text with `~` and variables in it replaced."""
        return self._expand(_string(written), self.home)

    def path(self, written: Any) -> str:
        """A path, absolute and normalised."""
        return _absolute(self.text(written), self.directory)

    def pattern(self, written: Any) -> str:
        """A glob, absolute and normalised; a `[` in home or in the registry's directory is only itself."""
        return _absolute(self._expand(_string(written), _escape(self.home)), _escape(self.directory))

    def module(self, written: Any) -> tuple[str, bool]:
        """A path or a glob, and whether it is a glob."""
        is_glob = bool(_GLOB.search(self._expand(_string(written), "")))
        return (self.pattern if is_glob else self.path)(written), is_glob

    def _expand(self, written: str, home: str) -> str:
        whole = _VARIABLE.sub(self._value, written)
        return home + whole[1:] if written == "~" or written.startswith("~/") else whole

    def _value(self, found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            raise ValueError(f"{found[0][:60]!r} is no variable: write ${{NAME}}")
        if name not in self.environ:
            raise ValueError(
                f"the daemon has no variable {name[:60]} (one that runs in the background has few): take it from the "
                f"calling agent with `pass_env: [{name[:60]}]`, or write the value itself"
            )
        return self.environ[name]


class _Options:
    """The options of one mapping of the file; what is wrong with any of them is collected."""

    def __init__(self, document: Document, path: Path, found: Any, surroundings: _Surroundings) -> None:
        self.document = document
        self.path = path
        self.found = found
        self.surroundings = surroundings
        self.faults: list[Fault] = []
        self.warnings: list[Fault] = []

    def blame(self, where: Path, wrong: object) -> None:
        """Note a fault at a place under this mapping."""
        self.faults.append(self.document.fault((*self.path, *where), str(wrong), at_value=True))

    def warn_of_unknown(self, known: tuple[str, ...]) -> None:
        """Note a warning for each key that means nothing."""
        self.warnings += unknown_keys(self.document, self.path, self.found, known)

    def one(self, key: str, convert: Callable[[Any], T]) -> T | None:
        """An option's value; None where nothing, or nothing usable, is said."""
        value = self.found.get(key)
        return None if value is None else self._converted((key,), value, convert)

    def each(self, key: str, convert: Callable[[Any], T]) -> tuple[T, ...] | None:
        """The usable values of an option that is a list."""
        items = self.one(key, _list)
        if items is None:
            return None
        values = [self._converted((key, index), item, convert) for index, item in enumerate(items)]
        return tuple(value for value in values if value is not None)

    def variables(self, key: str) -> dict[str, str]:
        """The usable variables of an option that is a mapping of texts."""
        values: dict[str, str] = {}
        for name, written in (self.one(key, _mapping) or {}).items():
            value = self._converted((key, name), written, self.surroundings.text)
            if value is not None and self._converted((key, name), name, _variable_name) is not None:
                values[name] = value
        return values

    def limits(self, names: tuple[str, ...]) -> dict[str, Any]:
        """The usable ones of these limits, None where nothing is said."""
        return {name: self.one(name, CONVERT[name]) for name in names}

    def _converted(self, where: Path, value: Any, convert: Callable[[Any], T]) -> T | None:
        try:
            return convert(value)
        except ValueError as error:
            self.blame(where, f"`{where[0]}`: {error}")
            return None


def _is_module(options: _Options) -> bool:
    match options.found:
        case {"server": server, "path": path} if server is not None and path is not None:
            options.blame(("server",), "an entry has `path:` or `server:`, not both: remove one of them")
        case {"server": server} if server is not None:
            wrong = "this entry is another MCP server (`server:`), which this version does not serve yet"
            options.warnings.append(options.document.fault((*options.path, "server"), wrong))
        case {"path": path} if path is not None:
            return True
        case dict():
            options.blame((), "this entry has no path: add `path:` with the directory of a module")
        case other:
            options.blame((), f"an entry is a mapping with `path:`, or a path, not {shown(other)}")
    return False


def _entry(options: _Options) -> list[Entry]:
    """The entry, with what is wrong with it; nothing where its path can't be read."""
    where, document = options.surroundings, options.document
    tools = _Options(document, (*options.path, "tools"), options.one("tools", _mapping) or {}, where)
    path, is_glob = options.one("path", where.module) or ("", False)
    entry = Entry(
        path=path,
        is_glob=is_glob,
        place=document.fault(options.path, "listed here"),
        enabled=options.one("enabled", _flag) is not False,
        limits=Limits(**options.limits(LIMITS)),
        overlap=options.one("overlap", _flag) is not False,
        python=options.one("python", where.path),
        env=options.variables("env"),
        pass_env=options.each("pass_env", _variable_name) or (),
        allow=tools.each("allow", _text),
        deny=tools.each("deny", _text) or (),
        of_tools=_of_tools(tools),
        on_broken=options.one("on_broken", _on_broken) or "last-good",
        watch=options.each("watch", where.pattern) or (),
        patterns=tuple(_patterns(tools)),
    )
    options.warn_of_unknown(OPTIONS)
    tools.warn_of_unknown(TOOL_OPTIONS)
    options.faults += tools.faults
    options.warnings += tools.warnings
    if not path:
        return []
    return [replace(entry, fault=options.faults[0]) if options.faults else entry]


def _patterns(tools: _Options) -> Iterator[tuple[str, Fault]]:
    """The names and globs of tools, with their places."""
    for key in TOOL_OPTIONS:
        said = tools.found.get(key)
        for at, pattern in enumerate(said) if isinstance(said, list | dict) else ():
            if isinstance(pattern, str):
                where = (*tools.path, key, pattern if isinstance(said, dict) else at)
                yield pattern, tools.document.fault(where, f"`tools: {key}`")


def _of_tools(tools: _Options) -> dict[str, ToolLimits]:
    """What single tools may take, by the names or globs under `limits:`."""
    found = {}
    for pattern, said in (tools.one("limits", _mapping) or {}).items():
        path = (*tools.path, "limits", pattern)
        if not isinstance(said, dict):
            wrong = f"what a tool may take is a mapping such as {{timeout: 5}}, not {shown(said)}"
            tools.blame(("limits", pattern), wrong)
            continue
        options = _Options(tools.document, path, said, tools.surroundings)
        found[pattern] = ToolLimits(**options.limits(TOOL_LIMITS))
        options.warn_of_unknown(TOOL_LIMITS)
        tools.faults += options.faults
        tools.warnings += options.warnings
    return found


def _absolute(path: str, directory: str) -> str:
    if not path:
        raise ValueError("it is empty, or its variables are")
    whole = posixpath.normpath(posixpath.join(directory, path))
    return "/" + whole.lstrip("/")  # normpath keeps a leading `//`


def _escape(path: str) -> str:
    return _GLOB.sub(r"[\g<0>]", path)


def _a(kind: type[T]) -> Callable[[Any], T]:
    def converted(value: Any) -> T:
        if not isinstance(value, kind):
            raise ValueError(f"{TYPE_WORDS[kind]} is wanted, not {shown(value)}")  # noqa: TRY004 - a fault
        return value

    return converted


_flag, _list, _mapping = _a(bool), _a(list), _a(dict)


def _string(value: Any) -> str:
    if "\0" in _a(str)(value):
        raise ValueError("there is a NUL character in it, which no path or variable can hold")
    return str(value)


def _text(value: Any) -> str:
    if not _string(value):
        raise ValueError("a text that isn't empty is wanted")
    return str(value)


def _variable_name(value: Any) -> str:
    name = _text(value)
    if "=" in name:
        raise ValueError(f"{name[:60]!r} can't be the name of a variable: there is a `=` in it")
    return name


def _on_broken(value: Any) -> OnBroken:
    if value == "fail":
        return "fail"
    if value == "last-good":
        return "last-good"
    raise ValueError(f"`last-good` or `fail` is wanted, not {shown(value)}")
