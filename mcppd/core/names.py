"""Names: what goes over the wire for a name that an author wrote (DESIGN D16), and what is close to a name.

The same name gives the same result in every run and in every process.
"""

from __future__ import annotations

import difflib
import hashlib
import keyword
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

MAX_NAME: Final = 64
"""What every client takes; several put their own prefix in front and shorten what gets longer."""

MAX_ALIAS: Final = 48
"""Names that we make leave 16 characters to such prefixes."""

MAX_MODULE_PART: Final = 16
"""Characters of the module's name in the alias of a full name; the tool's gets the rest."""

HASH_DIGITS: Final = 10
"""Forty bits: a thousand aliases meet by chance once in two million catalogs."""

KEPT: Final = 2**15
"""Names whose form on the wire is kept from one catalog to the next, in a few megabytes: all but the new ones."""

MAX_COMPARED: Final = 100
"""Characters that are compared for nearness; the time grows with their square."""

_SAFE: Final = re.compile(r"[A-Za-z0-9_-]+")
_UNSAFE_CHARACTER: Final = re.compile(r"[^A-Za-z0-9_-]")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@lru_cache(KEPT)
def wire_name(name: str) -> str:
    """The name itself if every client takes it, else an alias that no other name has."""
    if len(name) <= MAX_NAME and _SAFE.fullmatch(name):
        return name
    return f"{_clean(name)[: MAX_ALIAS - HASH_DIGITS - 1]}_{_hash(name)}"


@lru_cache(KEPT)
def full_name(module: str, tool: str) -> str:
    """`<module>__<tool>`, or an alias of it: a name under which the tool can always be called."""
    name = f"{module}__{tool}"
    if len(name) <= MAX_NAME and _SAFE.fullmatch(module) and _SAFE.fullmatch(tool):
        return name
    head = f"{_clean(module)[:MAX_MODULE_PART]}__{_clean(tool)}"
    return f"{head[: MAX_ALIAS - HASH_DIGITS - 1]}_{_hash(module, tool)}"


def identifier(name: str) -> str:
    """A Python identifier for a name, for use in import names; another name never gets the same."""
    usable = _IDENTIFIER.fullmatch(name) and not keyword.iskeyword(name) and len(name) <= MAX_NAME
    if usable and not name.startswith("__"):  # `__path__` would overwrite the parent package's own
        return name
    head = re.sub(r"[^A-Za-z0-9]+", "_", name)[: MAX_ALIAS - HASH_DIGITS - 1].strip("_")
    return f"{head}_{_hash(name)}" if head[:1].isalpha() else f"n{head}_{_hash(name)}"


def nearest(name: str, known: Iterable[str], n: int = 3) -> list[str]:
    """Up to n known names that are like a name, the likest first; case and separators count for little."""
    by_form: dict[str, str] = {}
    for each in known:
        by_form.setdefault(_form(each), each)
    return [by_form[form] for form in difflib.get_close_matches(_form(name), list(by_form), n)]


def _form(name: str) -> str:
    return name[:MAX_COMPARED].casefold().replace("-", "_")


def _clean(name: str) -> str:
    return _UNSAFE_CHARACTER.sub("_", name)


def _hash(*parts: str) -> str:
    whole = b"".join(b"%d:%b" % (len(part), part) for part in (_encode(part) for part in parts))
    return hashlib.sha256(whole).hexdigest()[:HASH_DIGITS]


def _encode(part: str) -> bytes:
    return part.encode("utf-8", "surrogatepass")  # a name out of JSON may hold half of a pair
