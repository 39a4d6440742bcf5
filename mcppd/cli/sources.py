"""Python sources, compiled and never run.

Also a script of the standard library alone: a module with an interpreter of its own is compiled by that one
(`python -I -S sources.py`, the paths as JSON on standard input).
"""

from __future__ import annotations

import ast
import json
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

Problem = dict[str, Any]
"""`is_error`, and the members of a Fault."""

FUNCTIONS = {
    "execute": "`execute(tool_name, arguments, context)` in it: add one, it runs the tools",
    "get_prompt": "`get_prompt(name, arguments, context)` in it: add one, it makes the prompts",
    "read_resource": "`read_resource(uri, variables, context)` in it: add one, it reads the resources",
}


def problems_of(paths: list[str], entry: str, needs: Sequence[str] = ("execute",)) -> list[Problem]:
    """What is wrong with source files; `entry` is the one that must have the functions that are needed."""
    return [problem for path in paths for problem in _of_file(path, needs if path == entry else ())]


def _of_file(path: str, needs: Sequence[str]) -> Iterator[Problem]:
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
        return
    for name in needs:
        if not may_have(tree, name):
            wrong = f"there is no function {FUNCTIONS[name]}"
            yield {"is_error": True, "file": path, "line": 1, "column": 1, "message": wrong}


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


def may_have(tree: ast.Module, function: str) -> bool:
    """Whether a module could have a global function; only running it would tell for sure."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            named = node.name in (function, "__getattr__")
        elif isinstance(node, ast.alias):
            named = (node.asname or node.name) in (function, "*")
        elif isinstance(node, ast.Name):
            named = node.id == function and isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.Constant):
            named = node.value == function  # globals()["execute"] = …
        else:
            named = isinstance(node, ast.Global) and function in node.names
        if named:
            return True
    return False


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    json.dump(problems_of(asked["paths"], asked["entry"], asked["needs"]), sys.stdout)
