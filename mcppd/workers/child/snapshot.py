"""The bytes that the module is made of (D5), and which files are the person's own."""

from __future__ import annotations

import ast
import importlib.util
import io
import linecache
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType
from typing import Final

MISSED_LIMIT: Final = 300
"""Paths looked for in vain that are told of: each is watched, and looked at before a call."""
_INSTALLED: Final = ("site-packages", "dist-packages")
_OURS: Final = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Snapshot:
    """The sources of one generation: those handed over, and those first imported here."""

    def __init__(self, directory: str, files: Mapping[str, bytes]) -> None:
        self.directory = directory
        self._files = dict(files)
        self._codes: dict[str, CodeType] = {}
        self._joined: dict[str, bytes] = {}
        self._missed: set[str] = set()  # looked for in vain, and not told yet
        self._told: set[str] = set()
        folders = {folder for path in files for folder in _folders(path)}
        self._folders = frozenset(folders)
        self._foreign = tuple(_foreign())
        self._spelled = {os.path.realpath(folder): folder for folder in folders}

    def known(self, path: str) -> str | None:
        """The snapshot's own spelling of a path, if that file is in it."""
        if path in self._files:
            return path
        folder, name = os.path.split(path)
        spelled = self._spelled.get(folder)
        other = os.path.join(spelled, name) if spelled else path
        return other if other in self._files else None

    def has_folder(self, path: str) -> bool:
        """Whether files of the snapshot lie in or below a directory."""
        return path in self._folders or path in self._spelled

    def content(self, path: str) -> bytes | None:
        """The bytes of a file as this generation has them; None if it isn't part of it."""
        known = self.known(path)
        return None if known is None else self._files[known]

    def read(self, path: str) -> bytes:
        """The bytes of one of the person's files; one that is not in the snapshot joins. Raises OSError."""
        content = self.content(path)
        if content is None:
            with open(path, "rb") as file:
                content = file.read()
            self._files[path] = self._joined[path] = content
        return content

    def note(self, path: str) -> None:
        """Let a file join that is loaded around the import hook; if it can't be read, that fails there."""
        try:
            self.read(path)
        except OSError:
            return

    @property
    def has_news(self) -> bool:
        """Whether there may be something to take, of what joined or was missed."""
        return bool(self._joined or self._missed)

    def take_joined(self) -> dict[str, bytes]:
        """The files that joined since this was asked last; a name that is no UTF-8 can't be told."""
        joined, self._joined = self._joined, {}
        return {path: content for path, content in joined.items() if _is_text(path)}

    def miss(self, base: str) -> None:
        """Note that a module was looked for at a path without its suffix: it may come as a file or as a package."""
        if self.is_own(base + ".py"):
            self._missed.update((base + ".py", base, os.path.join(base, "__init__.py")))

    def take_missed(self) -> list[str]:
        """The paths that were looked for in vain since this was asked last; each is told once, and not too many."""
        new = sorted(filter(_is_text, self._missed - self._told))[: max(0, MISSED_LIMIT - len(self._told))]
        self._missed.clear()
        self._told.update(new)
        return new

    def code(self, path: str) -> CodeType:
        """The compiled file, with its text where tracebacks look. Raises SyntaxError, OSError."""
        content = self.read(path)
        self._show(path, content)
        if path not in self._codes:
            with _syntax_errors_of(path):
                self._codes[path] = compile(content, path, "exec", dont_inherit=True)
        return self._codes[path]

    def tree(self, path: str) -> ast.Module:
        """The file's syntax tree, after compiling it as well. Raises SyntaxError, OSError."""
        content = self.read(path)
        with _syntax_errors_of(path), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are shown when the file is imported
            tree = ast.parse(content, path)
            self._codes[path] = compile(tree, path, "exec", dont_inherit=True)
        return tree

    def line(self, path: str, number: int | None) -> str | None:
        """A line of a file as this generation has it, without its line end; counted from 1."""
        content = self.content(path)
        if content is None or number is None:
            return None
        lines = _lines(content)
        return lines[number - 1].rstrip("\n") if 0 < number <= len(lines) else None

    def is_own(self, path: str) -> bool:
        """Whether a file is Python source of the person's own: not of Python, not installed, not ours."""
        if not path.endswith(".py") or not os.path.isabs(path):
            return False
        if _is_below(path, self.directory):
            return not _is_installed(path[len(self.directory) :])
        return not (_is_installed(path) or any(_is_below(path, folder) for folder in self._foreign))

    def _show(self, path: str, content: bytes) -> None:
        """Fill linecache; without a time an entry is never checked against the disk."""
        linecache.cache[path] = (len(content), None, _lines(content), path)


@contextmanager
def _syntax_errors_of(path: str) -> Iterator[None]:
    """Turn whatever the compiler refuses a file with into a SyntaxError that names the file."""
    try:
        yield
    except SyntaxError as error:
        error.filename = error.filename or path
        raise
    except (ValueError, RecursionError, MemoryError) as error:  # a null byte; nesting that it gives up on
        raise SyntaxError(f"it can't be compiled: {error}", (path, None, None, None)) from error


def is_ours(path: str) -> bool:
    """Whether a file is part of mcppd."""
    return _is_below(path, _OURS)


def _lines(content: bytes) -> list[str]:
    try:
        is_plain = (
            content.isascii() and b"\r" not in content
        )  # `decode_source` would search in it for nothing
        text = content.decode() if is_plain else importlib.util.decode_source(content)
    except (SyntaxError, UnicodeDecodeError):
        text = content.decode("latin-1")
    return io.StringIO(text).readlines()


def _folders(path: str) -> Iterable[str]:
    """The directories that a file lies in or below, the root aside."""
    folder = os.path.dirname(path)
    while folder != os.path.dirname(folder):
        yield folder
        folder = os.path.dirname(folder)


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)


def _is_installed(path: str) -> bool:
    return any(part in _INSTALLED for part in path.split(os.sep))


def _foreign() -> Iterable[str]:
    """The directories of the standard library, and ours."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    yield _OURS
    yield os.path.dirname(os.__file__)
    yield os.path.realpath(os.path.dirname(os.__file__))
    yield os.path.join(sys.base_exec_prefix, sys.platlibdir, version)


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
