"""A registry as a file: which one is meant, what it covers, and one entry more in its text.

The text stays a person's own: an entry is added by a line, and only where reading it again shows that nothing
but that has changed.
"""

from __future__ import annotations

import errno
import glob
import json
import os
import posixpath
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final

from mcppd_shim import places

from mcppd.bundled import registry_path as bundled_registry
from mcppd.cli.errors import CommandError
from mcppd.cli.templates import schema_line
from mcppd.core.documents import Document
from mcppd.core.errors import FaultError
from mcppd.core.registry import Entry, parse_registry
from mcppd.core.yaml import read_yaml

_PLAIN: Final = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+@~* -]*(?<! )")
"""Paths that need no quotes in YAML."""

_EMPTY: Final = re.compile(r"(?P<key>modules:)([ \t]*\[[ \t]*\])?(?P<rest>[ \t]*(#.*)?)\r?")
"""The line of a `modules:` that has nothing in it."""

_DASH: Final = re.compile(r"( *)-(?=\s|$)")


@dataclass(frozen=True, slots=True)
class RegistryFile:
    """A registry, there or about to be made."""

    path: str
    directory: str  # what its paths are relative to
    text: bytes
    is_new: bool

    def entries(self, text: bytes) -> tuple[Entry, ...]:
        """The entries of a text of this registry. Raises FaultError."""
        document, home = read_yaml(text, self.path), os.path.expanduser("~")
        return parse_registry(document, directory=self.directory, environ=os.environ, home=home).entries

    def covering(self, directory: str, text: bytes) -> Entry | None:
        """The entry that serves a module's directory, which needn't be there yet. Raises FaultError."""
        entries = (entry for entry in self.entries(text) if entry.enabled)
        return next((entry for entry in entries if _covers(entry, directory)), None)


def find_registry(config: str | None, environ: Mapping[str, str]) -> RegistryFile:
    """The registry that is meant; the person's own default one is begun where there is none."""
    named, is_default = places.registry_path(config, environ)
    path = named or places.default_registry(environ)
    directory = environ.get("MCPP_BASE_DIR") or os.path.dirname(path)
    if places.exists(path):
        with open(path, "rb") as file:
            return RegistryFile(path, directory, file.read(), is_new=False)
    if not is_default:
        raise CommandError(f"there is no registry {path}: make it with the line `modules:` in it", status=1)
    return RegistryFile(path, directory, first_text().encode(), is_new=True)


def first_text() -> str:
    """What a person's first registry says: their own modules, and the bundled ones, which it takes over from."""
    bundled = posixpath.join(glob.escape(str(bundled_registry().parent)), "tools/*")
    return f"""\
{schema_line("registry.schema.json")}
# The registry of mcppd: which modules are served. What is saved here is live at once.
# The options of an entry (timeout, workers, env …) are in README.md; `mcppd check` looks this file over.

modules:
  - path: tools/*  # every directory below with a tool.yaml in it; they may come and go
  # What comes with mcppd, which is served by itself only where there is no registry like this one. Remove the
  # entry if you don't want it, and correct it when mcppd has moved.
  - path: {quoted(bundled)}
"""


def line_for(registry: RegistryFile, directory: str) -> str:
    """The entry that serves a module's directory, as a line of the registry."""
    base = registry.directory.rstrip("/") + "/"
    return f"- path: {quoted(glob.escape(directory.removeprefix(base)))}"


def with_entry(registry: RegistryFile, directory: str) -> bytes | None:
    """The registry's text with an entry for a module's directory; None if its shape doesn't let that be sure."""
    with suppress(FaultError):
        edited = with_lines(registry, [line_for(registry, directory)])
        if edited is not None and registry.covering(directory, edited):
            return edited
    return None


def with_lines(registry: RegistryFile, lines: list[str]) -> bytes | None:
    """The registry's text with entries, each of one or more lines, at the end of its list; None likewise."""
    with suppress(FaultError, UnicodeError):
        before = read_yaml(registry.text, registry.path)
        wanted = _value_with(before.value, read_yaml("\n".join(lines).encode(), "").value)
        for text in _edits(registry.text.decode(), before, lines):
            edited = text.encode()
            if _reads_as(edited, wanted):
                return edited
    return None


def write_registry(registry: RegistryFile, text: bytes) -> None:
    """Put a text in place of the registry's, whole or not at all; a link stays one. Raises OSError."""
    path = os.path.realpath(registry.path)
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    part = posixpath.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(4)}")
    try:
        with open(part, "xb") as file:
            file.write(text)
        if registry.is_new:
            os.link(part, path)  # fails where somebody made one meanwhile
            return
        shutil.copymode(path, part)
        _refuse_newer(registry)
        os.replace(part, path)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)


def _refuse_newer(registry: RegistryFile) -> None:
    with open(registry.path, "rb") as file:
        if file.read() != registry.text:
            raise OSError(errno.ESTALE, "it was saved meanwhile", registry.path)


def _covers(entry: Entry, directory: str) -> bool:
    if not entry.is_glob:
        return os.path.realpath(entry.path) == os.path.realpath(directory)
    parent, name = os.path.split(directory)
    above, last = posixpath.split(entry.path)
    is_any_depth = last == "**"
    if not is_any_depth and not fnmatchcase(name, last):
        return False
    found = glob.iglob(entry.path if is_any_depth else above, recursive=True)
    return any(os.path.realpath(path) == os.path.realpath(parent) for path in found)


def quoted(path: str) -> str:
    """A path as YAML has it."""
    return path if _PLAIN.fullmatch(path) else json.dumps(path, ensure_ascii=False)


def _value_with(value: Any, entry: Any) -> dict[str, Any]:
    """What the registry is to say with the entry at its end."""
    known = value if isinstance(value, dict) else {}
    return {**known, "modules": [*(known.get("modules") or []), *entry]}


def _reads_as(text: bytes, wanted: Any) -> bool:
    try:
        return bool(read_yaml(text, "").value == wanted)
    except FaultError:
        return False


def _edits(text: str, document: Document, added: list[str]) -> Iterator[str]:
    """Texts that may be the one with the entries in it."""
    lines = text.split("\n")
    end = "\r" if lines[0].endswith("\r") else ""
    match document.value:
        case {"modules": [_, *_] as items}:
            found = _after_last(lines, document, len(items))
            if found is not None:
                at, indent = found
                yield _inserted(lines, at, [indent + line + end for line in added])
        case {"modules": _}:
            at = (document.positions.members["modules"].key or (1, 1))[0]
            if empty := _EMPTY.fullmatch(lines[at - 1]):
                head = [*lines[: at - 1], empty["key"] + empty["rest"] + end, *lines[at:]]
                yield _inserted(head, at, [f"  {line}{end}" for line in added])
        case _:
            at = len(lines) if lines[-1] else len(lines) - 1
            yield _inserted(lines, at, [f"modules:{end}", *(f"  {line}{end}" for line in added)])


def _inserted(lines: list[str], at: int, new: list[str]) -> str:
    """The text with lines put in before a line; every one of them ends."""
    text = "\n".join([*lines[:at], *new, *lines[at:]])
    return text if at < len(lines) else text + "\n"


def _after_last(lines: list[str], document: Document, count: int) -> tuple[int, str] | None:
    """Where the list of modules ends, as a number of lines, and how far its items are indented."""
    place = document.positions.members["modules"].members[count - 1]
    first = place.line - 1
    while first >= 0 and not _DASH.match(lines[first]):
        first -= 1
    found = _DASH.match(lines[first]) if first >= 0 else None
    if found is None:
        return None
    end = first + 1
    for at in range(first + 1, len(lines)):
        body = lines[at].strip()
        if body and len(lines[at]) - len(lines[at].lstrip(" ")) <= len(found[1]):
            break
        end = at + 1 if body else end
    return end, found[1]
