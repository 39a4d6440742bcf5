"""What a module's sources need that they may not find here, told from their text; nothing of them is run."""

from __future__ import annotations

import ast
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeGuard

from mcppd.core.calls import BASE_NAMES, OWN_NAMES

EXCUSED: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception"})
"""What an import is tried under that may fail."""

_READERS: Final = frozenset({"get", "pop", "setdefault"})


@dataclass(frozen=True, slots=True)
class Needs:
    """What a module reads and imports beyond its own files and the standard library."""

    variables: tuple[str, ...]  # of the environment that no call gets by itself
    absent: tuple[str, ...]  # packages that this Python doesn't have


def needs_of(directory: str, files: Mapping[str, bytes]) -> Needs:
    """The needs of a module's sources; a file that doesn't compile has none."""
    trees = [tree for _, tree in _all_trees(files)]
    variables = {name for tree in trees for name in _variables(tree)}
    return Needs(
        tuple(sorted(name for name in variables if not _is_given(name))),
        tuple(sorted({each.name for each in absent_imports(directory, files)})),
    )


@dataclass(frozen=True, slots=True)
class AbsentImport:
    """An import of a package that this Python doesn't have."""

    name: str
    file: str
    line: int
    column: int  # counted from 1


def absent_imports(directory: str, files: Mapping[str, bytes]) -> list[AbsentImport]:
    """The imports of a module's sources that would fail here, each package once; none where `sys.path` is changed."""
    trees = _all_trees(files)
    texts = {text for _, tree in trees for text in _texts(tree)}  # names put into sys.modules stand there
    known: dict[str, bool] = dict.fromkeys(texts, False)
    found = []
    for path, tree in trees:
        for name, node in _imported(tree):
            if name not in known:
                known[name] = _is_absent(name, directory)
                if known[name]:
                    found.append(AbsentImport(name, path, node.lineno, node.col_offset + 1))
    return [] if any(_changes_path(tree) for _, tree in trees) else found


def _all_trees(files: Mapping[str, bytes]) -> list[tuple[str, ast.Module]]:
    return [
        (path, tree) for path, content in files.items() if path.endswith(".py") for tree in _trees(content)
    ]


def _trees(content: bytes) -> Iterator[ast.Module]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of how authors write, which is theirs
            yield ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return  # `check` tells it


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.partition(".")[0]


def _imported(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """(first name, where) of what is imported in any case, wherever it stands."""
    tried = [node for node in ast.walk(tree) if _may_fail(node)]
    excused = {id(node) for each in tried for statement in each.body for node in ast.walk(statement)}
    for node in ast.walk(tree):
        if id(node) in excused:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0], node


def _may_fail(node: ast.AST) -> TypeGuard[ast.Try | ast.If]:
    """Whether what is imported in the body may be missing: it is tried, or for type checkers alone."""
    if isinstance(node, ast.If):
        return _is_named(node.test, "TYPE_CHECKING")
    return isinstance(node, ast.Try) and any(map(_excuses, node.handlers))


def _changes_path(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr == "path" and _is_named(node.value, "sys")
        for node in ast.walk(tree)
    )


def _excuses(clause: ast.ExceptHandler) -> bool:
    if clause.type is None:
        return True
    return any(isinstance(node, ast.Name) and node.id in EXCUSED for node in ast.walk(clause.type))


def _is_absent(name: str, directory: str) -> bool:
    own = os.path.join(directory, name)
    if name in sys.stdlib_module_names or os.path.isdir(own) or os.path.exists(f"{own}.py"):
        return False
    try:
        return importlib.util.find_spec(name) is None
    except (ImportError, ValueError):
        return False  # it is there in some unusual way


def _variables(tree: ast.Module) -> Iterator[str]:
    """The names of variables that are read: `os.environ["X"]`, `.get("X")`, `os.getenv("X")`, `"X" in os.environ`."""
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=value, slice=ast.Constant(value=str(name)), ctx=ast.Load()):
                found = _is_named(value, "environ")
            case ast.Call(
                func=ast.Attribute(value=value, attr=attr), args=[ast.Constant(value=str(name)), *_]
            ):
                found = attr == "getenv" or (attr in _READERS and _is_named(value, "environ"))
            case ast.Call(func=ast.Name(id="getenv"), args=[ast.Constant(value=str(name)), *_]):
                found = True
            case ast.Compare(
                left=ast.Constant(value=str(name)), ops=[ast.In() | ast.NotIn()], comparators=[value]
            ):
                found = _is_named(value, "environ")
            case _:
                continue
        if found and name.isidentifier():
            yield name


def _is_named(node: ast.expr, name: str) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == name) or (
        isinstance(node, ast.Name) and node.id == name
    )


def _is_given(name: str) -> bool:
    """Whether every call has the variable, or would have it if anybody set it."""
    return name in (*BASE_NAMES, *OWN_NAMES, "PATH", "PWD") or name.startswith("XDG_")
