"""Entries of our registry as lines of YAML, as a person would write them."""

from __future__ import annotations

import glob
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mcppd.cli.registries import quoted
from mcppd.core.registry import Entry

_WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_./-]*")
"""Texts that need no quotes, in lists and mappings of one line too."""

_OTHERWISE: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that some readers of YAML take for something else."""


def entry_lines(entry: Entry, options: Mapping[str, Any]) -> Iterator[str]:
    """An entry with its options, each on a line; its path is absolute, whatever MCPP_BASE_DIR says here."""
    yield f"- path: {quoted(entry.path if entry.is_glob else glob.escape(entry.path))}"
    yield from (f"  {key}: {_flow(value)}" for key, value in options.items())


def _flow(value: Any) -> str:
    """A value in one line."""
    match value:
        case dict():
            return "{" + ", ".join(f"{_flow(key)}: {_flow(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_flow, value)) + "]"
        case str() if _WORD.fullmatch(value) and value.lower() not in _OTHERWISE:
            return value
        case _:
            return json.dumps(value, ensure_ascii=False)
