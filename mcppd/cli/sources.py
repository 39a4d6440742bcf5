"""Python sources, compiled and never run.

Also a script of the standard library alone: a module with an interpreter of its own is compiled by that one
(`python -I -S sources.py`, the paths as JSON on standard input).
"""

from __future__ import annotations

import ast
import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any

Problem = dict[str, Any]
"""`is_error`, and the members of a Fault."""

NO_EXECUTE = "there is no function `execute(tool_name, arguments, context)` in it: add one, it runs the tools"


def problems_of(paths: list[str], entry: str) -> list[Problem]:
    """What is wrong with source files; `entry` is the one that must have an `execute`."""
    return [problem for path in paths for problem in _of_file(path, is_entry=path == entry)]


def _of_file(path: str, *, is_entry: bool) -> Iterator[Problem]:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError as error:
        yield {"is_error": True, "file": path, "message": f"can't be read: {error.strerror}"}
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tree = _compiled(path, text)
    for each in caught:
        yield {"is_error": False, "file": path, "line": each.lineno, "message": str(each.message)}
    if not isinstance(tree, ast.Module):
        yield tree
    elif is_entry and not has_execute(tree):
        yield {"is_error": True, "file": path, "line": 1, "column": 1, "message": NO_EXECUTE}


def _compiled(path: str, text: bytes) -> ast.Module | Problem:
    """The tree of a source that compiles, else why it doesn't."""
    wrong: Problem = {"is_error": True, "file": path}
    try:
        tree = ast.parse(text, path)
        compile(tree, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        place = {"line": error.lineno or 1, "column": max(error.offset or 1, 1)}
        source = error.text.rstrip("\r\n") if error.text else None
        return {**wrong, **place, "source": source, "message": f"{type(error).__name__}: {error.msg}"}
    except (ValueError, RecursionError, MemoryError) as error:  # a NUL byte; nested too deep
        return {**wrong, "line": 1, "column": 1, "message": f"{type(error).__name__}: {error}"}
    return tree


def has_execute(tree: ast.Module) -> bool:
    """Whether a module could have a global `execute`; only running it would tell for sure."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            named = node.name in ("execute", "__getattr__")
        elif isinstance(node, ast.alias):
            named = (node.asname or node.name) in ("execute", "*")
        elif isinstance(node, ast.Name):
            named = node.id == "execute" and isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.Constant):
            named = node.value == "execute"  # globals()["execute"] = …
        else:
            named = isinstance(node, ast.Global) and "execute" in node.names
        if named:
            return True
    return False


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(problems_of(asked["paths"], asked["entry"]), sys.stdout)
