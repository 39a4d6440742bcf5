"""The hello: the first line that a shim sends, with all the daemon can't know by itself (D20, D21)."""

from __future__ import annotations

import posix
import sys

from .version import VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

LAST_OF_BASIC_PLANE: Final = 0xFFFF


def hello_line(
    registry: str | None, workspace: str | None, environ: Mapping[str, str], *, meta_tools: bool
) -> bytes:
    """The line as ASCII JSON; `registry` is a real path, or None for the default registry."""
    members = [
        '{"jsonrpc":"2.0","method":"mcppd/hello","params":{"version":',
        _text(VERSION),
        f',"pid":{posix.getpid()},"registry":',
        _text_or_null(registry),
        ',"workspace":',
        _text_or_null(workspace),
        ',"cwd":',
        _text_or_null(_working_directory(environ)),
        ',"meta_tools":true,"env":{' if meta_tools else ',"meta_tools":false,"env":{',
        ",".join([f"{_text(name)}:{_text(value)}" for name, value in environ.items()]),
        "}}}\n",
    ]
    return "".join(members).encode("ascii")


def _working_directory(environ: Mapping[str, str]) -> str | None:
    """Where the agent started us; a directory that is gone still has the name PWD gives it."""
    try:
        return posix.getcwd()
    except OSError:
        named = environ.get("PWD", "")
        return named if named[:1] == "/" else None


def _text_or_null(value: str | None) -> str:
    return "null" if value is None else _text(value)


def _text(value: str) -> str:
    """A JSON string; bytes that are no UTF-8 become lone surrogates: the daemon turns them back."""
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return f'"{value}"'
    encoding = sys.getfilesystemencoding()
    if encoding != "utf-8":  # the daemon's own is always UTF-8, so the same bytes have to be read as that
        value = value.encode(encoding, "surrogateescape").decode("utf-8", "surrogateescape")
    return '"' + "".join([_escaped(character) for character in value]) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    code = ord(character)
    if character.isascii() and character.isprintable():
        return character
    if code <= LAST_OF_BASIC_PLANE:
        return f"\\u{code:04x}"
    code -= LAST_OF_BASIC_PLANE + 1  # a pair of surrogates: RFC 8259 section 7
    return f"\\u{0xD800 | code >> 10:04x}\\u{0xDC00 | code & 0x3FF:04x}"
