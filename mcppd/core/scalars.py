"""Plain scalars: what they are under the core schema of YAML 1.2, and what YAML 1.1 makes of them (D14)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from yaml.resolver import Resolver

MAX_DIGITS: Final = 400
"""Characters of a number; the time to read one grows with their square, and a float ends at 309."""

TAG: Final = "tag:yaml.org,2002:"

# YAML 1.2.2, section 10.3.2
_INTEGER: Final = re.compile(r"[-+]?[0-9]+")
_OCTAL: Final = re.compile(r"0o[0-7]+")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + word: float(sign + "inf") for sign in ("", "-", "+") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


def resolve(text: str) -> Any:
    """A plain scalar under the core schema of YAML 1.2. Raises ValueError for a number that is too long."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or not _FLOAT.fullmatch(text):
        based = _OCTAL.fullmatch(text) or _HEXADECIMAL.fullmatch(text)
        if not based:
            return text
    if len(text) > MAX_DIGITS:
        raise ValueError(text)
    if text[:2] in ("0o", "0x"):
        return int(text[2:], 8 if text[1] == "o" else 16)
    return int(text) if _INTEGER.fullmatch(text) else float(text)


KINDS: Final[Mapping[str, str]] = {
    "NoneType": "null",
    "null": "null",
    "bool": "a boolean",
    "int": "an integer",
    "float": "a number",
    "timestamp": "a date",
    "str": "text",
}


def yaml11_difference(text: str, value: Any) -> str | None:
    """What a reader of YAML 1.1 (PyYAML, say) makes of a plain scalar, where that is something else."""
    table: Mapping[str, Any] = Resolver.yaml_implicit_resolvers
    found = next((tag for tag, pattern in table.get(text[:1], ()) if pattern.match(text)), TAG + "str")
    theirs = KINDS.get(str(found).removeprefix(TAG), "something else")
    if theirs != kind_of(value):
        return theirs
    digits = text.lstrip("+-")
    is_octal = theirs == "an integer" and digits[0] == "0" and digits.isdecimal()
    return f"the octal number {digits}" if is_octal and int(digits, 8) != abs(value) else None


def kind_of(value: Any) -> str:
    """What a value is, in the words of the faults."""
    return KINDS[type(value).__name__]
