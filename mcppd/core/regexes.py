"""Regular expressions that mean the same to Python and to the JavaScript of most clients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

# Token by token, with JavaScript's flag u.
_ESCAPE: Final = r"\\(?:[\^$\\.*+?()\[\]{}|/fnrtv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4})"
_MEMBER: Final = rf"(?:[^\\\]\[-]|{_ESCAPE}|\\[b-])"
_CLASS: Final = rf"\[\^?+-?+(?:{_MEMBER}(?:-{_MEMBER})?+|\\[dDsSwW](?!-[^\]]))++-?+\]"
_ATOM: Final = rf"(?:[^\\^$.|?*+()\[\]{{}}]|{_ESCAPE}|\\[bBdDsSwW]|\\[1-9](?![0-9])|\.|{_CLASS}|\))"
_QUANTIFIER: Final = r"(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??+"
_OPENING: Final = r"\((?:\?(?:[:=!]|<[=!]))?+(?![?*+])"
_REGEX: Final = re.compile(rf"(?:{_OPENING}|[\^$|]|{_ATOM}(?:{_QUANTIFIER})?+)*+")


def is_common(pattern: Any) -> bool:
    """Whether a pattern, if it is one, means the same to both."""
    return not isinstance(pattern, str) or _REGEX.fullmatch(pattern) is not None


def patterns_of(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The patterns that stand directly in a schema, junk included."""
    named = schema.get("patternProperties")
    yield from (schema.get("pattern"), *(named if isinstance(named, dict) else ()))
