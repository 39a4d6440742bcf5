"""Who may know whom (DESIGN.md, "Rooms"), read from the sources of mcppd and of the shim.

A module is told by its full name (`mcppd.core.jsonrpc`), a room by the name after `mcppd.`.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

ROOMS = {
    "__init__": {"mcppd_shim"},
    "__main__": {"cli"},
    "agents": {"mcppd_shim"},
    "bundled": set(),
    "cli": {
        *("agents", "daemon", "starting", "supervision", "views", "client", "core", "bundled", "mcppd_shim"),
        "own_copy",
        "reloading",  # `check` and `new` read files as the daemon's loader does, without a daemon
    },
    "daemon": {
        *("serving", "reloading", "workers", "backends", "transport", "client", "core", "mcppd_shim"),
        *("agents", "dumping", "logs", "starting", "status", "supervision", "tasks"),
        *("door", "handing_over", "parts", "running", "views"),
    },
    "door": {"transport", "core", "mcppd_shim"},
    "dumping": set(),
    "handing_over": {"__init__", "client", "core", "door", "serving", "transport"},
    "icon": set(),
    "logs": {"core"},
    "own_copy": {
        *("core", "mcppd_shim"),
        *("dumping", "handing_over", "logs", "pair", "parts", "running", "starting", "tasks"),
    },
    "pair": {"transport"},
    "parts": {"serving", "reloading", "workers", "backends", "core", "icon", "signing", "starting", "status"},
    "running": {"threads"},
    "signing": {"core"},
    "status": {"core"},
    "tasks": set(),
    "views": {"core"},
    "threads": set(),
    "starting": {"transport", "core", "bundled", "mcppd_shim"},
    "supervision": {"transport"},
    "reloading": {"workers", "backends", "core"},
    "serving": {"transport", "core"},
    "workers": {"transport", "core"},
    "backends": {"transport", "client", "core"},
    "client": {"transport", "core", "mcppd_shim"},
    "transport": {"core", "mcppd_shim"},
    "core": set(),
    "mcppd_shim": set(),
}
"""For each room the others that it may import."""

SHIM_FOR_ALL = {f"mcppd_shim.{name}" for name in ("hello", "launch", "places", "traffic", "version")}
"""The modules of the shim that rooms which may know it can use."""

STANDALONE = re.compile(r"mcppd_shim(\..+)?|mcppd\.workers\.(child|spawner)[^.]*(\..+)?|mcppd\.cli\.sources")
"""Modules that run with the standard library alone."""

IMPURE = {
    *("asyncio", "concurrent", "contextvars", "multiprocessing", "queue", "sched", "signal", "subprocess"),
    *("threading", "_thread", "uvloop", "watchfiles", "time", "os", "posix", "pwd", "grp", "resource"),
    *("platform", "getpass", "locale", "random", "secrets", "uuid", "logging", "syslog"),
    *("pathlib", "shutil", "tempfile", "glob", "fileinput", "mmap", "fcntl", "termios", "tty", "pty"),
    *("dbm", "shelve", "sqlite3", "linecache", "importlib", "pkgutil", "runpy", "ctypes", "atexit"),
    *("select", "selectors", "socket", "socketserver", "ssl", "http", "urllib.request", "ftplib", "smtplib"),
    *("click", "rich", "readline", "curses", "cmd", "argparse"),
}
"""Modules that core may not import: they wait, read a clock, or reach outside of the process."""

IMPURE_CALLS = {"open", "print", "input", "breakpoint", "exec", "eval", "__import__"}

DISTRIBUTIONS = {"yaml": "pyyaml"}
"""Import names that differ from the name of what is installed."""


def module_name(path: Path) -> str:
    """The full name of the module in a file, given relative to the repository."""
    parts = list(path.with_suffix("").parts)
    if parts[0] == "shim":
        parts[0] = "mcppd_shim"
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts)


def sources() -> dict[str, str]:
    """Every module of the project, with its text."""
    files = [path for room in ("mcppd", "shim") for path in sorted((ROOT / room).rglob("*.py"))]
    return {module_name(path.relative_to(ROOT)): path.read_text() for path in files}


def imports(module: str, text: str, known: set[str], *, is_package: bool) -> Iterator[tuple[int, str]]:
    """Each import of a source, also inside functions: its line and the full name of what is imported."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, absolute(alias.name, package, known)) for alias in names)
            case ast.ImportFrom(module=source, names=names, level=level):
                parents = package.split(".")[: len(package.split(".")) - level + 1] if level else []
                base = ".".join([*parents, *([source] if source else [])])
                base = base if level else absolute(base, package, known)
                for alias in names:
                    whole = f"{base}.{alias.name}"
                    yield node.lineno, whole if whole in known or not source else base
            case ast.Call(
                func=ast.Name(id="import_module" | "__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, absolute(name, package, known)


def absolute(name: str, package: str, known: set[str]) -> str:
    """A sibling that is imported by its bare name, as a script does, is still that sibling."""
    sibling = f"{package}.{name}"
    return sibling if sibling in known and name not in sys.stdlib_module_names else name


def room_of(module: str) -> str | None:
    """The room that a module of the project is in."""
    first, _, rest = module.partition(".")
    if first == "mcppd":
        return rest.partition(".")[0] or "__init__"
    return first if first == "mcppd_shim" else None


def refusal(module: str, imported: str) -> str | None:
    """Why a module may not import another; None if it may."""
    room, other, top = room_of(module), room_of(imported), imported.partition(".")[0]
    assert room is not None
    if STANDALONE.fullmatch(module):
        return None if top in sys.stdlib_module_names or is_own(module, imported) else "it runs alone"
    if other is None:
        return "core is pure" if room == "core" and is_impure(imported) else None
    if other == "mcppd_shim" and room != other and imported not in SHIM_FOR_ALL:
        return "of the shim only " + ", ".join(sorted(SHIM_FOR_ALL)) + " are for others"
    if other in (room, "__init__") or other in ROOMS.get(room, ()):
        return None
    return f"{room} may import only {', '.join(sorted(ROOMS.get(room, ()))) or 'itself'}"


def is_own(module: str, imported: str) -> bool:
    """Whether a standalone module may import another: the shim its own, the spawner the child, never back."""
    if module.startswith("mcppd_shim"):
        return imported.startswith("mcppd_shim")
    return imported.startswith("mcppd.workers.child") or (
        module.startswith("mcppd.workers.spawner") and imported.startswith("mcppd.workers.spawner")
    )


def is_impure(imported: str) -> bool:
    """Whether a module, or one that it is part of, is among those that core may not import."""
    parts = imported.split(".")
    return any(".".join(parts[:length]) in IMPURE for length in range(1, len(parts) + 1))


def violations(texts: dict[str, str]) -> list[str]:
    """Every import that is against the rules, and every call in core that isn't pure."""
    known = set(texts)
    found: list[str] = []
    for module, text in texts.items():
        is_package = any(name.startswith(f"{module}.") for name in known)
        for line, imported in imports(module, text, known, is_package=is_package):
            if why := refusal(module, imported):
                found.append(f"{module}:{line} imports {imported}: {why}")
        if room_of(module) == "core":
            found += [f"{module}:{line} calls {name}: core is pure" for line, name in impure_calls(text)]
    return list(dict.fromkeys(found))  # one import of several names is one


def impure_calls(text: str) -> Iterator[tuple[int, str]]:
    """Calls of built-in functions that reach outside, with their lines."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in IMPURE_CALLS:
                yield node.lineno, name


def declared() -> set[str]:
    """The names of the distributions that mcppd depends on."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {re.split(r"[^A-Za-z0-9_.-]", line)[0].lower() for line in project["dependencies"]}


def test_every_import_keeps_to_the_rooms() -> None:
    assert violations(sources()) == []


def test_every_room_has_its_rule() -> None:
    rooms = {room_of(module) for module in sources()}
    assert rooms - set(ROOMS) == set()


@pytest.mark.slow
def test_third_party_imports_are_declared_dependencies() -> None:
    texts = sources()
    tops = {
        imported.partition(".")[0]
        for module, text in texts.items()
        for _, imported in imports(module, text, set(texts), is_package=False)
        if room_of(imported) is None and imported
    }
    foreign = {DISTRIBUTIONS.get(top, top) for top in tops - sys.stdlib_module_names}
    assert foreign - declared() == set()


MADE_UP = {
    "mcppd": "",
    "mcppd.bundled": "",
    "mcppd.daemon": "",
    "mcppd.cli": "",
    "mcppd.client": "",
    "mcppd.core": "",
    "mcppd.core.names": "",
    "mcppd.transport": "",
    "mcppd.transport.unix": "",
    "mcppd.serving": "",
    "mcppd.serving.one": "",
    "mcppd.reloading": "",
    "mcppd.reloading.watcher": "",
    "mcppd.workers": "",
    "mcppd.workers.pool": "",
    "mcppd.workers.child": "",
    "mcppd.workers.spawner": "",
    "mcppd_shim": "",
    "mcppd_shim.places": "",
    "mcppd_shim.relay": "",
}
"""A project with every room and nothing in it."""


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("mcppd.serving.one", "import mcppd.reloading"),
        ("mcppd.serving.one", "from mcppd import reloading"),
        ("mcppd.serving.one", "from .. import workers"),
        ("mcppd.serving.one", "from ..reloading.watcher import watch"),
        ("mcppd.serving.one", "def later():\n    from mcppd.workers.pool import Pool"),
        ("mcppd.serving.one", "if TYPE_CHECKING:\n    from mcppd.workers.pool import Pool"),
        ("mcppd.serving.one", "importlib.import_module('mcppd.workers.pool')"),
        ("mcppd.serving.one", "from mcppd_shim.places import sockets"),
        ("mcppd.reloading.watcher", "from mcppd.serving import one"),
        ("mcppd.reloading.watcher", "import mcppd.transport.unix"),
        ("mcppd.workers.pool", "import mcppd.reloading.watcher"),
        ("mcppd.transport.unix", "import mcppd.serving.one"),
        ("mcppd.transport.unix", "from mcppd_shim import relay"),
        ("mcppd.client", "import mcppd.daemon"),
        ("mcppd.cli", "import mcppd.serving"),
        ("mcppd.bundled", "import mcppd.core"),
        ("mcppd.core.names", "import asyncio"),
        ("mcppd.core.names", "import os.path"),
        ("mcppd.core.names", "from time import monotonic"),
        ("mcppd.core.names", "from urllib.request import urlopen, Request"),
        ("mcppd.core.names", "from mcppd.transport import unix"),
        ("mcppd.core.names", "import mcppd_shim.version"),
        ("mcppd.core.names", "def read():\n    return open('x')"),
        ("mcppd.workers.child", "import orjson"),
        ("mcppd.workers.child", "from mcppd.core.names import wire_name"),
        ("mcppd.workers.child", "from mcppd.workers import spawner"),
        ("mcppd.workers.child", "import spawner"),
        ("mcppd.workers.spawner", "from mcppd.workers.pool import Pool"),
        ("mcppd_shim.places", "import mcppd"),
        ("mcppd_shim.places", "from mcppd.core.names import wire_name"),
        ("mcppd_shim.places", "import yaml"),
        ("mcppd.strange", "import mcppd.core"),
    ],
)
def test_an_import_against_the_rules_is_found(module: str, text: str) -> None:
    assert len(violations(MADE_UP | {module: text})) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("mcppd", "from mcppd_shim.version import VERSION"),
        ("mcppd.cli", "import mcppd.daemon, mcppd.client, mcppd.bundled, click"),
        ("mcppd.daemon", "import asyncio, mcppd.serving.one, mcppd.reloading.watcher, mcppd.workers.pool"),
        ("mcppd.transport.unix", "import socket\nfrom mcppd_shim.places import sockets"),
        (
            "mcppd.serving.one",
            "from ..core.names import wire_name\nfrom . import other\nfrom mcppd import core",
        ),
        (
            "mcppd.core.names",
            "import orjson, urllib.parse\nfrom . import registry\nfrom mcppd.core.faults import Fault",
        ),
        ("mcppd.workers.child", "import os, json, importlib.util"),
        ("mcppd.workers.spawner", "import os\nfrom mcppd.workers import child"),
        ("mcppd.workers.spawner", "import child"),
        ("mcppd_shim.relay", "import _socket, posix\nfrom . import places\nimport places"),
    ],
)
def test_an_import_within_the_rules_is_not(module: str, text: str) -> None:
    assert violations(MADE_UP | {module: text}) == []
