"""Compiling a module without running it: its entry file and what that imports of the snapshot."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .failures import Fault, syntax_fault
from .importing import Place
from .snapshot import Snapshot

FUNCTIONS: Final[Mapping[str, str]] = {
    "execute": "`execute(tool_name, arguments, context)`, so none of its tools can run",
    "get_prompt": "`get_prompt(name, arguments, context)`, so none of its prompts can be got",
    "read_resource": "`read_resource(uri, variables, context)`, so its resources can't be read",
}
"""The functions that a module may have to have, and what can't be done without them; it may lack any other."""


def missing(name: str) -> str:
    """What is wrong with a module that lacks a function."""
    return f"the module has no function {FUNCTIONS[name]}"


def compile_all(snapshot: Snapshot, place: Place, needs: Sequence[str]) -> Fault | None:
    """Compile the entry file, every file of the snapshot that it imports by name, and what those import.

    `needs` are the functions that the module must have.
    """
    waiting, seen = [place.entry], {place.entry}
    while waiting:
        path = waiting.pop()
        parsed = _compile(snapshot, path)
        if isinstance(parsed, Fault):
            return parsed
        lacking = [name for name in needs if path == place.entry and not may_have(parsed, name)]
        if lacking:
            return Fault(missing(lacking[0]), path)
        for found in _imported(parsed, path, snapshot, [place.directory, *place.search]):
            if found not in seen:
                seen.add(found)
                waiting.append(found)
    return None


def _compile(snapshot: Snapshot, path: str) -> ast.Module | Fault:
    try:
        return snapshot.tree(path)
    except SyntaxError as error:
        return syntax_fault(error, snapshot)
    except OSError as error:
        return Fault(f"it can't be read: {error.strerror}", path)


def may_have(tree: ast.Module, function: str) -> bool:
    """Whether a module could have a global function; only running it says whether it does."""
    return any(_may_make(node, function) for node in ast.walk(tree))


def _may_make(node: ast.AST, function: str) -> bool:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name in (function, "__getattr__")
        case ast.alias(name=name, asname=asname):
            return (asname or name) in (function, "*")
        case ast.Name(id=name, ctx=ast.Store()):
            return name == function
        case ast.Constant(value=value):
            return value == function
        case ast.Global(names=names):
            return function in names
    return False


def _imported(tree: ast.Module, path: str, snapshot: Snapshot, roots: Sequence[str]) -> Iterator[str]:
    """The files of the snapshot that import statements of a file name, wherever they stand in it."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from _absolute(snapshot, roots, alias.name.split("."))
            case ast.ImportFrom(module=module, names=names, level=level):
                parts = module.split(".") if module else []
                for alias in names:
                    whole = [*parts, alias.name]
                    if level:
                        yield from _follow(snapshot, _package(path, level), whole)
                    else:
                        yield from _absolute(snapshot, roots, whole)


def _absolute(snapshot: Snapshot, roots: Sequence[str], parts: Sequence[str]) -> Iterator[str]:
    if parts[0] in sys.stdlib_module_names:
        return
    for root in roots:
        found = list(_follow(snapshot, root, parts))
        if found:
            yield from found
            return


def _package(path: str, level: int) -> str:
    """The directory that a relative import of a file starts from."""
    for _ in range(level):
        path = os.path.dirname(path)
    return path


def _follow(snapshot: Snapshot, folder: str, parts: Sequence[str]) -> Iterator[str]:
    """The files along a dotted name below a directory: each package's `__init__.py`, then the module."""
    for part in parts:
        base = os.path.join(folder, part)
        found = snapshot.known(os.path.join(base, "__init__.py")) or snapshot.known(base + ".py")
        if found is not None:
            yield found
        elif not snapshot.has_folder(base):
            return
        folder = base
