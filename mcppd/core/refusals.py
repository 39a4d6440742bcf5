"""What some client refuses or drops in a schema (PROTOCOL.md section 5), in words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from mcppd.core.portable_parts import named_in
from mcppd.core.regexes import is_common, patterns_of
from mcppd.core.schema_text import path_text
from mcppd.core.shapes import Path
from mcppd.core.subschemas import children, is_usable

MAX_REFUSALS: Final = 20  # told of one schema

_KEY: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def refused_by(schema: Any) -> list[str]:
    """What some client refuses or drops in a schema, as it stands."""
    return list(islice(_refusals(schema), MAX_REFUSALS))


def _refusals(schema: Any) -> Iterator[str]:
    root = schema if is_usable(schema) else {}
    if root.get("type") != "object":
        yield '$: the type has to be "object"; many clients refuse all tools of the server otherwise'
    for key in ("allOf", "anyOf", "oneOf", "not", "enum"):
        if key in root:
            yield f"$.{key}: model APIs refuse it at the root; say it inside a property or in the description"
    for name in named_in(root):
        if not _KEY.fullmatch(name):
            where = path_text(("properties", name))
            yield f"{where}: Claude drops the tool; name it with 1 to 64 of A-Z a-z 0-9 _ . -"
    waiting: list[tuple[Path, Any]] = [((), root)]
    for path, each in waiting:  # grows while it is gone through
        yield from (f"{path_text(path)}: {text}" for text in _inner_refusals(path, each))
        waiting += (((*path, *step), child) for step, child in children(each))


def _inner_refusals(path: Path, schema: Any) -> Iterator[str]:
    if isinstance(schema, bool) and path[:1] == ("properties",) and len(path) == len(("properties", "name")):
        yield "a boolean as a schema makes many clients refuse all tools of the server; write {} or {not: {}}"
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("items"), list):
        yield "Codex drops the tool for a list of items; give one schema for all of them"
    if not all(map(is_common, patterns_of(schema))):
        yield "JavaScript can't compile the regular expression; clients refuse all tools for one in an outputSchema"
